package actors

import (
	"context"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/actors/workpool"
	"github.com/troupe-mq/troupe/messages"
)

// work is what a Consumer hands to the pool in concurrent mode: a pull, or a single message, in units of one handler call.
// Workers run units at once and in any order, and settle what succeeded themselves.
type work struct {
	handling
	batch *processqueue.Batch
	// first and count are the messages of the batch concerned; unit is how many of them one call takes.
	first, count, unit int
	// tries counts the attempts before this one that failed here, in a broadcasting group.
	tries int

	// units is what the pool sees; a work is submitted once, so it is part of it.
	units workpool.Group
}

func newWork(consumer kit.Ref, a *Consumer, batch *processqueue.Batch) *work {
	w := &work{handling: a.handling(consumer), batch: batch, count: batch.Len(), unit: 1}
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
		Lane: w.q.lane, Len: (w.count + w.unit - 1) / w.unit, Run: w.run,
	}
	_ = w.group.pool.Submit(&w.units)
}

// run makes one handler call; called by a worker. What does not run any more is left unsettled: the next owner of the queue
// delivers it.
func (w *work) run(ctx context.Context, unit int) {
	w.q.running.Add(1)
	first := w.first + unit*w.unit
	end := min(first+w.unit, w.first+w.count)
	ms := w.batch.Messages()
	if w.current() && w.q.mayRun(ms[first].GetQueueOffset(), ms[end-1].GetQueueOffset()) {
		slot := ctx.(*callSlot) // the pool was made with calls.join
		if w.unit == 1 {
			w.one(slot, first)
		} else {
			w.several(slot, first, end)
		}
	}
	if w.q.running.Add(-1) == 0 && w.q.closed.Load() {
		w.consumer.Tell(settled)
	}
}

func (w *work) one(slot *callSlot, i int) {
	if w.batch.Settled(i) {
		return
	}
	m := &w.batch.Messages()[i]
	if err := w.handleOne(slot, w.batch, i, m); verdict(err) {
		w.settle(i, m, err)
	}
}

func (w *work) several(slot *callSlot, from, to int) {
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
	call := runningCall{h: &w.handling, batch: w.batch, first: from, end: to}
	err := w.call(slot, call, ms[0], func(ctx context.Context) error { return w.sub.Batch(ctx, ms) })
	if !verdict(err) {
		return
	}
	for k, i := range places {
		w.settle(i, &w.batch.Messages()[i], failureOf(err, k))
	}
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
	if w.scope.ended() != nil || !w.current() {
		return
	}
	w.attemptFailed(m, err)
	if w.group.spec.broadcasts() {
		w.consumer.Tell(&failedHere{batch: w.batch, index: i, epoch: w.epoch, tries: w.tries + 1, err: err})
		return
	}
	w.handBack(w.batch, i, m, delayLevelOf(err), err.Error())
}
