package embedded

import (
	"strconv"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// endTransaction answers END_TRANSACTION (37). A commit stores the message under its real topic, and in the same step the
// operation that its half is done with; a rollback stores the operation alone. As on a real broker nothing looks whether the
// half message has come to its end before: who commits twice has the message twice. Source: EndTransactionProcessor.
func (i *incarnation) endTransaction(cmd *wire.Command) *wire.Command {
	var h wire.EndTransactionHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	switch h.Outcome {
	case 0:
		return nil // not known yet: the producer will be asked
	case wire.FlagTransactionCommit, wire.FlagTransactionRollback:
	default:
		return refuse(wire.SystemError, "commitOrRollback field wrong")
	}
	half, refusal := i.halfMessage(&h)
	if refusal != nil {
		return refusal
	}
	op, err := i.b.ended(half.QueueOffset)
	if err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	drafts := []draft{op}
	if h.Outcome == wire.FlagTransactionCommit {
		whole, refusal := i.committed(half)
		if refusal != nil {
			return refusal
		}
		drafts = []draft{whole, op}
	}
	i.b.halves.Lock()
	defer i.b.halves.Unlock()
	if _, err := i.b.put(drafts); err != nil {
		return refuse(wire.ServiceNotAvailable, "Service not available now.")
	}
	return accept()
}

// halfMessage finds the half message that a producer means, and refuses what does not fit it.
func (i *incarnation) halfMessage(h *wire.EndTransactionHeader) (*messages.Message, *wire.Command) {
	lost := func() *wire.Command { return refuse(wire.SystemError, "Find prepared transaction message failed") }
	record, ok := i.b.store.record(h.CommitLogOffset, 0)
	if !ok {
		return nil, lost()
	}
	m, err := decodeRecord(record)
	if err != nil {
		return nil, lost()
	}
	if !h.FromCheck && i.b.tooLate(m) {
		return nil, refuse(wire.IllegalOperation, "")
	}
	switch {
	case m.Property(messages.PropertyProducerGroup) != h.Group:
		return nil, refuse(wire.SystemError, "The producer group wrong")
	case m.QueueOffset != h.QueueOffset:
		return nil, refuse(wire.SystemError, "The transaction state table offset wrong")
	case m.CommitLogOffset != h.CommitLogOffset:
		return nil, refuse(wire.SystemError, "The commit log offset wrong")
	}
	return m, nil
}

// tooLate tells whether the time that a half message claimed for its producer is over: then only the answer to a check counts.
func (b *Broker) tooLate(m *messages.Message) bool {
	text := m.Property(messages.PropertyCheckImmunityTime)
	if text == "" {
		return false
	}
	seconds, _ := strconv.ParseInt(text, 10, 64) // what is no number claims nothing
	limit := max(time.Duration(seconds)*time.Second, b.cfg.TransactionTimeout)
	return time.Since(time.UnixMilli(m.BornTimestamp)) > limit
}

// committed turns a half message into the message that it was half of and encodes it. Its properties stay, a delay level holds.
func (i *incarnation) committed(m *messages.Message) (draft, *wire.Command) {
	place, ok := realPlace(m)
	if !ok {
		return draft{}, refuse(wire.SystemError, "the message has no real topic and queue")
	}
	m.SysFlag = m.SysFlag&^wire.FlagTransactionRollback | wire.FlagTransactionCommit
	m.PreparedTransactionOffset = m.CommitLogOffset
	return i.take(m, place.topic, place.id, m.DelayLevel())
}
