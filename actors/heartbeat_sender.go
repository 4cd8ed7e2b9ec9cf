package actors

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// HeartbeatSender announces what the client does, to every broker.
//
//	Owns        the groups with their subscriptions; for each address what it was last told
//	Parent      ClientInstance
//	In          AnnounceGroup, WithdrawGroup, BrokersChanged, ConnectionChanged, BeatNow, HeartbeatTick, BeatAgain,
//	            HeartbeatDone, UnregisterDone, StopHeartbeats
//	Out         Announced, GroupNotReady and Withdrawn to the group that asked; HeartbeatsStopped to the parent
//	States      per address: idle, beating, beating and dirty
//	Invariants  a heartbeat always carries all groups; an announcement is never skipped, at most queued behind the
//	            heartbeat under way; a withdrawn group is unregistered only when no older heartbeat is under way
//	Restart     groups are announced again from the table that the parent keeps
//	Source      MQClientInstance.sendHeartbeatToAllBroker (protocol.md 3.2, 5.1, 7.1)
type HeartbeatSender struct {
	env   *Env
	table *heartbeatTable
}

// heartbeatTable is what survives a restart of the HeartbeatSender.
type heartbeatTable struct {
	groups map[string]*announcedGroup
	beats  map[string]*beat
	// version grows with every change of what is announced.
	version  int64
	leaving  map[string]*leavingGroup
	stopping bool
	stopped  bool
}

// leavingGroup is a withdrawn group that brokers still know.
type leavingGroup struct {
	owner    kit.Ref
	underway bool
}

type announcedGroup struct {
	data     *messages.GroupData
	owner    kit.Ref
	revision int64
	// since is the version of the table from which on heartbeats carry it.
	since int64
}

// beat is the state of one broker address.
type beat struct {
	underway     bool
	dirty        bool
	sending      int64
	acknowledged int64
	failures     int
	// again is the timer of the next try after a failure; nil if none runs.
	again *kit.Timer
}

const (
	beatRetryFirst = 200 * time.Millisecond
	beatRetryLast  = 10 * time.Second
)

func newHeartbeatTable() *heartbeatTable {
	return &heartbeatTable{
		groups: make(map[string]*announcedGroup), beats: make(map[string]*beat), leaving: make(map[string]*leavingGroup),
	}
}

// forgetGroups leaves only the brokers, for a sender that has nothing to do but withdraw groups.
func (t *heartbeatTable) forgetGroups() {
	clear(t.groups)
	clear(t.leaving)
	t.stopping, t.stopped = false, false
}

// Receive handles one message.
func (a *HeartbeatSender) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		for _, b := range a.table.beats {
			b.underway, b.again = false, nil
		}
		for _, l := range a.table.leaving {
			l.underway = false
		}
		a.beatAll(c)
		a.settleLeaving(c)
		c.After(a.env.Periods.Heartbeat, &messages.HeartbeatTick{})
	case *messages.AnnounceGroup:
		a.announce(c, m)
	case *messages.WithdrawGroup:
		a.withdraw(c, m.GetGroup())
	case *messages.BrokersChanged:
		a.brokersChanged(c, m.GetAddresses())
	case *messages.ConnectionChanged:
		a.connectionChanged(c, m)
	case *messages.BeatNow:
		a.beatPatient(c)
	case *messages.BeatAgain:
		if b := a.table.beats[m.GetAddress()]; b != nil {
			b.again = nil
		}
		a.beat(c, m.GetAddress())
	case *messages.HeartbeatTick:
		a.beatPatient(c)
		c.After(a.env.Periods.Heartbeat, m)
	case *messages.HeartbeatDone:
		a.done(c, m)
	case *messages.UnregisterDone:
		a.unregistered(c, m)
	case *messages.StopHeartbeats:
		a.table.stopping = true
		a.settleLeaving(c)
	}
}

func (a *HeartbeatSender) announce(c *kit.Context, m *messages.AnnounceGroup) {
	a.table.version++
	a.table.groups[m.GetData().GetGroup()] = &announcedGroup{
		data: m.GetData(), owner: c.Sender(), revision: m.GetRevision(), since: a.table.version,
	}
	a.beatAll(c)
}

func (a *HeartbeatSender) withdraw(c *kit.Context, group string) {
	delete(a.table.groups, group)
	a.table.version++
	a.table.leaving[group] = &leavingGroup{owner: c.Sender()}
	a.settleLeaving(c)
}

func (a *HeartbeatSender) brokersChanged(c *kit.Context, addresses []string) {
	for addr := range a.table.beats {
		if !slices.Contains(addresses, addr) {
			delete(a.table.beats, addr)
		}
	}
	for _, addr := range addresses {
		if a.table.beats[addr] == nil {
			a.table.beats[addr] = &beat{}
			a.beat(c, addr)
		}
	}
	a.settleLeaving(c)
}

