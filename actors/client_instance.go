package actors

import (
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// ClientInstance is the root of one client's tree.
//
//	Owns        everything below; the order of start and stop
//	Parent      none
//	In          BrokersChanged, ConnectionChanged, GroupReady, GroupNotReady, StopClient, GroupStopped, HeartbeatsStopped
//	Out         BrokersChanged, ConnectionChanged, StopHeartbeats to the heartbeat; stopCalls to admin; StopGroup to groups; Progress to the
//	            Runtime
//	States      starting, running, stopping, stopped
//	Invariants  groups stop before the heartbeat, the heartbeat before the routes
//	Restart     everything below starts anew; during a stop the groups are only unregistered: what they had not stored is
//	            delivered again
//	Source      MQClientInstance (protocol.md 5.1, 5.3)
type ClientInstance struct {
	env      *Env
	topics   []string
	progress Progress
	refs     *clientRefs
	contexts []*groupContext
	table    *clientTable
	view     *clientView

	ready   map[string]bool
	groups  map[string]kit.Ref
	running int
	stopped messages.ClientStopped
}

// clientTable is what survives a restart of the ClientInstance.
type clientTable struct {
	stop  *messages.StopClient
	beats *heartbeatTable
}

// Progress is how a ClientInstance reports to the Runtime, which is no actor. The functions must not block.
type Progress struct {
	// Ready is called once when every group is ready.
	Ready func()
	// NotReady is called with what is in the way of a group.
	NotReady func(group string, err error)
	// Rejected is called when a group cannot become ready as it is configured; NotReady was told why.
	Rejected func()
	// Stopped is called once at the end of an ordered stop.
	Stopped func(*messages.ClientStopped)
}

// clientRefs lets goroutines outside the tree find its actors; all zero before the start.
type clientRefs struct {
	client, admin, heartbeat, routes atomic.Pointer[kit.Ref]
	groups                           atomic.Pointer[map[string]kit.Ref]
}

func (r *clientRefs) group(name string) (kit.Ref, bool) {
	groups := r.groups.Load()
	if groups == nil {
		return kit.Ref{}, false
	}
	ref, ok := (*groups)[name]
	return ref, ok
}

func load(p *atomic.Pointer[kit.Ref]) kit.Ref {
	if r := p.Load(); r != nil {
		return *r
	}
	return kit.Ref{}
}

// Receive handles one message.
func (a *ClientInstance) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *messages.BrokersChanged:
		c.Tell(load(&a.refs.heartbeat), m)
	case *messages.ConnectionChanged:
		a.connectionChanged(c, m)
	case *messages.GroupReady:
		a.groupReady(m)
	case *messages.GroupNotReady:
		if !a.ready[m.GetGroup()] {
			a.progress.NotReady(m.GetGroup(), m.GetFailure().Err())
			if m.GetFailure().GetSubscription() != nil {
				a.progress.Rejected()
			}
		}
	case *messages.StopClient:
		a.stopGroups(c, m)
	case *messages.GroupStopped:
		a.groupStopped(c, m)
	case *messages.HeartbeatsStopped:
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_CLIENT_STOPPED, Count: a.stopped.GetAbandoned(),
		})
		a.progress.Stopped(&messages.ClientStopped{
			Abandoned: a.stopped.GetAbandoned(), Unpersisted: a.stopped.GetUnpersisted(),
		})
	}
}

