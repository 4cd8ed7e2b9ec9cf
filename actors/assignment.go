package actors

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/actors/pollbuffer"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/actors/workpool"
	"github.com/troupe-mq/troupe/messages"
)

// assignment is what the actors of one assigned queue have in common and what survives the restart of a Puller or Consumer:
// it is owned by the AssignedQueue and handed to the two in their Props.
//
// Who writes what: the Puller the cursor; the Consumer the window, the epoch, drain and unsubmitted; workers settle through
// batches and count running and handingBack. The rest is set before the two are spawned.
type assignment struct {
	key          messages.QueueKey
	queue        *messages.Queue
	subscription *messages.Subscription
	// handler is the subscription's; nil for the retry topic, whose messages belong to several.
	handler *SubscriptionSpec
	lane    *workpool.Lane
	// late says that the queue came while the group was consuming.
	late   bool
	status *queueStatus
	rates  *topicRates
	// share counts the topic's queues that this member has.
	share *atomic.Int64

	window *processqueue.Window
	// cursor is the next offset to pull; requests numbers the pulls over all incarnations.
	cursor   atomic.Int64
	requests atomic.Int64
	// What was handed to the Consumer and is not in the window yet.
	transitMessages, transitBytes atomic.Int64
	// paused holds the Puller; halted says that it is to end.
	paused, halted atomic.Bool
	// starved says that the Puller waits for room and wants a Credit.
	starved atomic.Bool
	flow    flowControl
	// correction is where the next Puller starts; the AssignedQueue's alone.
	correction int64

	// lock is the broker's lock of the queue, as the QueueLocker knows it.
	lock queueLock
	// line is where an orderly queue stands; it is replaced when the queue is put at another offset.
	line *orderlyLine
	// polls is what waits of a pull group's queue, and what its program has got; the Consumer makes it. callerAsked and callerReady
	// tell of OnRevoke.
	polls                    atomic.Pointer[pollbuffer.Line]
	callerAsked, callerReady bool
	// untold keeps a pull group's queue from being polled until its program was told of it (PollSpec.OnAssignment).
	untold atomic.Bool

	// epoch grows whenever what was submitted before must not run or count any more.
	epoch atomic.Int64
	// started is the highest offset that was given to a handler.
	started atomic.Int64
	// closed says that the queue is being drained: only what stands at or below limit may still begin, see mayRun.
	closed      atomic.Bool
	limit       atomic.Int64
	running     atomic.Int64
	handingBack atomic.Int64
	// scope is that of the handler calls that start now.
	scope atomic.Pointer[callScope]
	calls *calls

	// revoke is what the AssignedQueue was told, drain what it told the Consumer.
	revoke      *messages.Revoke
	drain       *messages.Drain
	unsubmitted *processqueue.Batch
	redeliver   []*work
}

func newAssignment(key messages.QueueKey, sub *messages.Subscription, group *groupContext) *assignment {
	return &assignment{
		key: key, queue: key.Queue(), subscription: sub, status: &queueStatus{key: key}, calls: group.calls,
		rates: group.status.ratesOf(key.Topic), share: group.status.shareOf(key.Topic),
		handler: group.subscriptions().of(key.Topic), lane: group.pool.Lane(key.Topic),
	}
}

// reset prepares for a (new) incarnation of the AssignedQueue.
func (q *assignment) reset() {
	q.abandon()
	q.newScope()
	q.handingBack.Store(0) // the answers would go to a Consumer that has ended
	q.halted.Store(false)
	q.closed.Store(false)
	q.started.Store(-1)
	q.drain, q.unsubmitted, q.redeliver, q.line = nil, nil, nil, &orderlyLine{}
	q.callerAsked, q.callerReady = false, false
	q.polls.Store(nil)
	q.starved.Store(false)
}

// startAt puts the queue at its start offset, with an empty window.
func (q *assignment) startAt(offset int64) {
	q.window = processqueue.New(offset)
	q.cursor.Store(offset)
	q.transitMessages.Store(0)
	q.transitBytes.Store(0)
	q.status.next.Store(offset)
	q.status.committed.Store(offset)
	now := time.Now().UnixMilli()
	q.status.lastPull.Store(now)
	q.status.lastConsumed.Store(now)
	q.status.window.Store(q.window)
}

