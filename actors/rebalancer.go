package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// Rebalancer decides which queues this member owns.
//
//	Owns        the assignment of one group; the AssignedQueues
//	Parent      ConsumerGroup
//	In          Announced, subscriptionsChanged, subscriptionChecked, RouteChanged, MembersChanged, RebalanceTick, RebalanceSoon, MembersListed, QueueBegun, QueueRevoked,
//	            PauseQueues, ResumeQueues, ResetOffsets, seekQueue, RevokeAll, ChildStopped
//	Out         WatchTopic, RefreshRoute to routes; BeatNow to the heartbeat; MembersKnown to the QueueLocker; assignmentChanged to the PollDesk; Revoke, Pause,
//	            Resume, ResetOffset to AssignedQueues;
//	            GroupReady, GroupNotReady, topicLeft, AllRevoked to the parent
//	States      unannounced, idle, listing, revoking all
//	Invariants  one round at a time; a broadcasting group asks for no members and owns every queue of its routes, a group with chosen queues owns those; member lists that fail, are empty or lack ourselves change nothing; a queue is
//	            started again only after its former AssignedQueue has ended
//	Restart     starts with an empty assignment: its AssignedQueues were stopped with it
//	Source      RebalanceService, RebalanceImpl, RebalancePushImpl (protocol.md 5.4)
type Rebalancer struct {
	env   *Env
	group *groupContext

	topics    map[string]*balancedTopic
	queues    map[messages.QueueKey]*ownedQueue
	announced bool
	// revision is that of the subscriptions; acknowledged the one that each address knows.
	revision     int64
	acknowledged map[string]int64
	ready        bool
	round        int64
	underway     int
	again        bool
	unusable     *messages.Failure
	changed      bool
	lastRound    time.Time
	soon         *kit.Timer
	paused       map[messages.QueueKey]bool
	pausedAll    bool
	revoking     *messages.RevokeAll
	result       messages.AllRevoked
}

type balancedTopic struct {
	subscription *messages.Subscription
	route        *messages.TopicRoute
	queues       []messages.QueueKey
	failure      *messages.Failure
	balanced     bool
	members      []string
	// complaint is what was last said against the strategy's answer.
	complaint string
	// toldAll and toldMine are what a pull group's program was told last.
	toldAll, toldMine []messages.QueueKey
	// since is the revision that brought the present subscription.
	since int64
	// asking, checked and refused are about the brokers' consent to a filter that they evaluate.
	asking, checked bool
	refused         *messages.Failure
}

const (
	// Two rounds have at least this between them; what comes in between is one round.
	roundGap = 50 * time.Millisecond
	// A round that could not finish is repeated after this.
	roundRetry = time.Second
	// A message in flight for longer than this is worth an event (pains A08), and a queue not pulled for longer (A13).
	longInFlight = time.Minute
	longSilence  = time.Minute
)

// Receive handles one message.
func (a *Rebalancer) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *messages.Announced:
		a.acknowledged[m.GetAddress()] = m.GetRevision()
		if !a.announced {
			a.announced = true
			a.refreshRetryTopic(c)
		}
		a.trigger(c)
	case *subscriptionsChanged:
		a.resubscribe(c, m.to)
	case *subscriptionChecked:
		a.checked(c, m)
	case *messages.RouteChanged:
		a.routeChanged(c, m)
	case *messages.MembersChanged:
		a.trigger(c)
	case *messages.RebalanceTick:
		a.watch()
		a.trigger(c)
		c.After(a.env.Periods.Rebalance, m)
	case *messages.RebalanceSoon:
		a.soon = nil
		a.trigger(c)
	case *messages.MembersListed:
		a.listed(c, m)
	case *messages.QueueBegun:
		a.queueBegun(c, m)
	case *messages.QueueRevoked:
		a.queueRevoked(m)
		c.Kill(c.Sender())
	case kit.ChildStopped:
		a.queueStopped(c, m)
	case *messages.PauseQueues:
		a.pause(c, m.GetQueues(), true)
	case *messages.ResetOffsets:
		a.reset(c, m)
	case *seekQueue:
		a.seek(c, m)
	case *messages.ResumeQueues:
		a.pause(c, m.GetQueues(), false)
	case *messages.RevokeAll:
		a.revokeAll(c, m)
	}
}

