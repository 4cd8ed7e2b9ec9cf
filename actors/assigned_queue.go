package actors

import (
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// AssignedQueue is one queue that this member owns; it supervises the queue's Puller and Consumer.
//
//	Owns        the assignment: cursor, window and status, which survive restarts of the two below
//	Parent      Rebalancer
//	In          QueueLocked, LockLost, QueueUnlocked, StartLocated, StartRetry, OffsetIllegal, ResetOffset, seekQueue, Discarded,
//	            ConsumerRestarted, Pause, Resume, Revoke, Drained, OffsetPersisted, persistOverdue, ChildStopped
//	Out         QueueBegun to the parent; lockQueue, UnlockQueue to the QueueLocker; LocateStart, trackOffset, forgetOffset, PersistOffset to the
//	            OffsetPersister; StartAt, Drain to the Consumer;
//	            StopPulling, Resume to the Puller; QueueRevoked to the parent
//	States      locking, locating, running, correcting, relocking, draining, persisting, unlocking, revoked
//	Invariants  never two Pullers; the start offset is asked for after the lock was had, the lock given back after the final
//	            offset was stored; no pull before the start offset is known; QueueRevoked is told once, after the final
//	            offset was stored or could not be
//	Restart     locates the start offset again: everything not persisted is delivered again
//	Source      ProcessQueue, RebalancePushImpl.removeUnnecessaryMessageQueue (protocol.md 5.4–5.6)
type AssignedQueue struct {
	env   *Env
	group *groupContext
	q     *assignment

	consumer kit.Ref
	puller   kit.Ref
	failures int
	// discarding says that the Consumer was told to start at another offset and has not answered yet.
	discarding bool
	// order numbers what the Consumer was told; placing is what the present one is about.
	order   int64
	placing placement
	// insisted counts the corrections in a row after which the broker refused the very offset it had given.
	insisted int
	// waiting is where the queue is to be put as soon as it has begun, or is locked.
	waiting *placement
	outcome *messages.QueueRevoked
	final   int64
	tries   int
}

// Phases of a queue, as told by the topology.
const (
	phaseLocking    = "locking"
	phaseLocating   = "locating"
	phaseRunning    = "running"
	phaseCorrecting = "correcting"
	phaseRelocking  = "relocking"
	phaseDraining   = "draining"
	phasePersisting = "persisting"
	phaseUnlocking  = "unlocking"
	phaseRevoked    = "revoked"
)

const (
	consumerName = "consumer"
	pullerName   = "puller"
)

// The final offset is tried twice; a broker that is silent as long as this is given up.
const (
	finalPersistTries   = 2
	finalPersistTimeout = commitTimeout + 2*time.Second
)

// Back-off between corrections of a broker that refuses the offsets it gives.
const (
	insistFirst = 50 * time.Millisecond
	insistLast  = 5 * time.Second
)

type persistOverdue struct{ try int }

// Receive handles one message.
func (a *AssignedQueue) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *messages.QueueLocked:
		a.locked(c)
	case *messages.LockLost:
		a.lockLost(c)
	case *messages.QueueUnlocked:
		a.unlocked(c)
	case *messages.StartRetry:
		if a.phase() == phaseLocating {
			a.locate(c)
		}
	case *messages.StartLocated:
		a.located(c, m)
	case *messages.OffsetIllegal:
		a.correct(c, m)
	case *messages.ResetOffset:
		a.place(c, placement{offset: m.GetOffset(), kind: messages.EventKind_EVENT_KIND_OFFSET_RESET, insist: true})
	case *seekQueue:
		a.place(c, m.placement)
	case *messages.Discarded:
		a.discarded(c, m)
	case *messages.ConsumerRestarted:
		a.rewind(c, m.GetNext())
	case *messages.Pause:
		a.q.pause(true)
	case *messages.Resume:
		a.q.pause(false)
		a.tellPuller(c, m)
	case *messages.Revoke:
		a.revoked(c, m)
	case *messages.Drained:
		a.drained(c, m)
	case *messages.OffsetPersisted:
		a.persisted(c, m)
	case *persistOverdue:
		if m.try == a.tries {
			a.unlock(c, &messages.Failure{Cause: &messages.Failure_Other{Other: "the offset was not acknowledged in time"}})
		}
	case kit.ChildStopped:
		a.childStopped(c, m)
	case kit.Stopping:
		a.placing.finish(ErrQueueRevoked)
		a.waiting.finish(ErrQueueRevoked)
		a.q.abandon()
		a.env.Memory.remove(a.q)
	}
}

