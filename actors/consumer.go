package actors

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// Consumer takes what was pulled, hands it to the workers and settles results. What differs between concurrent, orderly and pull
// groups is its mode.
//
//	Owns        the queue's window of messages that are not settled
//	Parent      AssignedQueue
//	In          Pulled, Settled, StartAt, Drain, DrainTick, handedBack (HandedBack with its place), Suspended, Redeliver,
//	            failedHere, tryAgain, callerReady
//	Out         work to the pool, or pulls to the poll buffer; Credit to the Puller; HandBack to the RetrySender (from workers); Drained,
//	            Discarded and ConsumerRestarted to the parent
//	States      consuming, draining
//	Invariants  what is committed is the lowest offset not settled; a message is settled by success, by the broker taking it
//	            back, by a filter, or by being dropped where members broadcast, never otherwise; a result of an earlier epoch changes nothing
//	Restart     window, running handlers and drain go on (assignment); messages lost with the failing Pulled are pulled
//	            again (ConsumerRestarted)
//	Source      ConsumeMessageConcurrentlyService, ConsumeMessageOrderlyService, ProcessQueue (protocol.md 5.6, 5.7, 5.10)
type Consumer struct {
	env   *Env
	group *groupContext
	q     *assignment
	mode  mode
	// sub is the queue's subscription; nil for the retry topic, whose messages belong to several.
	sub *SubscriptionSpec

	puller  kit.Ref
	drained bool
	// unearned are messages settled without success that the window has not freed yet.
	unearned    int64
	drainCancel bool
}

// Handlers whose context was cancelled get this long to notice.
const cancelGrace = 500 * time.Millisecond

// mode is how messages get from the window to the handlers. Everything is called in the Consumer's turn.
type mode interface {
	// start prepares for the queue's first message.
	start(c *kit.Context)
	// submit hands out what was pulled; some of it may be settled already.
	submit(c *kit.Context, batch *processqueue.Batch)
	// handedBack follows the broker's answer about a message that was to go back.
	handedBack(c *kit.Context, m *handedBack)
	// suspended follows a worker that let go of the queue.
	suspended(c *kit.Context, m *messages.Suspended)
	// again goes on with what had to wait.
	again(c *kit.Context)
	// resume goes on after a failure of the Consumer.
	resume(c *kit.Context)
	// discard forgets everything that was submitted, and stands at the order's offset.
	discard(m *messages.StartAt)
	// advanced notes that everything below an offset of the window is settled.
	advanced(offset int64)
	// leave begins a drain, and gives how long it may last.
	leave(c *kit.Context, grace time.Duration) time.Duration
	// owes tells whether messages are still to be handled before a drain is complete.
	owes() bool
	// cancels tells whether handlers run that can be told of the end of a drain.
	cancels() bool
}

func newConsumer(env *Env, group *groupContext, q *assignment) *Consumer {
	a := &Consumer{env: env, group: group, q: q, sub: q.handler}
	switch {
	case group.polls != nil:
		a.mode = &polling{Consumer: a}
	case group.spec.Order != nil:
		a.mode = &orderly{handled{a}}
	default:
		a.mode = &concurrently{handled: handled{a}}
	}
	return a
}

func (a *Consumer) handling(self kit.Ref) handling {
	return handling{
		consumer: self, env: a.env, group: a.group, q: a.q, sub: a.sub, epoch: a.q.epoch.Load(), scope: a.q.scope.Load(),
	}
}

// Receive handles one message.
func (a *Consumer) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.mode.start(c)
		if c.Incarnation() > 1 {
			a.resume(c)
		}
	case *messages.Pulled:
		a.puller = c.Sender()
		a.pulled(c, m)
	case *messages.Settled:
		a.advance(c)
	case *messages.StartAt:
		a.startAt(m)
		c.Tell(c.Parent(), &messages.Discarded{Offset: m.GetOffset(), Order: m.GetOrder()})
		if a.q.drain != nil {
			a.advance(c) // there is nothing left to wait for, but handlers that still run
		}
	case *handedBack:
		a.q.handingBack.Add(-1)
		if m.epoch == a.q.epoch.Load() {
			a.mode.handedBack(c, m)
		}
		a.advance(c)
	case *messages.Suspended:
		a.mode.suspended(c, m)
	case *messages.Redeliver:
		if a.q.drain == nil {
			a.mode.again(c)
		}
	case *failedHere:
		a.failedHere(c, m)
	case *tryAgain:
		a.tryAgain(m)
	case callerReady:
		a.q.callerReady = true
		a.advance(c)
	case *messages.Drain:
		a.drain(c, m)
	case *messages.DrainTick:
		a.drainTick(c, m)
	}
}

