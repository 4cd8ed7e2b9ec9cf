package embedded

import (
	"math"
	"strconv"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// halfLife is how old a half message may become that nobody has decided upon (fileReservedTime).
const halfLife = 72 * time.Hour

// checkTransactions asks producers, a round each interval, what became of half messages.
func (i *incarnation) checkTransactions() {
	defer i.wg.Done()
	ticker := time.NewTicker(i.b.cfg.TransactionCheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-i.ctx.Done():
			return
		case <-ticker.C:
			i.checkHalves()
		}
	}
}

// checkHalves is one walk over the half messages in the order they were stored, up to the first that is too young. The offsets
// of transactionGroup remember how far it came, so the next one goes on there, also after a restart. Source:
// TransactionalMessageServiceImpl.check.
func (i *incarnation) checkHalves() {
	r := &checkRound{
		b: i.b, began: time.Now(), ended: map[int64]struct{}{},
		half: progress{topic: halfTopic, b: i.b}, op: progress{topic: opTopic, b: i.b},
	}
	r.half.load()
	r.op.load()
	for i.ctx.Err() == nil {
		asked, again := r.step()
		if asked != nil {
			i.ask(asked)
		}
		if !again {
			break
		}
	}
	r.settle()
	i.b.events.happened()
}

// progress is a place in a queue of the broker's own, kept as an offset of transactionGroup.
type progress struct {
	b     *Broker
	topic string
	at    int64
}

func (p *progress) queue() groupQueue { return groupQueue{transactionGroup, p.topic, 0} }

func (p *progress) load() { p.at, _ = p.b.offsets.query(p.queue()) }

func (p *progress) save() { p.b.offsets.commit(p.queue(), p.at) }

// entry gives the entry at the place, or the first that is left behind it; false at the end of the queue.
func (p *progress) entry() (entry, bool) {
	ix := p.b.store.queue(p.topic, 0)
	lo, _ := ix.bounds()
	p.at = max(p.at, lo)
	var buf [1]entry
	es := ix.entries(buf[:0], p.at)
	if len(es) == 0 {
		return entry{}, false
	}
	return es[0], true
}

// message reads the record of an entry; nil if it is gone or cannot be read.
func (p *progress) message(e entry) *messages.Message {
	record, ok := p.b.store.record(e.physical, e.size)
	if !ok {
		return nil
	}
	m, err := decodeRecord(record)
	if err != nil {
		return nil
	}
	return m
}

// checkRound is the state of one walk over the half messages.
type checkRound struct {
	b        *Broker
	began    time.Time
	half, op progress
	ended    map[int64]struct{} // half messages that operations name
	ops      []int64            // where in the log the operations lie, from the remembered one on
}

// step deals with one half message, while no other comes to its end. It gives the message that producers must be asked about,
// if any, and whether the walk goes on.
func (r *checkRound) step() (asked *messages.Message, again bool) {
	r.b.halves.Lock()
	defer r.b.halves.Unlock()
	r.readOperations()
	e, ok := r.half.entry()
	if !ok {
		return nil, false
	}
	m := r.half.message(e)
	if m == nil || r.isEnded(r.half.at, m) {
		return nil, r.pass()
	}
	age := r.began.Sub(time.UnixMilli(m.BornTimestamp))
	if r.checkedOut(m) || age > halfLife {
		return nil, r.store(m, uncheckedTopic) && r.pass()
	}
	if m.StoreTimestamp >= r.began.UnixMilli() {
		return nil, false // it was stored again in this round, or it has just come
	}
	switch r.b.mayAsk(m, age) {
	case tooYoung:
		return nil, false
	case immune:
		if m.Property(messages.PropertyTransactionPreparedOffset) == "" {
			m.SetProperty(messages.PropertyTransactionPreparedOffset, strconv.FormatInt(r.half.at, 10))
		}
		return nil, r.store(m, halfTopic) && r.pass()
	}
	if !r.store(m, halfTopic) {
		return nil, false
	}
	return m, r.pass()
}

// pass goes on to the next half message.
func (r *checkRound) pass() bool {
	r.half.at++
	r.half.save()
	return true
}