func (a *AssignedQueue) start(c *kit.Context) {
	a.q.reset()
	if a.q.revoke == nil {
		a.lock(c)
		return
	}
	// Failed on its way out: what was not stored is delivered again.
	a.outcome = &messages.QueueRevoked{Queue: a.q.queue}
	a.q.status.phase.set(phasePersisting)
	a.unlock(c, &messages.Failure{Cause: &messages.Failure_Other{Other: "failed while it was given up"}})
}

// lock asks for the queue's lock, if the group has any, and then for the start offset.
func (a *AssignedQueue) lock(c *kit.Context) {
	keeper := a.group.lockKeeper()
	if keeper.IsZero() {
		a.q.status.phase.set(phaseLocating)
		a.locate(c)
		return
	}
	a.q.status.phase.set(phaseLocking)
	c.Tell(keeper, &lockQueue{LockQueue: &messages.LockQueue{Queue: a.q.queue}, lock: &a.q.lock})
}

func (a *AssignedQueue) locked(c *kit.Context) {
	switch a.phase() {
	case phaseLocking:
		a.q.status.phase.set(phaseLocating)
		if p := a.waiting; p != nil && !p.hold {
			a.waiting = nil
			a.place(c, *p)
			return
		}
		a.locate(c)
	case phaseRunning: // held again after it had lapsed
		c.Tell(a.consumer, &messages.Redeliver{})
	}
}

// lockLost is the directive "lock lost": nothing that is cached may be handled or committed any more, since another member
// goes on with the queue. It is locked anew and begun where that one has got to.
func (a *AssignedQueue) lockLost(c *kit.Context) {
	if a.q.revoke != nil {
		return
	}
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_LOCK_LOST, Group: a.group.spec.Name, Queue: a.q.queue,
		Offset: a.q.status.committed.Load(),
	})
	a.q.epoch.Add(1)
	a.q.stop()
	a.q.cancel(ErrLockLost)
	a.q.halted.Store(true)
	c.Tell(a.group.offsets, &forgetOffset{key: a.q.key})
	a.q.status.phase.set(phaseRelocking)
	for _, child := range []kit.Ref{a.puller, a.consumer} {
		if !child.IsZero() {
			c.Kill(child)
		}
	}
	a.relock(c)
}

// relock begins anew when what there was has ended.
func (a *AssignedQueue) relock(c *kit.Context) {
	if a.phase() != phaseRelocking || !a.puller.IsZero() || !a.consumer.IsZero() {
		return
	}
	if a.q.revoke != nil {
		a.unlock(c, nil)
		return
	}
	a.placing.finish(ErrQueueRevoked)
	a.discarding, a.insisted = false, 0
	a.q.reset()
	a.lock(c)
}

func (a *AssignedQueue) phase() string { return a.q.status.phase.get() }

func (a *AssignedQueue) locate(c *kit.Context) {
	if a.phase() != phaseLocating || a.q.revoke != nil {
		return
	}
	c.Tell(a.group.offsets, &messages.LocateStart{Queue: a.q.queue, Late: a.q.late})
}

func (a *AssignedQueue) located(c *kit.Context, m *messages.StartLocated) {
	if a.phase() != phaseLocating || a.q.revoke != nil {
		return
	}
	if m.GetFailure() != nil {
		a.failures++
		delay := backOff(500*time.Millisecond, 5*time.Second, a.failures)
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_START_OFFSET_FAILED, Group: a.group.spec.Name, Queue: a.q.queue,
			Failure: m.GetFailure(), DelayMillis: delay.Milliseconds(),
		})
		c.After(delay, &messages.StartRetry{})
		a.tellBegun(c, m.GetFailure())
		return
	}
	a.failures = 0
	persisted := m.GetOffset()
	if m.GetOrigin() != "stored" {
		persisted = -1 // nothing is stored yet: the first tick stores where the group began
	}
	a.begin(c, m.GetOffset(), persisted, m.GetOrigin())
}

