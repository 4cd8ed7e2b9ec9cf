package actors

import (
	"strconv"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// ConsumerGroup is one consumer group of the client.
//
//	Owns        the group's actors; the tables that survive their restarts
//	Parent      ClientInstance
//	In          Announced, MembersChanged, PauseQueues, ResumeQueues, ResetOffsets, seekQueue, SetWorkers,
//	            ChangeSubscription, AssignQueues, storeOffset, trackOffset, handBack, topicLeft, GroupReady, GroupNotReady, StopGroup, AllRevoked, TracesFlushed, Withdrawn
//	Out         AnnounceGroup, WithdrawGroup to the heartbeat; RevokeAll, subscriptionsChanged to the Rebalancer; storeOffset, trackOffset to the OffsetPersister; handBack to the RetrySender; Announced to both who
//	            need it; FlushTraces to the TraceSender; GroupReady, GroupNotReady,
//	            GroupStopped to the parent
//	States      starting, running, draining, withdrawing, stopped
//	Invariants  the subscriptions that all see are changed here alone; the heartbeat is withdrawn only after every queue was given up and every offset stored
//	Restart     everything below starts anew: what was not persisted is delivered again
//	Source      DefaultMQPushConsumerImpl (protocol.md 5.3)
type ConsumerGroup struct {
	env        *Env
	group      *groupContext
	offsets    *offsetTable
	locks      *lockTable
	rebalancer kit.Ref
	traces     kit.Ref
	stopped    *messages.GroupStopped
	withdrawn  bool
}

// Phases of a group, as told by the topology.
const (
	phaseStarting    = "starting"
	phaseReady       = "running"
	phaseDrain       = "draining"
	phaseWithdrawing = "withdrawing"
	phaseStopped     = "stopped"
)

// Receive handles one message.
func (a *ConsumerGroup) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *messages.Announced:
		if !a.group.locks.IsZero() {
			c.Tell(a.group.locks, m)
		}
		if !a.group.spec.broadcasts() {
			c.Tell(a.group.offsets, m)
		}
		c.Tell(a.rebalancer, m)
	case *messages.MembersChanged, *messages.PauseQueues, *messages.ResumeQueues, *messages.ResetOffsets, *seekQueue:
		c.Tell(a.rebalancer, m)
	case *storeOffset, *trackOffset:
		c.Tell(a.group.offsets, m)
	case *handBack:
		c.Tell(a.group.retries, m)
	case *messages.SetWorkers:
		a.group.pool.SetWorkers(int(m.GetWorkers()))
	case *ChangeSubscription:
		a.change(c, m)
	case *AssignQueues:
		a.choose(c, m)
	case *topicLeft:
		if a.group.subscriptions().of(m.topic) == nil {
			a.group.pool.Drop(a.group.pool.Lane(m.topic))
		}
	case *messages.GroupReady:
		a.group.status.phase.set(phaseReady)
		a.group.status.wasReady.Store(true)
		a.env.Events.Record(&messages.Event{Kind: messages.EventKind_EVENT_KIND_GROUP_READY, Group: m.GetGroup()})
		c.Tell(c.Parent(), m)
	case *messages.GroupNotReady:
		c.Tell(c.Parent(), m)
	case *messages.StopGroup:
		a.group.status.phase.set(phaseDrain)
		if a.group.polls != nil {
			a.group.polls.Close(ErrClosed)
		}
		c.Tell(a.rebalancer, &messages.RevokeAll{DrainMillis: m.GetDrainMillis()})
	case *messages.AllRevoked:
		a.revoked(c, m)
	case *messages.TracesFlushed:
		a.withdraw(c)
	case *messages.Withdrawn:
		a.finish(c)
	}
}

func (a *ConsumerGroup) start(c *kit.Context) {
	a.group.status.phase.set(phaseStarting)
	a.group.offsets = c.Spawn(kit.Spec{Role: "OffsetPersister", Name: "offsets", New: func() kit.Actor {
		return &OffsetPersister{env: a.env, group: a.group.spec.Name, rule: a.group.spec.Start, table: a.offsets, home: a.group.home}
	}})
	a.group.retries = c.Spawn(kit.Spec{Role: "RetrySender", Name: "retries", New: func() kit.Actor {
		return &RetrySender{
			env: a.env, group: a.group.spec.Name, maxReconsumes: a.group.spec.MaxReconsumes, line: a.group.status.retries,
		}
	}})
	if a.group.polls == nil {
		c.Spawn(kit.Spec{Role: "WorkerPool", Name: "workers", Facts: a.workerFacts, New: func() kit.Actor {
			return &WorkerPool{env: a.env, group: a.group}
		}})
	} else {
		a.group.desk = c.Spawn(kit.Spec{Role: "PollDesk", Name: "polls", Facts: a.pollFacts, New: func() kit.Actor {
			return &PollDesk{env: a.env, group: a.group}
		}})
	}
	a.group.checker = c.Spawn(kit.Spec{Role: "SubscriptionChecker", Name: "subscriptions", New: func() kit.Actor {
		return &SubscriptionChecker{env: a.env, group: a.group}
	}})
	if a.group.spec.locks() {
		a.group.locks = c.Spawn(kit.Spec{Role: "QueueLocker", Name: "locks", New: func() kit.Actor {
			return &QueueLocker{env: a.env, group: a.group, table: a.locks}
		}})
	}
	if a.group.traces != nil {
		a.traces = c.Spawn(kit.Spec{Role: "TraceSender", Name: "traces", New: func() kit.Actor {
			return &TraceSender{env: a.env, routes: a.group.routes, traces: a.group.traces}
		}})
	}
	a.rebalancer = c.Spawn(kit.Spec{Role: "Rebalancer", Name: "rebalancer", New: func() kit.Actor {
		return &Rebalancer{env: a.env, group: a.group}
	}})
	a.announce(c)
}

