package actors

import (
	"fmt"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// The Rebalancer's hands: what it does with the queues it owns. The rounds, which decide on them, stand in rebalancer.go.

// ownedQueue is a queue of the assignment with its AssignedQueue.
type ownedQueue struct {
	ref      kit.Ref
	q        *assignment
	revoking bool
	// begun says that the start offset is fixed; obstacle what keeps it from that.
	begun    bool
	obstacle *messages.Failure
}

// holdsUp tells whether the group is not ready because of the queue: a broadcasting group gets each message that is stored
// once it is ready, so all its start offsets are fixed before (pains A52).
func (o *ownedQueue) holdsUp(spec *GroupSpec) bool {
	return spec.broadcasts() && !o.begun && !o.revoking
}

// own begins a queue; untold says that a pull group's program is just being told of it.
func (a *Rebalancer) own(c *kit.Context, key messages.QueueKey, sub *messages.Subscription, untold bool) {
	q := newAssignment(key, sub, a.group)
	q.untold.Store(untold)
	q.late = a.group.spec.broadcasts() && a.group.status.wasReady.Load() || a.group.status.cameLate(key)
	q.paused.Store(a.pausedAll || a.paused[key])
	a.group.status.addQueue(q)
	a.env.Memory.add(q)
	a.queues[key] = &ownedQueue{q: q, ref: c.Spawn(kit.Spec{
		Role: "AssignedQueue", Name: key.String(), Phase: q.status.phase.get,
		New: func() kit.Actor { return &AssignedQueue{env: a.env, group: a.group, q: q} },
	})}
}

// split says among how many queues a topic's limits are divided: those that are there, also on their way out, and those to come,
// before the first of these pulls.
func (a *Rebalancer) split(topic string, coming map[messages.QueueKey]bool) {
	n := int64(len(coming))
	for key := range a.queues {
		if key.Topic == topic && !coming[key] {
			n++
		}
	}
	a.group.status.shareOf(topic).Store(n)
}

func (a *Rebalancer) drop(c *kit.Context, owned *ownedQueue, reason messages.RevokeReason, grace time.Duration) {
	owned.revoking = true
	c.Tell(owned.ref, &messages.Revoke{Reason: reason, GraceMillis: grace.Milliseconds()})
}

func (a *Rebalancer) owned() int {
	n := 0
	for _, q := range a.queues {
		if !q.revoking {
			n++
		}
	}
	return n
}

func (a *Rebalancer) queueBegun(c *kit.Context, m *messages.QueueBegun) {
	if owned := a.queues[m.GetQueue().Key()]; owned != nil && owned.ref == c.Sender() {
		owned.begun, owned.obstacle = m.GetFailure() == nil, m.GetFailure()
		a.reportReadiness(c)
	}
}

func (a *Rebalancer) queueRevoked(m *messages.QueueRevoked) {
	a.result.Abandoned += m.GetAbandoned()
	if m.GetFailure() != nil {
		a.result.Unpersisted = append(a.result.Unpersisted,
			fmt.Sprintf("%s: %v", m.GetQueue().Text(), m.GetFailure().Err()))
	}
}

func (a *Rebalancer) queueStopped(c *kit.Context, m kit.ChildStopped) {
	for key, owned := range a.queues {
		if owned.ref == m.Ref {
			delete(a.queues, key)
			a.group.status.removeQueue(key)
			a.env.Memory.remove(owned.q)
			a.split(key.Topic, nil)
			a.leave(c, key.Topic)
			break
		}
	}
	if a.revoking != nil {
		a.endRevokeAll(c)
		return
	}
	a.trigger(c)
}

func (a *Rebalancer) pause(c *kit.Context, queues []*messages.Queue, paused bool) {
	var m kit.Message = &messages.Resume{}
	if paused {
		m = &messages.Pause{}
	}
	if len(queues) == 0 {
		a.pausedAll = paused
		clear(a.paused)
		for _, owned := range a.queues {
			c.Tell(owned.ref, m)
		}
		return
	}
	for _, q := range queues {
		a.paused[q.Key()] = paused
		if owned := a.queues[q.Key()]; owned != nil {
			c.Tell(owned.ref, m)
		}
	}
}

// reset passes on where queues shall go on; those that another member owns are that one's business.
func (a *Rebalancer) reset(c *kit.Context, m *messages.ResetOffsets) {
	for _, to := range m.GetOffsets() {
		if owned := a.queues[to.GetQueue().Key()]; owned != nil {
			c.Tell(owned.ref, &messages.ResetOffset{Offset: to.GetOffset()})
		}
	}
}

// seek passes on where a pull group's program goes on.
func (a *Rebalancer) seek(c *kit.Context, m *seekQueue) {
	if owned := a.queues[m.key]; owned != nil && !owned.revoking {
		c.Tell(owned.ref, m)
		return
	}
	m.finish(ErrNotAssigned)
}

func (a *Rebalancer) revokeAll(c *kit.Context, m *messages.RevokeAll) {
	if a.revoking == nil {
		a.result.Reset()
	}
	a.revoking = m
	a.group.status.revokeAll.Store(m)
	for _, owned := range a.queues { // also those under way: the drain may be shorter than their grace
		a.drop(c, owned, messages.RevokeReason_REVOKE_REASON_DRAINING, time.Duration(m.GetDrainMillis())*time.Millisecond)
	}
	a.endRevokeAll(c)
}

func (a *Rebalancer) endRevokeAll(c *kit.Context) {
	if len(a.queues) == 0 {
		c.Tell(c.Parent(), &messages.AllRevoked{Abandoned: a.result.GetAbandoned(), Unpersisted: a.result.GetUnpersisted()})
	}
}

// watch looks after queues that nothing else would complain about.
func (a *Rebalancer) watch() {
	now := time.Now()
	for _, owned := range a.queues {
		s := owned.q.status
		if age := s.oldestAge(now); age > longInFlight {
			a.env.Events.Record(&messages.Event{
				Kind: messages.EventKind_EVENT_KIND_OLDEST_IN_FLIGHT, Group: a.group.spec.Name, Queue: owned.q.queue,
				Offset: s.committed.Load(), DelayMillis: age.Milliseconds(), Text: "in flight for " + age.Round(time.Second).String(),
			})
		}
		silent := now.Sub(time.UnixMilli(s.lastPull.Load()))
		if s.phase.get() == phaseRunning && s.waiting.get() == "" && silent > longSilence {
			a.env.Events.Record(&messages.Event{
				Kind: messages.EventKind_EVENT_KIND_PULL_LOOP_SILENT, Group: a.group.spec.Name, Queue: owned.q.queue,
				Text: "not pulled for " + silent.Round(time.Second).String(),
			})
		}
	}
}