// tellBegun lets the Rebalancer of a broadcasting group know whether the start offset is fixed.
func (a *AssignedQueue) tellBegun(c *kit.Context, obstacle *messages.Failure) {
	if a.group.spec.broadcasts() {
		c.Tell(c.Parent(), &messages.QueueBegun{Queue: a.q.queue, Failure: obstacle})
	}
}

// begin starts consumption at an offset; persisted is what the cluster has, -1 for nothing.
func (a *AssignedQueue) begin(c *kit.Context, offset, persisted int64, origin string) {
	a.q.startAt(offset)
	a.q.status.persisted.Store(persisted)
	c.Tell(a.group.offsets, &trackOffset{key: a.q.key, status: a.q.status, start: persisted})
	a.q.status.phase.set(phaseRunning)
	a.consumer = c.Spawn(kit.Spec{
		Role: "Consumer", Name: consumerName,
		New: func() kit.Actor { return newConsumer(a.env, a.group, a.q) },
	})
	a.spawnPuller(c)
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_QUEUE_ASSIGNED, Group: a.group.spec.Name, Queue: a.q.queue,
		Offset: offset, Text: origin,
	})
	a.tellBegun(c, nil)
	if p := a.waiting; p != nil {
		a.waiting = nil
		a.place(c, *p)
	}
}

func (a *AssignedQueue) spawnPuller(c *kit.Context) {
	consumer, pause := a.consumer, time.Duration(0)
	if a.insisted > 0 {
		pause = backOff(insistFirst, insistLast, a.insisted)
	}
	a.q.halted.Store(false)
	a.puller = c.Spawn(kit.Spec{
		Role: "Puller", Name: pullerName, Phase: a.q.status.waiting.get,
		New: func() kit.Actor {
			return &Puller{env: a.env, group: a.group, q: a.q, consumer: consumer, pause: pause}
		},
	})
}

// stopPuller reaches the Puller's next incarnation, too, should this one fail over it.
func (a *AssignedQueue) stopPuller(c *kit.Context) {
	a.q.halted.Store(true)
	a.tellPuller(c, &messages.StopPulling{})
}

// tellPuller reaches the Puller, if there is one at present.
func (a *AssignedQueue) tellPuller(c *kit.Context, m kit.Message) {
	if !a.puller.IsZero() {
		c.Tell(a.puller, m)
	}
}

// correct is the directive OFFSET_ILLEGAL: cached messages are discarded, the offset is corrected and persisted, and a
// fresh Puller starts there. The broker's next offset is taken (protocol.md 7.3): its minimum if we were below, its
// maximum if we were beyond.
func (a *AssignedQueue) correct(c *kit.Context, m *messages.OffsetIllegal) {
	if a.phase() != phaseRunning {
		return
	}
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_OFFSET_CORRECTED, Group: a.group.spec.Name, Queue: a.q.queue,
		PreviousOffset: m.GetAsked(), Offset: m.GetNextOffset(),
	})
	if m.GetAsked() == a.q.correction {
		a.insisted++
	} else {
		a.insisted = 0
	}
	a.restartPuller(c, m.GetNextOffset())
	a.discard(c, placement{offset: m.GetNextOffset()})
}