// connectionChanged announces at once on a new connection: for a broker a client is its connection (protocol.md 7.1). A
// heartbeat under way has opened the connection itself, or will fail and be repeated.
func (a *HeartbeatSender) connectionChanged(c *kit.Context, m *messages.ConnectionChanged) {
	b := a.table.beats[m.GetAddress()]
	if b == nil {
		return
	}
	if !m.GetUp() {
		b.acknowledged = 0
		return
	}
	if !b.underway {
		a.beat(c, m.GetAddress())
	}
}

func (a *HeartbeatSender) beatAll(c *kit.Context) {
	for addr := range a.table.beats {
		a.beat(c, addr)
	}
}

// beatPatient leaves those out whose next try after a failure is due soon: whoever refuses is not asked more often for it.
func (a *HeartbeatSender) beatPatient(c *kit.Context) {
	for addr, b := range a.table.beats {
		if b.again == nil {
			a.beat(c, addr)
		}
	}
}

func (a *HeartbeatSender) beat(c *kit.Context, addr string) {
	b := a.table.beats[addr]
	if b == nil || len(a.table.groups) == 0 || a.table.stopping {
		return
	}
	if b.underway {
		b.dirty = true
		return
	}
	b.underway, b.dirty, b.sending = true, false, a.table.version
	h := &messages.Heartbeat{ClientId: a.env.ClientID}
	for _, name := range slices.Sorted(maps.Keys(a.table.groups)) {
		h.Groups = append(h.Groups, a.table.groups[name].data)
	}
	link := a.env.Link
	c.Go(heartbeatTimeout, func(ctx context.Context) kit.Message {
		err := contained(func() error { return link.Heartbeat(ctx, addr, h) })
		return &messages.HeartbeatDone{Address: addr, Failure: messages.FailureOf(err)}
	})
}

func (a *HeartbeatSender) done(c *kit.Context, m *messages.HeartbeatDone) {
	b := a.table.beats[m.GetAddress()]
	if b == nil {
		a.settleLeaving(c)
		return
	}
	b.underway = false
	if m.GetFailure() != nil {
		b.failures++
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_HEARTBEAT_FAILED, Address: m.GetAddress(), Failure: m.GetFailure(),
		})
		if b.again != nil {
			b.again.Stop()
		}
		b.again = c.After(backOff(beatRetryFirst, beatRetryLast, b.failures), &messages.BeatAgain{Address: m.GetAddress()})
		for name, g := range a.table.groups {
			c.Tell(g.owner, &messages.GroupNotReady{Group: name, Failure: m.GetFailure()})
		}
		a.settleLeaving(c)
		return
	}
	b.failures = 0
	if b.again != nil {
		b.again.Stop()
		b.again = nil
	}
	if b.acknowledged != b.sending {
		b.acknowledged = b.sending
		for _, g := range a.table.groups {
			if g.since <= b.sending { // else the next heartbeat, which is due, carries it
				c.Tell(g.owner, &messages.Announced{Address: m.GetAddress(), Revision: g.revision})
			}
		}
	}
	if b.dirty {
		a.beat(c, m.GetAddress())
	}
	a.settleLeaving(c)
}

// settleLeaving unregisters what was withdrawn as soon as no older heartbeat can bring it back.
func (a *HeartbeatSender) settleLeaving(c *kit.Context) {
	for _, b := range a.table.beats {
		if b.underway && b.sending < a.table.version && len(a.table.leaving) > 0 {
			return
		}
	}
	for group, l := range a.table.leaving {
		if !l.underway {
			l.underway = true
			a.unregister(c, group)
		}
	}
	if a.table.stopping && !a.table.stopped && len(a.table.leaving) == 0 {
		a.table.stopped = true
		c.Tell(c.Parent(), &messages.HeartbeatsStopped{})
	}
}

func (a *HeartbeatSender) unregister(c *kit.Context, group string) {
	link, addresses := a.env.Link, slices.Sorted(maps.Keys(a.table.beats))
	c.Go(heartbeatTimeout, func(ctx context.Context) kit.Message {
		failures := make([]*messages.Failure, len(addresses))
		var all sync.WaitGroup
		for i, addr := range addresses {
			all.Go(func() {
				err := contained(func() error { return link.Unregister(ctx, addr, group, "") })
				failures[i] = messages.FailureOf(err)
			})
		}
		all.Wait()
		done := &messages.UnregisterDone{Group: group}
		for _, f := range failures {
			if f != nil {
				done.Failures = append(done.Failures, f)
			}
		}
		return done
	})
}

// unregistered tells the group's owner. A broker that could not be reached drops the client with its connection.
func (a *HeartbeatSender) unregistered(c *kit.Context, m *messages.UnregisterDone) {
	if l := a.table.leaving[m.GetGroup()]; l != nil {
		delete(a.table.leaving, m.GetGroup())
		c.Tell(l.owner, &messages.Withdrawn{Group: m.GetGroup()})
	}
	a.settleLeaving(c)
}