// readOperations reads what has come to its end since the last time.
func (r *checkRound) readOperations() {
	at := r.op
	for at.at = r.op.at + int64(len(r.ops)); ; at.at++ {
		before := at.at
		e, ok := at.entry()
		if !ok {
			return
		}
		if at.at != before { // the oldest are gone
			r.op.at, r.ops = at.at, nil
		}
		r.ops = append(r.ops, e.physical)
		if m := at.message(e); m != nil {
			for _, offset := range endedOffsets(m) {
				r.ended[offset] = struct{}{}
			}
		}
	}
}

// isEnded tells whether an operation names a half message: where it is now, or where it was before it was stored again to wait.
func (r *checkRound) isEnded(offset int64, m *messages.Message) bool {
	if _, ended := r.ended[offset]; ended {
		return true
	}
	first, err := strconv.ParseInt(m.Property(messages.PropertyTransactionPreparedOffset), 10, 64)
	_, ended := r.ended[first]
	return err == nil && ended
}

// checkedOut tells whether producers have been asked often enough; if not, it counts this time.
func (r *checkRound) checkedOut(m *messages.Message) bool {
	times := 1
	if text := m.Property(messages.PropertyTransactionCheckTimes); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			n = -1
		}
		if n >= r.b.cfg.TransactionCheckMax {
			return true
		}
		times = n + 1
	}
	m.SetProperty(messages.PropertyTransactionCheckTimes, strconv.Itoa(times))
	return false
}

// store stores a half message again; in the half topic its place becomes the new one. False if the store is closed.
func (r *checkRound) store(m *messages.Message, topic string) bool {
	if topic == uncheckedTopic {
		r.b.ensureTopic(queueTopic(topic, 1))
	}
	again := m.Clone()
	if topic == halfTopic {
		again.Flag, again.ReconsumeTimes = 0, 0 // which a real broker loses here
	}
	d, err := r.b.draftOf(again, topic, 0, 0)
	if err != nil {
		return true // with the count its properties have become too long: it is passed over
	}
	at, err := r.b.put([]draft{d})
	if err != nil {
		return false
	}
	m.QueueOffset, m.CommitLogOffset = at[0].queueOffset, at[0].physical
	return true
}

// settle remembers which operations are not needed any more: those that lie in the log before the half message that comes
// next. Only a half message that was stored before its operation can be meant by it.
func (r *checkRound) settle() {
	r.b.halves.Lock()
	defer r.b.halves.Unlock()
	next := int64(math.MaxInt64)
	if e, ok := r.half.entry(); ok {
		next = e.physical
	}
	done := 0
	for done < len(r.ops) && r.ops[done] < next {
		done++
	}
	if done > 0 {
		r.op.at += int64(done)
		r.op.save()
	}
}

// ask asks one connection of a half message's producer group what became of it (39), one-way. If there is none, the next round
// will try.
func (i *incarnation) ask(m *messages.Message) {
	place, ok := realPlace(m)
	c := i.producers.pick(m.Property(messages.PropertyProducerGroup))
	if !ok || c == nil {
		return
	}
	id := m.Property(messages.PropertyUniqueKey)
	h := wire.CheckTransactionHeader{
		Topic: halfTopic, QueueOffset: m.QueueOffset, CommitLogOffset: m.CommitLogOffset, MessageID: id, TransactionID: id,
		OffsetMessageID: i.b.offsetID(m.CommitLogOffset), Broker: i.b.cfg.BrokerName,
	}
	m.Topic, m.QueueId = place.topic, place.id
	record, err := wire.AppendMessage(nil, m)
	if err != nil {
		return
	}
	cmd := wire.NewRequest(wire.CheckTransactionState)
	h.AppendTo(&cmd.Ext)
	cmd.Body = record
	cmd.MarkOneWay()
	_ = c.session.Send(cmd) // fails only for a connection that is going: the next round asks another one
}

// readiness tells whether producers may be asked about a half message.
type readiness uint8

const (
	ready readiness = iota
	tooYoung
	immune // the message claims more time than others: it makes way for them
)

// mayAsk decides by a message's age, and by what it claims for itself.
func (b *Broker) mayAsk(m *messages.Message, age time.Duration) readiness {
	text := m.Property(messages.PropertyCheckImmunityTime)
	if text == "" {
		if age >= 0 && age < b.cfg.TransactionTimeout {
			return tooYoung
		}
		return ready
	}
	immunity := b.cfg.TransactionTimeout
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds != -1 {
		immunity = time.Duration(seconds) * time.Second
	}
	if age < immunity {
		return immune
	}
	return ready
}