// place is the directive "reset" of an administrator, and "seek" of a pull group's program: the queue goes on at another offset,
// whatever it is doing. Results of what was pulled before do not count; on the way out the offset is what stays behind.
func (a *AssignedQueue) place(c *kit.Context, p placement) {
	before := a.q.status.committed.Load()
	switch a.phase() {
	case phaseLocking, phaseRelocking:
		a.await(p) // for when the queue is ours
		return
	case phaseLocating:
		if p.hold {
			a.await(p) // what is committed has to be known
			return
		}
		a.begin(c, p.offset, -1, p.origin())
		c.Tell(a.group.offsets, &messages.PersistOffset{Queue: a.q.queue, Offset: p.offset})
		p.finish(nil)
	case phaseRunning, phaseCorrecting:
		a.insisted = 0
		a.restartPuller(c, p.offset)
		a.discard(c, p)
	case phaseDraining:
		if !p.insist {
			p.finish(ErrQueueRevoked)
			return
		}
		a.q.correction = p.offset
		a.discard(c, p)
	case phasePersisting:
		if !p.insist {
			p.finish(ErrQueueRevoked)
			return
		}
		a.final = p.offset
		a.persistFinal(c)
		p.finish(nil)
	default:
		p.finish(ErrQueueRevoked)
		return
	}
	a.env.Events.Record(&messages.Event{
		Kind: p.kind, Group: a.group.spec.Name, Queue: a.q.queue, PreviousOffset: before, Offset: p.offset,
	})
}

// await keeps the youngest order for later.
func (a *AssignedQueue) await(p placement) {
	a.waiting.finish(nil) // it was followed by this one
	a.waiting = &p
}

// discard tells the Consumer to forget everything and to begin again at the correction.
func (a *AssignedQueue) discard(c *kit.Context, p placement) {
	a.placing.finish(nil) // it was followed by this one
	a.discarding, a.placing = true, p
	a.order++
	a.tellStart(c)
}

func (a *AssignedQueue) tellStart(c *kit.Context) {
	c.Tell(a.consumer, &messages.StartAt{
		Offset: a.q.correction, Order: a.order, Hold: a.placing.hold, Earlier: a.placing.earlier,
	})
}

// discarded goes on with the correction: only now can no pull or tick carry the old committed offset after the new one.
func (a *AssignedQueue) discarded(c *kit.Context, m *messages.Discarded) {
	if !a.discarding || m.GetOrder() != a.order {
		return // a younger order is under way, or this one was given twice
	}
	a.discarding = false
	a.placing.finish(nil)
	if a.phase() != phaseCorrecting {
		return // on its way out: the final offset says it
	}
	if !a.placing.hold {
		c.Tell(a.group.offsets, &messages.PersistOffset{Queue: a.q.queue, Offset: m.GetOffset(), Insist: a.placing.insist})
	}
	a.resume(c)
}

// resume ends a correction with a fresh Puller, when the old one has ended and the Consumer has discarded.
func (a *AssignedQueue) resume(c *kit.Context) {
	if a.phase() != phaseCorrecting || a.discarding || !a.puller.IsZero() {
		return
	}
	a.q.cursor.Store(a.q.correction)
	a.q.status.next.Store(a.q.correction)
	a.q.status.phase.set(phaseRunning)
	a.spawnPuller(c)
}

// rewind follows a Consumer that lost messages in a failure: they are pulled again.
func (a *AssignedQueue) rewind(c *kit.Context, next int64) {
	switch {
	case a.discarding: // the Consumer may have failed over the StartAt
		a.tellStart(c)
	case a.phase() == phaseRunning:
		a.restartPuller(c, next)
	}
}

func (a *AssignedQueue) restartPuller(c *kit.Context, offset int64) {
	a.q.status.phase.set(phaseCorrecting)
	a.q.correction = offset
	a.stopPuller(c)
}

func (a *AssignedQueue) revoked(c *kit.Context, m *messages.Revoke) {
	if a.q.revoke != nil {
		if a.phase() == phaseDraining { // a shutdown may shorten the grace of a revoke under way
			c.Tell(a.consumer, &messages.Drain{Reason: m.GetReason(), GraceMillis: m.GetGraceMillis()})
		}
		return
	}
	a.q.revoke = m
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_QUEUE_REVOKING, Group: a.group.spec.Name, Queue: a.q.queue,
		Text: revokeReason(m.GetReason()),
	})
	switch {
	case a.phase() == phaseRelocking:
		a.outcome = &messages.QueueRevoked{Queue: a.q.queue}
		a.relock(c)
		return
	case a.consumer.IsZero():
		a.outcome = &messages.QueueRevoked{Queue: a.q.queue}
		a.unlock(c, nil)
		return
	}
	a.q.status.phase.set(phaseDraining)
	a.stopPuller(c)
	c.Tell(a.consumer, &messages.Drain{Reason: m.GetReason(), GraceMillis: m.GetGraceMillis()})
}

