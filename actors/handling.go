package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// handling is what a worker needs to call handlers for a queue: the mode-independent part of what a Consumer submits.
type handling struct {
	consumer kit.Ref
	env      *Env
	group    *groupContext
	q        *assignment
	// sub is the queue's subscription; nil for the retry topic, whose messages belong to several.
	sub   *SubscriptionSpec
	epoch int64
	scope *callScope
}

// What tells a Consumer to look at its window; never changed, so one serves all.
var settled = &messages.Settled{}

// Outcomes of a call that are no verdict.
var (
	// errNotCalled: the queue was given up or put at another offset before the handler could begin.
	errNotCalled = errors.New("not called")
	// errTooLate: the call took longer than its group allows, and what is to become of its messages was decided meanwhile.
	errTooLate = errors.New("too late")
)

// verdict tells whether a call's outcome says anything about its messages.
func verdict(err error) bool { return !errors.Is(err, errNotCalled) && !errors.Is(err, errTooLate) }

// current tells whether the queue is still where it was when the handling was made.
func (h *handling) current() bool { return h.epoch == h.q.epoch.Load() }

// subscription gives the one that a message belongs to.
func (h *handling) subscription(m *messages.Message) (*SubscriptionSpec, error) {
	if h.sub != nil {
		return h.sub, nil
	}
	if sub := h.group.subscriptions().of(m.GetTopic()); sub != nil {
		return sub, nil
	}
	return nil, fmt.Errorf("no handler for topic %s: the group does not subscribe to it any more", m.GetTopic())
}

// handleOne calls the handler for message i of a batch; m is that message or a copy of it.
func (h *handling) handleOne(slot *callSlot, batch *processqueue.Batch, i int, m *messages.Message) error {
	sub, err := h.subscription(m)
	if err != nil {
		return err
	}
	call := runningCall{h: h, batch: batch, first: i, end: i + 1}
	if sub.One != nil {
		return h.call(slot, call, m, func(ctx context.Context) error { return sub.One(ctx, m) })
	}
	return failureOf(h.call(slot, call, m, func(ctx context.Context) error { return sub.Batch(ctx, []*messages.Message{m}) }), 0)
}

// call runs user code. A panic is a failed attempt and nothing else.
func (h *handling) call(slot *callSlot, call runningCall, m *messages.Message, f func(context.Context) error) (err error) {
	ctx, ok := slot.enter(h.scope, call)
	if !ok {
		return errNotCalled
	}
	traced := h.group.traces.before(&call, m)
	defer func() {
		overdue := slot.leave()
		traced.after(err, overdue)
		if overdue && h.group.spec.expires() {
			err = errTooLate
		}
	}()
	return h.group.guard(h.env, h.q.queue, m, func() error { return f(ctx) })
}

// guard runs user code for a message. A panic becomes a *PanicError and an event.
func (g *groupContext) guard(env *Env, q *messages.Queue, m *messages.Message, f func() error) (err error) {
	ended := false
	defer func() {
		if ended {
			return
		}
		value := recover()
		if value == nil {
			value = errors.New("the handler ended its goroutine (runtime.Goexit)")
		}
		stack := debug.Stack()
		err = &PanicError{Value: value, Stack: stack}
		env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_HANDLER_PANICKED, Group: g.spec.Name, Queue: q,
			Offset: m.GetQueueOffset(), MessageId: m.MessageID(), Text: fmt.Sprint(value), Stack: string(stack),
		})
	}()
	err = f()
	ended = true
	return err
}

// attemptFailed notes a failed attempt.
func (h *handling) attemptFailed(m *messages.Message, err error) {
	h.q.countFailure()
	h.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_HANDLER_FAILED, Group: h.group.spec.Name, Queue: h.q.queue,
		Offset: m.GetQueueOffset(), MessageId: m.MessageID(), Text: err.Error(), Count: int64(m.GetReconsumeTimes()),
	})
}

// handBack asks for message i of a batch to go back to the broker; the Consumer gets the answer.
func (h *handling) handBack(batch *processqueue.Batch, i int, m *messages.Message, level int32, reason string) {
	h.q.handingBack.Add(1)
	h.group.retries.Tell(&handBack{
		HandBack: &messages.HandBack{
			Queue: h.q.queue, Message: m, DelayLevel: level, Reason: reason,
			// The broker's stored message does not know the attempts that an orderly group has made.
			Publish: h.group.spec.Order != nil && level != levelDeadLetter,
		},
		asker: h.consumer, batch: batch, index: i, epoch: h.epoch,
	})
}