func (a *Rebalancer) start(c *kit.Context) {
	a.topics = make(map[string]*balancedTopic)
	a.queues = make(map[messages.QueueKey]*ownedQueue)
	a.paused = make(map[messages.QueueKey]bool)
	a.acknowledged = make(map[string]int64)
	a.group.status.clearQueues()
	a.announced = c.Incarnation() > 1
	if m := a.group.status.revokeAll.Load(); m != nil { // failed on the way out
		a.revokeAll(c, m)
		return
	}
	now := a.group.subscriptions()
	a.revision = now.revision
	for _, sub := range now.watched {
		a.topics[sub.GetTopic()] = &balancedTopic{subscription: sub}
		c.Tell(a.group.routes, &messages.WatchTopic{Topic: sub.GetTopic()})
	}
	c.After(a.env.Periods.Rebalance, &messages.RebalanceTick{})
	if len(a.topics) == 0 {
		a.reportReadiness(c) // a pull group that begins with nothing has nothing to wait for
	}
}

// refreshRetryTopic looks for the group's retry topic: its first heartbeat creates it.
func (a *Rebalancer) refreshRetryTopic(c *kit.Context) {
	if a.group.spec.retries() {
		c.Tell(a.group.routes, &messages.RefreshRoute{Topic: RetryTopic(a.group.spec.Name)})
	}
}

func (a *Rebalancer) routeChanged(c *kit.Context, m *messages.RouteChanged) {
	t := a.topics[m.GetTopic()]
	if t == nil {
		return
	}
	if m.GetRoute() == nil {
		t.failure = m.GetFailure()
		a.reportReadiness(c)
		return
	}
	t.route, t.failure, t.queues = m.GetRoute(), nil, SubscribeQueues(m.GetRoute())
	a.trigger(c)
}

// trigger starts a round, or makes sure that one follows: never two at a time, never two within roundGap.
func (a *Rebalancer) trigger(c *kit.Context) {
	if !a.announced || a.revoking != nil {
		return
	}
	if a.underway > 0 {
		a.again = true
		return
	}
	if wait := roundGap - time.Since(a.lastRound); wait > 0 && !a.lastRound.IsZero() {
		a.triggerIn(c, wait)
		return
	}
	a.beginRound(c)
}

func (a *Rebalancer) triggerIn(c *kit.Context, d time.Duration) {
	if a.soon == nil {
		a.soon = c.After(d, &messages.RebalanceSoon{})
	}
}

func (a *Rebalancer) beginRound(c *kit.Context) {
	a.round++
	a.again, a.unusable, a.changed = false, nil, false
	for topic, t := range a.topics {
		if t.route == nil || a.checking(c, topic, t) {
			continue
		}
		if share, ours := a.undivided(topic, t); ours {
			t.balanced, t.members = true, []string{a.env.ClientID}
			a.assign(c, topic, t, share)
			continue
		}
		a.underway++
		a.list(c, topic)
	}
	if a.underway == 0 {
		a.endRound(c)
	}
}

// undivided gives the queues of a topic that are this member's whoever else is there: all if the group broadcasts, or those that
// its program chose.
func (a *Rebalancer) undivided(topic string, t *balancedTopic) (share []messages.QueueKey, ours bool) {
	chosen := a.group.assigned.Load()
	if chosen == nil {
		return t.queues, a.group.spec.broadcasts()
	}
	var strays []string
	for _, key := range *chosen {
		switch {
		case key.Topic != topic:
		case slices.Contains(t.queues, key):
			share = append(share, key)
		default:
			strays = append(strays, key.String())
		}
	}
	text := ""
	if len(strays) > 0 {
		text = "assigned, but not of the topic: " + named(strays)
	}
	if text != "" && text != t.complaint {
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_ALLOCATION_FAULTY, Group: a.group.spec.Name, Topic: topic, Text: text,
		})
	}
	t.complaint = text
	return share, true
}

