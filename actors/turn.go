package actors

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/actors/workpool"
	"github.com/troupe-mq/troupe/messages"
)

// turn is a worker's turn at an orderly queue: it handles one call's messages after the other until there are none, one
// fails, the queue is not ours any more, or the turn has lasted long enough.
type turn struct {
	handling
	line *orderlyLine
	unit int
	work workpool.Group
}

// A worker that others wait for stays at least this long with one queue.
const turnAtLeast = 100 * time.Millisecond

func newTurn(consumer kit.Ref, a *Consumer) *turn {
	t := &turn{handling: a.handling(consumer), line: a.q.line, unit: 1}
	if a.sub != nil && a.sub.Batch != nil {
		t.unit = a.sub.BatchMax
	}
	return t
}

// submit gives the turn to the group's pool.
func (t *turn) submit() {
	t.work = workpool.Group{Lane: t.q.lane, Len: 1, Run: t.run}
	_ = t.group.pool.Submit(&t.work)
}

func (t *turn) run(ctx context.Context, _ int) {
	t.q.running.Add(1)
	t.take(ctx.(*callSlot)) // the pool was made with calls.join
	if t.q.running.Add(-1) == 0 && t.q.closed.Load() {
		t.consumer.Tell(settled)
	}
}

// take goes through the line.
func (t *turn) take(slot *callSlot) {
	begun := time.Now()
	for now := begun; ; now = time.Now() {
		if spent := now.Sub(begun); spent >= t.group.spec.Order.Turn || spent >= turnAtLeast && t.group.pool.Queued() > 0 {
			next := &turn{handling: t.handling, line: t.line, unit: t.unit}
			next.submit()
			return
		}
		if !t.mayGoOn(now) {
			return
		}
		batch, first, end, attempts := t.line.head(t.unit)
		if batch == nil {
			return
		}
		if !t.handle(slot, batch, first, end, attempts) {
			return
		}
	}
}

// mayGoOn lets go of the line if it is not to be gone on with.
func (t *turn) mayGoOn(now time.Time) bool {
	switch {
	case !t.current():
		return false // the line is not the queue's any more
	case t.q.closed.Load():
		t.line.release(true)
		return false
	case !t.q.lock.held(now.UnixMilli()):
		// The QueueLocker tells when the lock is held again; then the Consumer lets the line go on.
		t.line.release(true)
		// It may have been held again in between.
		if t.q.lock.held(time.Now().UnixMilli()) {
			t.consumer.Tell(&messages.Redeliver{})
		}
		return false
	}
	return true
}

// handle makes one call; true if the turn goes on.
func (t *turn) handle(slot *callSlot, batch *processqueue.Batch, first, end int, attempts int32) bool {
	ms := t.copies(batch, first, end, attempts)
	var err error
	if t.unit == 1 {
		err = t.handleOne(slot, batch, first, ms[0])
	} else {
		call := runningCall{h: &t.handling, batch: batch, first: first, end: end}
		err = t.call(slot, call, ms[0], func(ctx context.Context) error { return t.sub.Batch(ctx, ms) })
	}
	if !verdict(err) || t.scope.ended() != nil || !t.current() {
		t.line.release(true) // whoever put the queue elsewhere, or drains it, decides what follows
		return false
	}
	done := end - first
	if partly, ok := errors.AsType[*failedAt](err); ok {
		done, err = partly.first(done)
	} else if err != nil {
		done = 0
	}
	for i := first; i < first+done; i++ {
		if batch.Settle(i) {
			t.consumer.Tell(settled)
		}
	}
	if err == nil {
		return true
	}
	if done > 0 {
		first += done
		ms = t.copies(batch, first, end, 0)
	}
	t.failed(batch, first, ms, err)
	return false
}

// copies gives the messages of a call. One that has failed before is a copy that counts its attempts: a handler may have
// kept the message of the attempt before.
func (t *turn) copies(batch *processqueue.Batch, first, end int, attempts int32) []*messages.Message {
	ms := make([]*messages.Message, 0, end-first)
	for i := first; i < end; i++ {
		m := &batch.Messages()[i]
		if attempts > 0 {
			m = &messages.Message{
				Topic: m.GetTopic(), Body: m.GetBody(), RawProperties: m.GetRawProperties(), Broker: m.GetBroker(), QueueId: m.GetQueueId(),
				QueueOffset: m.GetQueueOffset(), CommitLogOffset: m.GetCommitLogOffset(), Flag: m.GetFlag(), SysFlag: m.GetSysFlag(),
				BornTimestamp: m.GetBornTimestamp(), StoreTimestamp: m.GetStoreTimestamp(), BornHost: m.GetBornHost(),
				StoreHost: m.GetStoreHost(), ReconsumeTimes: m.GetReconsumeTimes() + attempts,
				PreparedTransactionOffset: m.GetPreparedTransactionOffset(), BodyCrc: m.GetBodyCrc(),
			}
		}
		ms = append(ms, m)
	}
	return ms
}

// failed suspends the queue, or gives messages up to the dead letter topic after their last attempt.
func (t *turn) failed(batch *processqueue.Batch, first int, ms []*messages.Message, err error) {
	t.attemptFailed(ms[0], err)
	level := delayLevelOf(err)
	if level != levelDeadLetter {
		level = levelByBroker
	}
	if level == levelDeadLetter || ms[0].GetReconsumeTimes() >= t.group.spec.MaxReconsumes {
		t.line.handBack(len(ms))
		for k := range ms {
			t.handBack(batch, first+k, ms[k], level, err.Error())
		}
		return
	}
	delay := t.group.spec.Order.Suspend
	var again *retryAfter
	if errors.As(err, &again) {
		delay = again.delay
	}
	attempts := t.line.fail(ms[0].GetQueueOffset())
	t.consumer.Tell(&messages.Suspended{
		Offset: ms[0].GetQueueOffset(), DelayMillis: max(delay.Milliseconds(), 0), Attempts: attempts,
	})
}
