package actors

import (
	"slices"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// concurrently is the mode in which the messages of a queue are handled side by side: every pull goes to the pool at once.
type concurrently struct {
	handled
	redelivery *kit.Timer
}

func (a *concurrently) submit(c *kit.Context, batch *processqueue.Batch) {
	newWork(c.Self(), a.Consumer, batch).submit()
}

// handedBack settles what the broker took, and keeps for another try here what it did not.
func (a *concurrently) handedBack(c *kit.Context, m *handedBack) {
	if m.reply.GetFailure() == nil {
		_ = m.batch.Settle(m.index) // the Consumer looks at its window at once
		a.unearned++
		return
	}
	a.q.redeliver = append(a.q.redeliver, newSingle(c.Self(), a.Consumer, m.batch, m.index))
	if a.redelivery == nil {
		a.redelivery = c.After(a.group.spec.RedeliverAfter, &messages.Redeliver{})
	}
}

// again tries messages here that the broker did not take back.
func (a *concurrently) again(*kit.Context) {
	a.redelivery = nil
	waiting := a.q.redeliver
	a.q.redeliver = nil
	for _, w := range waiting {
		w.submit()
	}
}

func (a *concurrently) resume(c *kit.Context) {
	if a.q.drain == nil {
		a.again(c)
	}
}

func (a *concurrently) discard(m *messages.StartAt) {
	a.q.redeliver = nil
	a.advanced(m.GetOffset())
}

// suspended is not for this mode.
func (a *concurrently) suspended(*kit.Context, *messages.Suspended) {}

// owes looks for messages below the highest that was begun: they are to be handled before a drain is complete.
func (a *concurrently) owes() bool {
	limit := a.q.limit.Load()
	for batch, i := range a.q.window.Pending() {
		offset := batch.Messages()[i].GetQueueOffset()
		if offset > limit {
			return false
		}
		if !slices.ContainsFunc(a.q.redeliver, func(w *work) bool { return w.batch == batch && w.first == i }) {
			return true
		}
	}
	return false
}