// list asks for a topic's members and has the group's strategy divide its queues among them.
func (a *Rebalancer) list(c *kit.Context, topic string) {
	link, spec, round := a.env.Link, a.group.spec, a.round
	me, queues := a.env.ClientID, a.topics[topic].queues
	brokers := a.env.Directory.BrokersOf(topic)
	rand.Shuffle(len(brokers), func(i, j int) { brokers[i], brokers[j] = brokers[j], brokers[i] })
	c.Go(2*memberTimeout, func(ctx context.Context) kit.Message {
		out := &messages.MembersListed{Topic: topic, Round: round}
		out.Failure = messages.FailureOf(listMembers(ctx, link, spec.Name, brokers, out))
		if !slices.Contains(out.Members, me) {
			return out
		}
		d, err := spec.divide(me, out.Members, queues)
		out.Undivided, out.Complaint = messages.FailureOf(err), d.complaint
		for _, key := range d.share {
			out.Share = append(out.Share, key.Queue())
		}
		return out
	})
}

// listMembers asks one broker after the other, in the order given, until one answers with a list. A slave is asked only if its
// master cannot be reached: members that come do not tell both at the same moment.
func listMembers(ctx context.Context, link Link, group string, brokers [][]string, out *messages.MembersListed) error {
	err := error(&messages.NoRouteError{Topic: out.Topic})
	for _, set := range brokers {
		for _, addr := range set {
			one, cancel := context.WithTimeout(ctx, memberTimeout)
			out.Address = addr
			err = contained(func() (err error) {
				out.Members, err = link.Members(one, addr, group)
				return err
			})
			cancel()
			if err == nil {
				return nil
			}
			if !unreached(err) || ctx.Err() != nil {
				break
			}
		}
	}
	return err
}

func (a *Rebalancer) listed(c *kit.Context, m *messages.MembersListed) {
	if m.GetRound() != a.round || a.underway == 0 {
		return
	}
	a.underway--
	if t := a.topics[m.GetTopic()]; t != nil && a.revoking == nil {
		if err := a.usable(c, m); err != nil {
			a.unusable = messages.FailureOf(err)
			a.env.Events.Record(&messages.Event{
				Kind: messages.EventKind_EVENT_KIND_MEMBERS_UNUSABLE, Group: a.group.spec.Name, Topic: m.GetTopic(),
				Address: m.GetAddress(), Failure: a.unusable,
			})
		} else {
			t.members = m.GetMembers()
			if !a.group.locks.IsZero() {
				c.Tell(a.group.locks, &messages.MembersKnown{Members: m.GetMembers()})
			}
			a.divided(c, t, m)
		}
	}
	if a.underway == 0 {
		a.endRound(c)
	}
}

// usable says what is wrong with a member list. None of it may cost us a queue (pains A14).
func (a *Rebalancer) usable(c *kit.Context, m *messages.MembersListed) error {
	switch {
	case m.GetFailure() != nil:
		var refused *messages.BrokerError
		if errors.As(m.GetFailure().Err(), &refused) {
			c.Tell(a.group.heartbeat, &messages.BeatNow{}) // a broker without members does not know us either
		}
		return m.GetFailure().Err()
	case len(m.GetMembers()) == 0:
		c.Tell(a.group.heartbeat, &messages.BeatNow{})
		return errors.New("the member list is empty")
	case !slices.Contains(m.GetMembers(), a.env.ClientID):
		c.Tell(a.group.heartbeat, &messages.BeatNow{})
		return fmt.Errorf("the member list lacks this client %s", a.env.ClientID)
	}
	return nil
}

// divided follows what the group's strategy made of a member list. If it failed, nothing changes; each fault is told once.
func (a *Rebalancer) divided(c *kit.Context, t *balancedTopic, m *messages.MembersListed) {
	complaint := m.GetComplaint()
	if m.GetUndivided() != nil {
		a.unusable = m.GetUndivided()
		complaint = m.GetUndivided().Err().Error()
	}
	if complaint != "" && complaint != t.complaint {
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_ALLOCATION_FAULTY, Group: a.group.spec.Name, Topic: m.GetTopic(),
			Text: m.GetComplaint(), Failure: m.GetUndivided(),
		})
	}
	t.complaint = complaint
	if m.GetUndivided() != nil {
		return
	}
	t.balanced = true
	var share []messages.QueueKey
	for _, q := range m.GetShare() {
		if slices.Contains(t.queues, q.Key()) { // the route may have changed since
			share = append(share, q.Key())
		}
	}
	a.assign(c, m.GetTopic(), t, share)
}

