package actors

import (
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// orderly is the mode in which the messages of a queue are handled one call after the other: one worker at a time has the
// queue's line and takes its turn at it.
type orderly struct{ handled }

func (a *orderly) submit(c *kit.Context, batch *processqueue.Batch) {
	if a.q.line.add(batch) {
		newTurn(c.Self(), a.Consumer).submit()
	}
}

// handedBack follows the broker's answer about messages that are not to be tried any more: the line goes on behind them, or
// tries them again if the broker did not take them.
func (a *orderly) handedBack(c *kit.Context, m *handedBack) {
	failed := m.reply.GetFailure() != nil
	if !failed {
		_ = m.batch.Settle(m.index) // the Consumer looks at its window at once
		a.unearned++
	}
	switch a.q.line.answered(failed) {
	case lineWaits:
	case lineAgain:
		c.After(a.group.spec.Order.Suspend, &messages.Redeliver{})
	case lineGoesOn:
		a.again(c)
	}
}

// suspended is the directive "suspend queue": this queue alone waits, the same message follows.
func (a *orderly) suspended(c *kit.Context, m *messages.Suspended) {
	delay := time.Duration(m.GetDelayMillis()) * time.Millisecond
	a.q.status.suspended.Store(m.GetAttempts())
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_QUEUE_SUSPENDED, Group: a.group.spec.Name, Queue: a.q.queue, Offset: m.GetOffset(),
		DelayMillis: m.GetDelayMillis(), Count: int64(m.GetAttempts()),
	})
	c.After(delay, &messages.Redeliver{})
}

// again lets the line go on, if it waited.
func (a *orderly) again(c *kit.Context) {
	if a.q.line.goOn() {
		a.q.status.suspended.Store(0)
		newTurn(c.Self(), a.Consumer).submit()
	}
}

// resume goes on after a failure: timers are gone with it.
func (a *orderly) resume(c *kit.Context) {
	if a.q.drain == nil {
		a.again(c)
	}
}

func (a *orderly) discard(m *messages.StartAt) {
	a.advanced(m.GetOffset())
	a.q.line = &orderlyLine{}
	a.q.status.suspended.Store(0)
}

// owes is false: nothing that was begun stands above something that was not.
func (a *orderly) owes() bool { return false }
