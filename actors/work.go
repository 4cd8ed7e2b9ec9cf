package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/actors/workpool"
	"github.com/troupe-mq/troupe/messages"
)

// work is what a Consumer hands to the pool: a pull, or a single message, in units of one handler call. Workers run units at
// once and in any order, and settle what succeeded themselves.
type work struct {
	consumer kit.Ref
	env      *Env
	group    *groupContext
	q        *assignment
	sub      *SubscriptionSpec
	batch    *processqueue.Batch
	epoch    int64
	handlers *handlerContext
	// first and count are the messages of the batch concerned; unit is how many of them one call takes.
	first, count, unit int

	// units is what the pool sees; a work is submitted once, so it is part of it.
	units workpool.Group
}

// What tells a Consumer to look at its window; never changed, so one serves all.
var settled = &messages.Settled{}

func newWork(consumer kit.Ref, a *Consumer, batch *processqueue.Batch) *work {
	w := &work{
		consumer: consumer, env: a.env, group: a.group, q: a.q, sub: a.sub, batch: batch, epoch: a.q.epoch.Load(), handlers: a.q.handlers.Load(),
		count: batch.Len(), unit: 1,
	}
	if a.sub != nil && a.sub.Batch != nil {
		w.unit = a.sub.BatchMax
	}
	return w
}

func newSingle(consumer kit.Ref, a *Consumer, batch *processqueue.Batch, index int) *work {
	w := newWork(consumer, a, batch)
	w.first, w.count, w.unit = index, 1, 1
	return w
}

// submit gives the work to the group's pool. A closed pool means that the client ends: what is not run is delivered again.
func (w *work) submit() {
	if w.count == 0 {
		return
	}
	w.units = workpool.Group{
		Lane: w.group.lanes[w.q.key.Topic], Len: (w.count + w.unit - 1) / w.unit, Run: w.run,
	}
	_ = w.group.pool.Submit(&w.units)
}

// run makes one handler call; called by a worker. What does not run any more is left unsettled: the next owner of the queue
// delivers it.
func (w *work) run(_ context.Context, unit int) {
	w.q.running.Add(1)
	first := w.first + unit*w.unit
	end := min(first+w.unit, w.first+w.count)
	ms := w.batch.Messages()
	if w.epoch == w.q.epoch.Load() && w.q.mayRun(ms[first].GetQueueOffset(), ms[end-1].GetQueueOffset()) {
		if w.unit == 1 {
			w.one(first)
		} else {
			w.several(first, end)
		}
	}
	if w.q.running.Add(-1) == 0 && w.q.closed.Load() {
		w.consumer.Tell(settled)
	}
}

func (w *work) one(i int) {
	if w.batch.Settled(i) {
		return
	}
	m := &w.batch.Messages()[i]
	sub := w.sub
	if sub == nil {
		if sub = w.group.spec.subscription(m.GetTopic()); sub == nil {
			w.failed(i, m, fmt.Errorf("no handler for topic %s: the group does not subscribe to it any more", m.GetTopic()))
			return
		}
	}
	var err error
	if sub.One != nil {
		err = w.call(m, func(ctx context.Context) error { return sub.One(ctx, m) })
	} else {
		err = failureOf(w.call(m, func(ctx context.Context) error { return sub.Batch(ctx, []*messages.Message{m}) }), 0)
	}
	w.settle(i, m, err)
}

func (w *work) several(from, to int) {
	ms := make([]*messages.Message, 0, to-from)
	places := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		if !w.batch.Settled(i) {
			ms, places = append(ms, &w.batch.Messages()[i]), append(places, i)
		}
	}
	if len(ms) == 0 {
		return
	}
	err := w.call(ms[0], func(ctx context.Context) error { return w.sub.Batch(ctx, ms) })
	for k, i := range places {
		w.settle(i, &w.batch.Messages()[i], failureOf(err, k))
	}
}

// call runs user code. A panic is a failed attempt and nothing else.
func (w *work) call(m *messages.Message, f func(context.Context) error) (err error) {
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
		w.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_HANDLER_PANICKED, Group: w.group.spec.Name, Queue: w.q.queue,
			Offset: m.GetQueueOffset(), MessageId: m.MessageID(), Text: fmt.Sprint(value), Stack: string(stack),
		})
	}()
	err = f(w.handlers)
	ended = true
	return err
}

func (w *work) settle(i int, m *messages.Message, err error) {
	if err != nil {
		w.failed(i, m, err)
		return
	}
	if w.batch.Settle(i) {
		w.consumer.Tell(settled)
	}
}

// failed asks for the hand-back, unless the message is not ours any more: then no attempt is counted.
func (w *work) failed(i int, m *messages.Message, err error) {
	if cause := context.Cause(w.handlers); cause != nil || w.epoch != w.q.epoch.Load() {
		return
	}
	w.q.status.failed.Add(1)
	w.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_HANDLER_FAILED, Group: w.group.spec.Name, Queue: w.q.queue,
		Offset: m.GetQueueOffset(), MessageId: m.MessageID(), Text: err.Error(), Count: int64(m.GetReconsumeTimes()),
	})
	w.q.handingBack.Add(1)
	w.group.retries.Tell(&handBack{
		HandBack: &messages.HandBack{Queue: w.q.queue, Message: m, DelayLevel: delayLevelOf(err), Reason: err.Error()},
		asker:    w.consumer, batch: w.batch, index: i, epoch: w.epoch,
	})
}