func (a *Consumer) pulled(c *kit.Context, m *messages.Pulled) {
	if a.place(c, m) {
		a.moved(c)
	}
}

// place puts what was pulled into the window and hands it to the workers. What is on the way counts until it is in the
// window, so that no other puller takes the memory for free in between.
func (a *Consumer) place(c *kit.Context, m *messages.Pulled) (placed bool) {
	q, reply := a.q, m.GetReply()
	next := reply.GetNextOffset()
	defer q.arrived(int64(len(reply.GetRecords())), next-m.GetOffset())
	if q.drain != nil {
		return false
	}
	if end := q.window.Next(); m.GetOffset() != end {
		if m.GetOffset() > end {
			c.Tell(c.Parent(), &messages.ConsumerRestarted{Next: end})
		}
		return false
	}
	if len(reply.GetRecords()) == 0 {
		if err := q.window.Skip(m.GetOffset(), next); err != nil {
			panic(err)
		}
		return true
	}
	slab, corrupt := a.env.Link.Decode(reply, q.queue, a.group.spec.Name)
	for _, r := range corrupt {
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT, Group: a.group.spec.Name, Queue: q.queue,
			Offset: r.QueueOffset, Text: r.Reason,
		})
	}
	for len(slab) > 0 && slab[0].GetQueueOffset() < m.GetOffset() {
		slab = slab[1:] // the beginning of an inner batch within which the group stands: a broker gives all of it
	}
	batch, err := q.window.Put(m.GetOffset(), next, slab)
	if out, ok := errors.AsType[*processqueue.OrderError](err); ok {
		// A broker that answers out of order: what belongs here is delivered, what does not is told.
		var strays []int64
		slab, strays = inOrder(slab, m.GetOffset(), next)
		for _, offset := range strays {
			a.env.Events.Record(&messages.Event{
				Kind: messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT, Group: a.group.spec.Name, Queue: q.queue,
				Offset: offset, Text: out.Error(),
			})
		}
		batch, err = q.window.Put(m.GetOffset(), next, slab)
	}
	if err != nil {
		panic(err)
	}
	q.rates.gotMessages(batch.Len())
	q.status.lastConsumed.Store(time.Now().UnixMilli())
	q.unsubmitted = batch
	a.leaveOut(batch)
	a.mode.submit(c, batch)
	q.unsubmitted = nil
	return true
}

// inOrder copies a slab in ascending order, without what is not within first and next or is there twice; the offsets of
// what it left out are the strays.
func inOrder(slab []messages.Message, first, next int64) (out []messages.Message, strays []int64) {
	ordered := make([]*messages.Message, 0, len(slab))
	for i := range slab {
		if o := slab[i].GetQueueOffset(); o < first || o >= next {
			strays = append(strays, o)
			continue
		}
		ordered = append(ordered, &slab[i])
	}
	slices.SortStableFunc(ordered, func(x, y *messages.Message) int { return cmp.Compare(x.GetQueueOffset(), y.GetQueueOffset()) })
	out = make([]messages.Message, 0, len(ordered))
	for i, m := range ordered {
		if i > 0 && m.GetQueueOffset() == ordered[i-1].GetQueueOffset() {
			strays = append(strays, m.GetQueueOffset())
			continue
		}
		out = out[:len(out)+1]
		proto.Merge(&out[len(out)-1], m)
	}
	return out, strays
}

// leaveOut settles what the subscription does not want: brokers filter tags by hash only (protocol.md 5.5).
func (a *Consumer) leaveOut(batch *processqueue.Batch) {
	if a.sub == nil || len(a.sub.Subscription.GetTags()) == 0 {
		return
	}
	ms := batch.Messages()
	for i := range ms {
		if !ms[i].HasTag(a.sub.Subscription.GetTags()) {
			// No edge is lost: pulled looks at the window afterwards.
			_ = batch.Settle(i)
			a.unearned++
		}
	}
}