// abandon ends everything that still runs for the queue; its results do not count.
func (q *assignment) abandon() {
	q.endLine()
	q.epoch.Add(1)
	q.stop()
	q.cancel(ErrQueueRevoked)
}

// pause holds the queue's pulls, and what waits of them to be polled, or lets them go.
func (q *assignment) pause(paused bool) {
	q.paused.Store(paused)
	q.show()
}

// told lets the queue be polled: its program knows of it.
func (q *assignment) told() {
	q.untold.Store(false)
	q.show()
}

// show applies both to the line, if there is one: a line that is being made looks again when it is there.
func (q *assignment) show() {
	if l := q.polls.Load(); l != nil {
		l.Pause(q.paused.Load() || q.untold.Load())
	}
}

// endLine lets the program of a pull group finish nothing of the queue any more, and gives how much that concerns.
func (q *assignment) endLine() (unfinished int64) {
	if l := q.polls.Load(); l != nil {
		unfinished = l.End()
	}
	return unfinished
}

// newScope makes a scope for the handler calls from now on.
func (q *assignment) newScope() { q.scope.Store(&callScope{calls: q.calls}) }

// cancel ends the contexts of the handlers that run, and lets none begin until there is a new scope.
func (q *assignment) cancel(cause error) {
	if s := q.scope.Load(); s != nil {
		s.end(cause)
	}
}

// mayRun tells whether a worker may begin with the messages from first to last. In a drain it may if something above them was
// begun already: left out, they would hold the committed offset below what is settled, which would then be repeated.
func (q *assignment) mayRun(first, last int64) bool {
	// Raised before closed is read, so that a drain either sees it in started or the worker sees the drain.
	for at := q.started.Load(); last > at && !q.started.CompareAndSwap(at, last); at = q.started.Load() {
	}
	return !q.closed.Load() || first <= q.limit.Load()
}

// close lets nothing begin any more beyond what was begun.
func (q *assignment) close() {
	q.limit.Store(math.MaxInt64) // whoever sees closed before the limit stands has raised started before
	q.closed.Store(true)
	q.limit.Store(q.started.Load())
}

// stop lets nothing begin any more at all.
func (q *assignment) stop() {
	q.limit.Store(-1)
	q.closed.Store(true)
}

// handOver notes that the Puller passes an answer on; called in the Puller's turn.
func (q *assignment) handOver(next, bytes, count int64) {
	q.transitMessages.Add(count)
	q.transitBytes.Add(bytes)
	q.cursor.Store(next)
	q.status.next.Store(next)
}

// arrived notes that an answer has come out of the mailbox; called in the Consumer's turn.
func (q *assignment) arrived(bytes, count int64) {
	q.transitMessages.Add(-count)
	q.transitBytes.Add(-bytes)
}

// held is how much of the queue's messages is in memory, in bytes.
func (q *assignment) held() int64 { return q.status.heldBytes() + q.transitBytes.Load() }

// room says how many messages the next pull may ask for, or why there is no room. In that case the Consumer has been asked
// for a Credit before the last look, so that none is missed.
func (q *assignment) room(group *groupContext, memory *Memory) (batch int32, cause string) {
	batch, cause = q.look(group, memory)
	if cause == "" {
		return batch, ""
	}
	q.starved.Store(true)
	if batch, cause = q.look(group, memory); cause == "" {
		q.starved.Store(false)
	}
	return batch, cause
}

func (q *assignment) look(group *groupContext, memory *Memory) (batch int32, cause string) {
	spec := group.spec
	limits := spec.Limits.amongst(q.share.Load())
	batch = int32(min(int64(spec.PullBatch), limits.Messages, limits.Span))
	count, bytes := q.window.Cached()
	count += q.transitMessages.Load()
	span := q.cursor.Load() - q.window.Committed()
	switch {
	case count > 0 && count+int64(batch) > limits.Messages:
		return batch, waitMessages
	case bytes+q.transitBytes.Load() >= limits.Bytes:
		return batch, waitBytes
	case span > 0 && span+int64(batch) > limits.Span:
		return batch, waitSpan
	case count > 0 && memory.full():
		return batch, waitMemory
	case group.polls != nil && spec.Poll.Limit > 0 && group.unpolled() >= spec.Poll.Limit:
		return batch, waitPolls
	}
	return batch, ""
}
