package actors

import (
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// queueStatus is what one assigned queue tells of itself: written by its actors in their turns, read by anybody at any time.
type queueStatus struct {
	key       messages.QueueKey
	phase     text
	waiting   text
	address   text
	next      atomic.Int64
	committed atomic.Int64
	persisted atomic.Int64
	brokerMin atomic.Int64
	brokerMax atomic.Int64
	lastPull  atomic.Int64
	consumed  atomic.Int64
	failed    atomic.Int64
	// lastConsumed is when messages were last handed to the workers or settled.
	lastConsumed atomic.Int64
	// suspended counts the failed attempts at the message that an orderly queue waits with; 0 if it does not.
	suspended atomic.Int32
	// oldest is when the oldest unsettled message was pulled, in milliseconds since the epoch; 0 if there is none.
	oldest atomic.Int64
	window atomic.Pointer[processqueue.Window]
}

// text is a string that can be read while it is replaced.
type text struct{ p atomic.Pointer[string] }

func (t *text) set(s string) {
	if t.get() != s {
		t.store(s)
	}
}

// store is apart from set so that a text that stays costs no allocation.
func (t *text) store(s string) { t.p.Store(&s) }

func (t *text) get() string {
	if p := t.p.Load(); p != nil {
		return *p
	}
	return ""
}

// oldestAge is how long the oldest unsettled message has been here; 0 if there is none.
func (s *queueStatus) oldestAge(now time.Time) time.Duration {
	at := s.oldest.Load()
	if at == 0 {
		return 0
	}
	return now.Sub(time.UnixMilli(at))
}

// heldBytes is what the window holds.
func (s *queueStatus) heldBytes() int64 {
	w := s.window.Load()
	if w == nil {
		return 0
	}
	_, bytes := w.Cached()
	return bytes
}

// countFailure notes a failed attempt.
func (q *assignment) countFailure() {
	q.status.failed.Add(1)
	q.rates.failedOnce()
}

// facts gives the snapshot for the topology.
func (q *assignment) facts(limits Limits, now time.Time) *messages.QueueFacts {
	s := q.status
	f := &messages.QueueFacts{
		Queue: s.key.Queue(), Phase: s.phase.get(), Waiting: s.waiting.get(), BrokerAddress: s.address.get(),
		NextOffset: s.next.Load(), CommittedOffset: s.committed.Load(), PersistedOffset: s.persisted.Load(),
		BrokerMinOffset: s.brokerMin.Load(), BrokerMaxOffset: s.brokerMax.Load(), LastPullAt: s.lastPull.Load(),
		Consumed: s.consumed.Load(), Failed: s.failed.Load(), InFlight: q.running.Load(),
		OldestAgeMillis: s.oldestAge(now).Milliseconds(), LastConsumedAt: s.lastConsumed.Load(),
		SuspendedAttempts: s.suspended.Load(), Locked: q.lock.held(now.UnixMilli()),
	}
	if l := q.polls.Load(); l != nil {
		f.Position, f.Unfinished = l.Position(), l.Unfinished()
		if q.untold.Load() {
			f.Waiting = waitUntold
		}
	}
	if f.BrokerMaxOffset > f.CommittedOffset {
		f.Lag = f.BrokerMaxOffset - f.CommittedOffset
	}
	if w := s.window.Load(); w != nil {
		f.CachedMessages, f.CachedBytes = w.Cached()
	}
	f.CreditMessages = max(0, limits.Messages-f.CachedMessages)
	f.CreditBytes = max(0, limits.Bytes-f.CachedBytes)
	return f
}