// advance looks what was settled and passes on what follows from it.
func (a *Consumer) advance(c *kit.Context) {
	a.moved(c)
	if a.q.drain != nil && a.q.running.Load()+a.q.handingBack.Load() == 0 && !a.mode.owes() {
		a.endDrain(c, 0)
	}
}

func (a *Consumer) moved(c *kit.Context) {
	q := a.q
	committed, freed, _ := q.window.Advance()
	a.mode.advanced(committed)
	if freed > 0 {
		q.status.consumed.Add(int64(freed))
		q.status.lastConsumed.Store(time.Now().UnixMilli())
		idle := min(a.unearned, int64(freed))
		a.unearned -= idle
		q.rates.settledWell(int64(freed) - idle)
	}
	if m, at := q.window.Oldest(); m != nil {
		q.status.oldest.Store(at.UnixMilli())
	} else {
		q.status.oldest.Store(0)
	}
	if !a.puller.IsZero() && q.starved.Load() && q.starved.Swap(false) {
		c.Tell(a.puller, &messages.Credit{})
	}
}

// startAt discards everything: the context of running handlers ends, their results do not count.
func (a *Consumer) startAt(m *messages.StartAt) {
	q := a.q
	q.epoch.Add(1)
	q.cancel(ErrOffsetCorrected)
	q.newScope()
	q.window.Reset(m.GetOffset()) // what is in transit is counted when it comes out of the mailbox
	q.started.Store(-1)
	a.mode.discard(m)
	a.unearned = 0
	q.status.oldest.Store(0)
}

// resume goes on after a failure: what was put is handed out, what was lost is pulled again.
func (a *Consumer) resume(c *kit.Context) {
	if batch := a.q.unsubmitted; batch != nil {
		a.q.unsubmitted = nil
		a.mode.submit(c, batch)
	}
	a.mode.resume(c)
	a.moved(c)
	c.Tell(c.Parent(), &messages.ConsumerRestarted{Next: a.q.window.Next()})
	if m := a.q.drain; m != nil {
		a.q.drain = nil
		a.drain(c, m)
	}
}

// drain lets running handlers end within the grace, and what stands below them in the queue; nothing else starts. A later Drain can only shorten the grace.
func (a *Consumer) drain(c *kit.Context, m *messages.Drain) {
	if a.drained || a.drainCancel {
		return
	}
	a.q.drain = m
	if !a.q.closed.Load() {
		a.q.close()
	}
	c.After(a.mode.leave(c, time.Duration(m.GetGraceMillis())*time.Millisecond), &messages.DrainTick{})
	a.advance(c)
}

func (a *Consumer) drainTick(c *kit.Context, m *messages.DrainTick) {
	if a.drained {
		return
	}
	if m.GetCancelled() {
		a.endDrain(c, a.q.running.Load()+a.q.handingBack.Load())
		return
	}
	if a.drainCancel {
		return
	}
	if !a.mode.cancels() {
		a.endDrain(c, 0)
		return
	}
	a.drainCancel = true
	a.q.stop()
	cause := ErrQueueRevoked
	if a.q.drain.GetReason() == messages.RevokeReason_REVOKE_REASON_DRAINING {
		cause = ErrDraining
	}
	a.q.cancel(cause)
	c.After(cancelGrace, &messages.DrainTick{Cancelled: true})
}

// endDrain tells the parent that nothing runs any more, or that the rest was abandoned.
func (a *Consumer) endDrain(c *kit.Context, abandoned int64) {
	if a.drained {
		return
	}
	a.drained = true
	if n := a.q.endLine(); n > 0 {
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_BATCHES_UNFINISHED, Group: a.group.spec.Name, Queue: a.q.queue,
			Offset: a.q.status.committed.Load(), Count: n,
		})
	}
	a.moved(c)
	a.q.epoch.Add(1)
	a.q.cancel(context.Canceled)
	if abandoned > 0 {
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_HANDLERS_ABANDONED, Group: a.group.spec.Name, Queue: a.q.queue, Count: abandoned,
		})
	}
	c.Tell(c.Parent(), &messages.Drained{Committed: a.q.status.committed.Load(), Abandoned: abandoned})
}