func (a *Rebalancer) assign(c *kit.Context, topic string, t *balancedTopic, share []messages.QueueKey) {
	a.group.status.firstAssigned(topic, t.queues)
	fresh := a.tellListener(c, topic, t, share)
	want := make(map[messages.QueueKey]bool)
	if sub := a.group.subscriptions().of(topic); sub == nil || !sub.Listen {
		for _, key := range share {
			want[key] = true
		}
	}
	for key, owned := range a.queues {
		if key.Topic != topic || want[key] || owned.revoking {
			continue
		}
		reason := messages.RevokeReason_REVOKE_REASON_REBALANCED
		if !slices.Contains(t.queues, key) {
			reason = messages.RevokeReason_REVOKE_REASON_UNROUTED
		}
		a.changed = true
		a.drop(c, owned, reason, a.group.spec.RevokeGrace)
	}
	a.split(topic, want)
	for _, key := range share {
		if !want[key] {
			continue
		}
		if owned := a.queues[key]; owned == nil {
			if !a.known(key.Broker, t) {
				continue // its Announced starts a round
			}
			a.changed = true
			a.own(c, key, t.subscription, slices.Contains(fresh, key))
		} else if owned.revoking {
			a.again = true // it comes back to us: start anew when the old one has ended
		}
	}
}

// tellListener passes on which queues a topic has and which are this member's, when either has changed. It gives those that have come.
func (a *Rebalancer) tellListener(c *kit.Context, topic string, t *balancedTopic, mine []messages.QueueKey) (fresh []messages.QueueKey) {
	if a.group.polls == nil || a.group.spec.Poll.OnAssignment == nil || slices.Equal(t.toldAll, t.queues) && slices.Equal(t.toldMine, mine) {
		return nil
	}
	for _, key := range mine {
		if !slices.Contains(t.toldMine, key) {
			fresh = append(fresh, key)
		}
	}
	t.toldAll, t.toldMine = slices.Clone(t.queues), slices.Clone(mine)
	c.Tell(a.group.desk, &assignmentChanged{topic: topic, all: t.toldAll, mine: t.toldMine})
	return fresh
}

func (a *Rebalancer) endRound(c *kit.Context) {
	a.lastRound = time.Now()
	a.group.status.setMembers(a.members())
	if a.changed {
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_REBALANCED, Group: a.group.spec.Name, Count: int64(a.owned()),
			Text: fmt.Sprintf("%d queues among %d members", a.owned(), len(a.members())),
		})
	}
	a.reportReadiness(c)
	switch {
	case a.unusable != nil:
		a.triggerIn(c, roundRetry)
	case a.again:
		a.triggerIn(c, roundGap)
	}
}

func (a *Rebalancer) members() []string {
	all := make(map[string]bool)
	for _, t := range a.topics {
		for _, m := range t.members {
			all[m] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// reportReadiness tells the parent when every topic that exists has been balanced once, and each queue has its start if the group
// broadcasts; before, what is in the way.
func (a *Rebalancer) reportReadiness(c *kit.Context) {
	if a.ready {
		return
	}
	for topic, t := range a.topics {
		if t.balanced || isRetryTopic(topic) {
			continue
		}
		if t.failure != nil && errors.Is(t.failure.Err(), ErrNoRoute) {
			continue // the name servers answered: the topic does not exist yet and must not hold up the others
		}
		failure := t.failure
		if failure == nil {
			failure = t.refused
		}
		if failure == nil {
			failure = a.unusable
		}
		if failure != nil {
			c.Tell(c.Parent(), &messages.GroupNotReady{Group: a.group.spec.Name, Failure: failure})
		}
		return
	}
	for _, owned := range a.queues {
		if !owned.holdsUp(a.group.spec) {
			continue
		}
		if owned.obstacle != nil {
			c.Tell(c.Parent(), &messages.GroupNotReady{Group: a.group.spec.Name, Failure: owned.obstacle})
		}
		return
	}
	a.ready = true
	c.Tell(c.Parent(), &messages.GroupReady{Group: a.group.spec.Name})
}