func (a *AssignedQueue) drained(c *kit.Context, m *messages.Drained) {
	if a.phase() != phaseDraining {
		return
	}
	a.outcome = &messages.QueueRevoked{Queue: a.q.queue, Abandoned: m.GetAbandoned()}
	a.final = m.GetCommitted()
	if a.discarding && !a.placing.hold {
		a.final = a.q.correction // a reset overtook the drain
	}
	a.q.status.phase.set(phasePersisting)
	a.persistFinal(c)
}

func (a *AssignedQueue) persistFinal(c *kit.Context) {
	a.tries++
	c.Tell(a.group.offsets, &messages.PersistOffset{Queue: a.q.queue, Offset: a.final, Final: true})
	c.After(finalPersistTimeout, &persistOverdue{try: a.tries})
}

func (a *AssignedQueue) persisted(c *kit.Context, m *messages.OffsetPersisted) {
	if a.phase() != phasePersisting || m.GetOffset() != a.final {
		return
	}
	if m.GetFailure() != nil && a.tries < finalPersistTries {
		a.persistFinal(c)
		return
	}
	a.unlock(c, m.GetFailure())
}

// unlock is the last step but one: the next owner may begin.
func (a *AssignedQueue) unlock(c *kit.Context, failure *messages.Failure) {
	if a.phase() == phaseUnlocking || a.phase() == phaseRevoked {
		return
	}
	a.outcome.Failure = failure
	keeper := a.group.lockKeeper()
	if keeper.IsZero() {
		a.finish(c)
		return
	}
	a.q.status.phase.set(phaseUnlocking)
	c.Tell(keeper, &messages.UnlockQueue{Queue: a.q.queue})
}

// unlocked ends the queue. A lock that could not be given back ends by itself.
func (a *AssignedQueue) unlocked(c *kit.Context) {
	if a.phase() == phaseUnlocking {
		a.finish(c)
	}
}

func (a *AssignedQueue) finish(c *kit.Context) {
	a.q.status.phase.set(phaseRevoked)
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_QUEUE_REVOKED, Group: a.group.spec.Name, Queue: a.q.queue, Offset: a.final,
		Text: revokeReason(a.q.revoke.GetReason()), Count: a.outcome.GetAbandoned(), Failure: a.outcome.GetFailure(),
	})
	c.Tell(c.Parent(), a.outcome) // which ends this actor: our own end could overtake the message
}

func (a *AssignedQueue) childStopped(c *kit.Context, m kit.ChildStopped) {
	switch {
	case a.phase() == phaseRelocking:
		if m.Name == pullerName {
			a.puller = kit.Ref{}
		} else {
			a.consumer = kit.Ref{}
		}
		a.relock(c)
	case m.Name == pullerName && a.phase() == phaseCorrecting:
		a.puller = kit.Ref{}
		a.resume(c)
	case m.Err != nil && a.q.revoke == nil:
		// Children never give up by strategy; should one do so, the queue starts anew as a whole.
		panic(m.Err)
	}
}

func revokeReason(r messages.RevokeReason) string {
	switch r {
	case messages.RevokeReason_REVOKE_REASON_REBALANCED:
		return "rebalanced"
	case messages.RevokeReason_REVOKE_REASON_UNROUTED:
		return "gone from the route"
	case messages.RevokeReason_REVOKE_REASON_DRAINING:
		return "draining"
	case messages.RevokeReason_REVOKE_REASON_UNSUBSCRIBED:
		return "topic unsubscribed"
	case messages.RevokeReason_REVOKE_REASON_RESUBSCRIBED:
		return "subscription changed"
	default:
		return "unknown"
	}
}
