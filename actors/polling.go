package actors

import (
	"context"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// polling is the mode of pull groups: what was pulled waits in the group's poll buffer until the program comes for it. The window
// holds what waits, which is what credit counts; what the program has got and not finished is the line's to know, and so is what
// may be committed.
type polling struct{ *Consumer }

// PollSpec is what a pull group has beyond others: its program polls, and no handler is called.
type PollSpec struct {
	// AutoCommit finishes what a Poll returned when the program polls again.
	AutoCommit bool
	// Limit bounds what waits to be polled, over all queues of the group, in messages; 0: no bound.
	Limit int64
	// Assigned are the queues that the program chose itself; nil: queues are shared among the members.
	Assigned []messages.QueueKey
	// OnRevoke is called on a goroutine of its own when a queue is about to be given up, which waits for its return, but not
	// longer than the context lasts; nil: the queue waits for its batches to be finished, for as long as RevokeGrace.
	OnRevoke func(context.Context, *messages.Queue)
	// OnAssignment is told of each topic's queues, all and this member's, whenever either change; calls come one after the other. A queue
	// that has come is polled from only when the call that told of it has returned.
	OnAssignment func(topic string, all, mine []*messages.Queue)
}

// callerReady says that the program's OnRevoke has returned.
type callerReady struct{}

func (a *polling) start(c *kit.Context) {
	if a.q.polls.Load() == nil {
		self := c.Self()
		a.q.polls.Store(a.group.polls.Line(
			a.q.queue, a.q.window.Committed(), true, &a.q.status.committed, func() { self.Tell(settled) }))
		a.q.show()
	}
}

func (a *polling) submit(_ *kit.Context, batch *processqueue.Batch) { a.q.polls.Load().Put(batch) }

func (a *polling) advanced(int64) { a.q.polls.Load().Passed(a.q.window.Next()) }

func (a *polling) discard(m *messages.StartAt) {
	a.q.polls.Load().Restart(m.GetOffset(), m.GetEarlier(), m.GetHold())
}

// leave lets the program finish what it has got of the queue.
func (a *polling) leave(c *kit.Context, grace time.Duration) time.Duration {
	a.q.polls.Load().Leave()
	hook := a.group.spec.Poll.OnRevoke
	if hook == nil {
		return min(grace, a.group.spec.RevokeGrace) // nobody says whether the program comes back at all
	}
	if a.q.callerAsked {
		return grace
	}
	a.q.callerAsked = true
	queue := a.q.queue
	c.Go(grace, func(ctx context.Context) kit.Message {
		if err := contained(func() error { hook(ctx, queue); return nil }); err != nil {
			a.env.Events.Record(&messages.Event{
				Kind: messages.EventKind_EVENT_KIND_HANDLER_PANICKED, Group: a.group.spec.Name, Queue: queue, Text: "OnRevoke",
				Failure: messages.FailureOf(err),
			})
		}
		return callerReady{}
	})
	return grace
}

func (a *polling) owes() bool {
	if a.group.spec.Poll.OnRevoke != nil {
		return !a.q.callerReady
	}
	return a.q.polls.Load().Awaited()
}

func (a *polling) cancels() bool { return false }

func (a *polling) resume(*kit.Context) {}

// Nothing is handled here, so nothing is handed back, suspended or tried again.
func (a *polling) handedBack(*kit.Context, *handedBack)        {}
func (a *polling) suspended(*kit.Context, *messages.Suspended) {}
func (a *polling) again(*kit.Context)                          {}
