package actors

import (
	"errors"
	"slices"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// What becomes of failed messages of a broadcasting group: no broker takes them back, so they are tried again here, or dropped
// (protocol.md 5.9: Java drops them at once).

// failedHere is a failed message of a broadcasting group; tries counts its attempts, this one included.
type failedHere struct {
	batch *processqueue.Batch
	index int
	epoch int64
	tries int
	err   error
}

// tryAgain is the timer of a message that waits for its next attempt.
type tryAgain struct{ w *work }

// again tells whether a message is to be tried once more here, and after which delay; else why it is dropped.
func (s *BroadcastSpec) again(tries int, err error) (delay time.Duration, again bool, reason string) {
	if dead, ok := errors.AsType[*deadLetter](err); ok {
		return 0, false, dead.err.Error()
	}
	if tries > s.LocalRetries {
		return 0, false, err.Error()
	}
	if asked, ok := errors.AsType[*retryAfter](err); ok {
		return max(asked.delay, 0), true, ""
	}
	return s.RetryDelay, true, ""
}

func (a *Consumer) failedHere(c *kit.Context, m *failedHere) {
	if m.epoch == a.q.epoch.Load() && !m.batch.Settled(m.index) {
		delay, again, reason := a.group.spec.Broadcast.again(m.tries, m.err)
		if again {
			w := newSingle(c.Self(), a, m.batch, m.index)
			w.tries = m.tries
			a.q.redeliver = append(a.q.redeliver, w)
			c.After(delay, &tryAgain{w: w})
		} else {
			a.dropMessage(m, reason)
		}
	}
	a.advance(c)
}

func (a *Consumer) dropMessage(m *failedHere, reason string) {
	_ = m.batch.Settle(m.index) // advance follows at once
	a.unearned++
	msg := &m.batch.Messages()[m.index]
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_MESSAGE_DROPPED, Group: a.group.spec.Name, Queue: a.q.queue,
		Offset: msg.GetQueueOffset(), MessageId: msg.MessageID(), Text: reason, Count: int64(m.tries),
	})
}

// tryAgain hands a waiting message to the workers, unless the queue was put at another offset or is given up: then its next owner,
// or the next start, delivers it.
func (a *Consumer) tryAgain(m *tryAgain) {
	i := slices.Index(a.q.redeliver, m.w)
	if i < 0 || a.q.drain != nil {
		return
	}
	a.q.redeliver = slices.Delete(a.q.redeliver, i, i+1)
	m.w.submit()
}