func (a *ConsumerGroup) announce(c *kit.Context) {
	now := a.group.subscriptions()
	c.Tell(a.group.heartbeat, &messages.AnnounceGroup{Data: now.data, Revision: now.revision})
}

// change makes another state of the subscriptions and hands it down. Brokers hear of it at once, in the next heartbeat.
func (a *ConsumerGroup) change(c *kit.Context, m *ChangeSubscription) {
	phase, now := a.group.status.phase.get(), a.group.subscriptions()
	if phase != phaseStarting && phase != phaseReady || m.Spec == nil && now.of(m.Topic) == nil {
		return
	}
	e := &messages.Event{Kind: messages.EventKind_EVENT_KIND_UNSUBSCRIBED, Group: a.group.spec.Name, Topic: m.Topic}
	if m.Spec != nil {
		e.Kind, e.Text = messages.EventKind_EVENT_KIND_SUBSCRIBED, m.Spec.Subscription.GetExpression()
	}
	now = now.with(m)
	a.group.subscribed.Store(now)
	a.env.Events.Record(e)
	a.announce(c)
	c.Tell(a.rebalancer, &subscriptionsChanged{to: now})
}

// choose takes over the queues that a pull group's program has chosen.
func (a *ConsumerGroup) choose(c *kit.Context, m *AssignQueues) {
	if phase := a.group.status.phase.get(); phase != phaseStarting && phase != phaseReady {
		return
	}
	now := a.group.subscriptions().choosing(m)
	a.group.assigned.Store(&m.Queues)
	a.group.subscribed.Store(now)
	a.announce(c)
	c.Tell(a.rebalancer, &subscriptionsChanged{to: now})
}

func (a *ConsumerGroup) pollFacts() []*messages.Fact {
	waiting, queues, last := a.group.polls.Facts()
	facts := []*messages.Fact{
		{Name: "messages", Value: strconv.FormatInt(a.group.polls.Messages(), 10)},
		{Name: "queues", Value: strconv.Itoa(queues)},
		{Name: "waiting", Value: strconv.Itoa(waiting)},
	}
	if !last.IsZero() {
		facts = append(facts, &messages.Fact{Name: "polled", Value: time.Since(last).Round(time.Millisecond).String() + " ago"})
	}
	return facts
}

func (a *ConsumerGroup) workerFacts() []*messages.Fact {
	return []*messages.Fact{
		{Name: "workers", Value: strconv.Itoa(a.group.pool.Workers())},
		{Name: "busy", Value: strconv.Itoa(a.group.pool.Busy())},
		{Name: "queued", Value: strconv.Itoa(a.group.pool.Queued())},
	}
}

// revoked goes on when no queue is left: what was traced is sent first.
func (a *ConsumerGroup) revoked(c *kit.Context, m *messages.AllRevoked) {
	if a.stopped != nil {
		return
	}
	a.stopped = &messages.GroupStopped{
		Group: a.group.spec.Name, Abandoned: m.GetAbandoned(), Unpersisted: m.GetUnpersisted(),
	}
	if a.group.traces == nil {
		a.withdraw(c)
		return
	}
	c.Tell(a.traces, &messages.FlushTraces{})
	c.After(traceFlushGrace, &messages.TracesFlushed{})
}

func (a *ConsumerGroup) withdraw(c *kit.Context) {
	if a.stopped == nil || a.withdrawn {
		return
	}
	a.withdrawn = true
	a.group.status.phase.set(phaseWithdrawing)
	c.Tell(a.group.heartbeat, &messages.WithdrawGroup{Group: a.group.spec.Name})
}

func (a *ConsumerGroup) finish(c *kit.Context) {
	a.group.status.phase.set(phaseStopped)
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_GROUP_STOPPED, Group: a.group.spec.Name, Count: a.stopped.GetAbandoned(),
	})
	c.Tell(c.Parent(), a.stopped)
}