func (a *ClientInstance) start(c *kit.Context) {
	a.ready = make(map[string]bool)
	a.groups = make(map[string]kit.Ref)
	if a.table.stop != nil {
		a.leave(c)
		return
	}
	table := newRouteTable()
	a.table.beats = newHeartbeatTable()
	routes := c.Spawn(kit.Spec{Role: "RouteKeeper", Name: "routes", New: func() kit.Actor {
		return &RouteKeeper{env: a.env, table: table}
	}})
	heartbeat := a.spawnHeartbeat(c)
	admin := c.Spawn(kit.Spec{Role: "BrokerCaller", Name: "admin", New: func() kit.Actor {
		return &BrokerCaller{env: a.env, view: a.view, groups: a.refs.group}
	}})
	a.refs.routes.Store(&routes)
	a.refs.admin.Store(&admin)
	for _, topic := range a.topics {
		c.Tell(routes, &messages.WatchTopic{Topic: topic})
	}
	for _, group := range a.contexts {
		group.routes, group.heartbeat = routes, heartbeat
		offsets, locks := newOffsetTable(), newLockTable()
		a.groups[group.spec.Name] = c.Spawn(kit.Spec{
			Role: "ConsumerGroup", Name: "group-" + group.spec.Name, Phase: group.status.phase.get,
			New: func() kit.Actor { return &ConsumerGroup{env: a.env, group: group, offsets: offsets, locks: locks} },
		})
	}
	groups := a.groups
	a.refs.groups.Store(&groups)
	a.env.Events.Record(&messages.Event{Kind: messages.EventKind_EVENT_KIND_CLIENT_STARTED, Text: a.env.ClientID})
	if len(a.contexts) == 0 {
		a.progress.Ready()
	}
}

func (a *ClientInstance) spawnHeartbeat(c *kit.Context) kit.Ref {
	beats := a.table.beats
	heartbeat := c.Spawn(kit.Spec{Role: "HeartbeatSender", Name: "heartbeat", New: func() kit.Actor {
		return &HeartbeatSender{env: a.env, table: beats}
	}})
	a.refs.heartbeat.Store(&heartbeat)
	return heartbeat
}

// leave ends a stop that a failure interrupted.
func (a *ClientInstance) leave(c *kit.Context) {
	a.table.beats.forgetGroups()
	heartbeat := a.spawnHeartbeat(c)
	for _, group := range a.contexts {
		c.Tell(heartbeat, &messages.WithdrawGroup{Group: group.spec.Name})
	}
	c.Tell(heartbeat, &messages.StopHeartbeats{})
	a.stopped.Unpersisted = append(a.stopped.Unpersisted, "the client failed while it stopped: what was not stored is delivered again")
}

func (a *ClientInstance) connectionChanged(c *kit.Context, m *messages.ConnectionChanged) {
	kind := messages.EventKind_EVENT_KIND_DISCONNECTED
	if m.GetUp() {
		kind = messages.EventKind_EVENT_KIND_CONNECTED
	}
	a.env.Events.Record(&messages.Event{Kind: kind, Address: m.GetAddress(), Text: m.GetReason()})
	c.Tell(load(&a.refs.heartbeat), m)
}

func (a *ClientInstance) groupReady(m *messages.GroupReady) {
	if a.ready[m.GetGroup()] {
		return
	}
	a.ready[m.GetGroup()] = true
	if len(a.ready) == len(a.contexts) {
		a.progress.Ready()
	}
}

func (a *ClientInstance) stopGroups(c *kit.Context, m *messages.StopClient) {
	if a.table.stop != nil { // a second one can only shorten the drain
		for _, ref := range a.groups {
			c.Tell(ref, &messages.StopGroup{DrainMillis: m.GetDrainMillis()})
		}
		return
	}
	a.table.stop = m
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_CLIENT_STOPPING, DelayMillis: m.GetDrainMillis(),
		Text: "drain within " + (time.Duration(m.GetDrainMillis()) * time.Millisecond).String(),
	})
	a.running = len(a.groups)
	for _, ref := range a.groups {
		c.Tell(ref, &messages.StopGroup{DrainMillis: m.GetDrainMillis()})
	}
	a.stopHeartbeats(c)
}

func (a *ClientInstance) groupStopped(c *kit.Context, m *messages.GroupStopped) {
	a.running--
	a.stopped.Abandoned += m.GetAbandoned()
	a.stopped.Unpersisted = append(a.stopped.Unpersisted, m.GetUnpersisted()...)
	a.stopHeartbeats(c)
}

func (a *ClientInstance) stopHeartbeats(c *kit.Context) {
	if a.running == 0 {
		c.Tell(load(&a.refs.admin), &stopCalls{})
		c.Tell(load(&a.refs.heartbeat), &messages.StopHeartbeats{})
	}
}
