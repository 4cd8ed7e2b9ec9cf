package troupe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// GroupProgress is where a group stands in a queue.
type GroupProgress struct {
	Queue *Queue
	// MaxOffset is the offset of the queue's next message, Committed where the group goes on.
	MaxOffset, Committed int64
	// LastConsumed is when the message before Committed was stored; zero if there is none.
	LastConsumed time.Time
}

// Lag is how many offsets are not committed.
func (p GroupProgress) Lag() int64 { return p.MaxOffset - p.Committed }

// GroupInfo describes a consumer group.
type GroupInfo struct {
	Group string
	// Config is how it is set up at the first broker that knows it; nil if none does.
	Config *messages.GroupConfig
	// Members are those that are online, Subscriptions what brokers take them to subscribe to.
	Members       []*messages.GroupMember
	Subscriptions []*messages.Subscription
	Queues        []GroupProgress
}

// Lag sums that of the queues.
func (g *GroupInfo) Lag() (sum int64) {
	for _, q := range g.Queues {
		sum += q.Lag()
	}
	return sum
}

// known tells whether any broker has anything of the group.
func (g *GroupInfo) known() bool { return g.Config != nil || len(g.Members) > 0 || len(g.Queues) > 0 }

// Groups lists the consumer groups of the cluster, sorted; without all, the cluster's own are left out.
func (a *Admin) Groups(ctx context.Context, all bool) ([]string, error) {
	servers, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	err = each(servers, func(s server) error {
		groups, err := a.port.Groups(ctx, s.address)
		for _, g := range groups {
			if (all || !isSystemGroup(g.GetGroup())) && !slices.Contains(names, g.GetGroup()) {
				names = append(names, g.GetGroup())
			}
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// DescribeGroup tells who is in a group and where it stands. Error: ErrNoGroup.
func (a *Admin) DescribeGroup(ctx context.Context, group string) (*GroupInfo, error) {
	servers, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	info := &GroupInfo{Group: group}
	err = each(servers, func(s server) error { return a.describe(ctx, s, info) })
	if err == nil && !info.known() {
		return nil, fmt.Errorf("group %s: %w", group, ErrNoGroup)
	}
	slices.SortFunc(info.Queues, func(x, y GroupProgress) int { return x.Queue.Key().Compare(y.Queue.Key()) })
	return info, err
}

func (a *Admin) describe(ctx context.Context, s server, info *GroupInfo) error {
	groups, err := a.port.Groups(ctx, s.address)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.GetGroup() == info.Group && info.Config == nil {
			info.Config = g
		}
	}
	switch here, err := a.link.Connections(ctx, s.address, info.Group); {
	case err == nil:
		for _, m := range here.GetMembers() {
			if !slices.ContainsFunc(info.Members, func(o *messages.GroupMember) bool { return o.GetClientId() == m.GetClientId() }) {
				info.Members = append(info.Members, m)
			}
		}
		if info.Subscriptions == nil {
			info.Subscriptions = here.GetSubscriptions()
		}
	case !refused(err, codeNoMemberOnline, codeSystemError, codeGroupNotExist):
		return err
	}
	progress, err := a.port.ConsumeStats(ctx, s.address, info.Group, "")
	if err != nil && !refused(err, codeGroupNotExist, codeSystemError, codeTopicNotExist, codeNotFound) {
		return err
	}
	for _, q := range progress {
		info.Queues = append(info.Queues, GroupProgress{
			Queue: q.GetQueue(), MaxOffset: q.GetMaxOffset(), Committed: q.GetCommittedOffset(), LastConsumed: timeOf(q.GetLastConsumedAt()),
		})
	}
	return nil
}

// ResetTo says where a group is to go on: ResetToFirst, ResetToLast, ResetToTime or ResetToOffset.
type ResetTo struct {
	at     time.Time
	offset int64
	kind   resetKind
}

type resetKind int

const (
	resetFirst resetKind = iota
	resetLast
	resetTime
	resetOffset
)

// ResetToFirst goes on at the oldest message.
func ResetToFirst() ResetTo { return ResetTo{kind: resetFirst, at: time.UnixMilli(0)} }

// ResetToLast goes on behind the youngest message.
func ResetToLast() ResetTo { return ResetTo{kind: resetLast} }

// ResetToTime goes on at the first message that was stored at or after a time.
func ResetToTime(at time.Time) ResetTo { return ResetTo{kind: resetTime, at: at} }

// ResetToOffset goes on at an offset, in each queue. Brokers of 4.x take that only while no member is online.
func ResetToOffset(offset int64) ResetTo { return ResetTo{kind: resetOffset, offset: offset} }

// Reset is what became of a queue.
type Reset struct {
	Queue *Queue
	// From is where the group stood, -1 if nowhere; To where it goes on.
	From, To int64
}

// ResetOffsets moves a group in a topic. Members that run go on there by themselves: their brokers tell them, or answer their next pull
// with it. Brokers before 5.2, and those with useServerSideResetOffset=false, move running members to a time, the first or the last
// message only: ErrMembersOnline for an offset. Other errors: ErrNoRoute, ErrNoGroup, *SeekError, *BrokerError, *NetworkError.
func (a *Admin) ResetOffsets(ctx context.Context, group, topic string, to ResetTo) ([]Reset, error) {
	info, err := a.DescribeGroup(ctx, group)
	if err != nil {
		return nil, err
	}
	servers, _, err := a.serving(ctx, topic)
	if err != nil {
		return nil, err
	}
	if err := mastersOnly(servers); err != nil {
		return nil, err
	}
	queues, at, err := a.readable(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make([]Reset, 0, len(queues))
	for _, q := range queues {
		r := Reset{Queue: q, From: -1}
		if offset, err := a.link.Committed(ctx, at[q.GetBroker()], group, q); err == nil {
			r.From = offset
		} else if !errors.Is(err, ErrNoOffset) {
			return nil, err
		}
		if r.To, err = a.target(ctx, at[q.GetBroker()], q, to); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	movers, err := a.movers(ctx, at, len(info.Members) > 0)
	if err != nil {
		return nil, err
	}
	for _, m := range movers {
		if m.way == throughMembers && to.kind == resetOffset {
			return nil, fmt.Errorf("broker %s moves running members to a time, first or last only: %w", m.broker, membersOnline(info))
		}
	}
	return out, a.move(ctx, movers, group, topic, to, out)
}

// target is the offset that a queue goes to.
func (a *Admin) target(ctx context.Context, addr string, q *Queue, to ResetTo) (int64, error) {
	least, err := a.link.MinOffset(ctx, addr, q)
	if err != nil {
		return 0, err
	}
	most, err := a.link.MaxOffset(ctx, addr, q)
	if err != nil {
		return 0, err
	}
	switch to.kind {
	case resetFirst:
		return least, nil
	case resetLast:
		return most, nil
	case resetTime:
		return a.link.OffsetAt(ctx, addr, q, to.at)
	default:
		if to.offset < least || to.offset > most {
			return 0, &SeekError{Queue: q, Offset: to.offset, Min: least, Max: most}
		}
		return to.offset, nil
	}
}

// resetWay is how a broker can be made to move a group.
type resetWay int

const (
	// inBroker: the broker carries it out, whether there are members or not. Commits do not count while such a reset is on its way, so
	// nothing else will do there.
	inBroker resetWay = iota
	// throughMembers: the broker tells them a time.
	throughMembers
	// byCommit: nobody is there, the offsets are stored.
	byCommit
)

// mover is a broker with its way.
type mover struct {
	server
	way resetWay
}

func (a *Admin) movers(ctx context.Context, at map[string]string, online bool) ([]mover, error) {
	var out []mover
	for _, broker := range slices.Sorted(maps.Keys(at)) {
		m := mover{server: server{broker: broker, address: at[broker]}, way: byCommit}
		keeps, err := a.port.KeepsResets(ctx, m.address)
		switch {
		case err != nil:
			return nil, fmt.Errorf("broker %s at %s: %w", m.broker, m.address, err)
		case keeps:
			m.way = inBroker
		case online:
			m.way = throughMembers
		}
		out = append(out, m)
	}
	return out, nil
}

// move has the brokers move a group.
func (a *Admin) move(ctx context.Context, movers []mover, group, topic string, to ResetTo, resets []Reset) error {
	var errs []error
	for _, m := range movers {
		var own []*Reset
		for i := range resets {
			if resets[i].Queue.GetBroker() == m.broker {
				own = append(own, &resets[i])
			}
		}
		var err error
		switch m.way {
		case inBroker:
			err = eachQueue(own, func(r *Reset) error { return a.port.ResetOffset(ctx, m.address, group, r.Queue, r.To) })
		case byCommit:
			err = eachQueue(own, func(r *Reset) error { return a.link.Commit(ctx, m.address, group, r.Queue, r.To) })
		case throughMembers:
			err = a.tellMembers(ctx, m.server, group, topic, to, own)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("broker %s at %s: %w", m.broker, m.address, err))
		}
	}
	return errors.Join(errs...)
}

// eachQueue moves one queue after the other; what fails is told with the queue.
func eachQueue(resets []*Reset, move func(*Reset) error) error {
	var errs []error
	for _, r := range resets {
		if err := move(r); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Queue.Text(), err))
		}
	}
	return errors.Join(errs...)
}

// tellMembers has a broker tell the members (Broker2Client.resetOffset). It refuses unless the group has an offset in every queue, and
// finds the new ones itself.
func (a *Admin) tellMembers(ctx context.Context, s server, group, topic string, to ResetTo, resets []*Reset) error {
	err := eachQueue(resets, func(r *Reset) error {
		if r.From > 0 {
			return nil
		}
		return a.link.Commit(ctx, s.address, group, r.Queue, r.To)
	})
	if err != nil {
		return err
	}
	moved, err := a.port.ResetOffsets(ctx, s.address, group, topic, to.at)
	for _, m := range moved {
		for _, r := range resets {
			if r.Queue.Key() == m.GetQueue().Key() {
				r.To = m.GetOffset()
			}
		}
	}
	return err
}

// CloneOffsets makes a group stand where another one stands, in the given topics, or in all of the other's if none is given. A group that
// brokers do not know is made. It must not have members: they would go on where they are. Errors: ErrNoGroup, ErrMembersOnline.
func (a *Admin) CloneOffsets(ctx context.Context, from, to string, topics ...string) ([]Reset, error) {
	source, err := a.DescribeGroup(ctx, from)
	if err != nil {
		return nil, err
	}
	target := &GroupInfo{Group: to}
	servers, err := a.changeable(ctx)
	if err != nil {
		return nil, err
	}
	at := make(map[string]string)
	err = each(servers, func(s server) error {
		at[s.broker] = s.address
		return a.describe(ctx, s, target)
	})
	if err != nil {
		return nil, err
	}
	if len(target.Members) > 0 {
		return nil, membersOnline(target)
	}
	if target.Config == nil {
		settings := source.Config
		if settings == nil {
			settings = &messages.GroupConfig{Consume: true, Broadcast: true, RetryQueues: 1, MaxRetries: DefaultMaxRetries}
		}
		err := each(servers, func(s server) error {
			return a.port.CreateGroup(ctx, s.address, &messages.GroupConfig{
				Group: to, Consume: settings.GetConsume(), Broadcast: settings.GetBroadcast(), RetryQueues: settings.GetRetryQueues(),
				MaxRetries: settings.GetMaxRetries(),
			})
		})
		if err != nil {
			return nil, err
		}
	}
	var out []*Reset
	for _, p := range source.Queues {
		topic := p.Queue.GetTopic()
		if topic == actors.RetryTopic(from) || len(topics) > 0 && !slices.Contains(topics, topic) {
			continue // what a group owes itself stays with it
		}
		r := &Reset{Queue: p.Queue, From: -1, To: p.Committed}
		for _, t := range target.Queues {
			if t.Queue.Key() == p.Queue.Key() {
				r.From = t.Committed
			}
		}
		out = append(out, r)
	}
	err = eachQueue(out, func(r *Reset) error { return a.link.Commit(ctx, at[r.Queue.GetBroker()], to, r.Queue, r.To) })
	resets := make([]Reset, len(out))
	for i, r := range out {
		resets[i] = *r
	}
	return resets, err
}

func membersOnline(g *GroupInfo) error {
	names := make([]string, 0, len(g.Members))
	for _, m := range g.Members {
		names = append(names, m.GetClientId())
	}
	return fmt.Errorf("group %s: %w: %s", g.Group, ErrMembersOnline, strings.Join(names, ", "))
}

// DeleteGroup deletes a group with its offsets and its retry topic from every broker. Its dead letters stay. Errors: ErrNoGroup,
// ErrMembersOnline.
func (a *Admin) DeleteGroup(ctx context.Context, group string) error {
	info, err := a.DescribeGroup(ctx, group)
	if err != nil {
		return err
	}
	if len(info.Members) > 0 {
		return membersOnline(info)
	}
	servers, err := a.changeable(ctx)
	if err != nil {
		return err
	}
	err = each(servers, func(s server) error {
		groups, err := a.port.Groups(ctx, s.address)
		if err != nil || !slices.ContainsFunc(groups, func(g *messages.GroupConfig) bool { return g.GetGroup() == group }) {
			return err
		}
		return a.port.DeleteGroup(ctx, s.address, group)
	})
	if err != nil {
		return err
	}
	if err := a.DeleteTopic(ctx, actors.RetryTopic(group)); err != nil && !errors.Is(err, ErrNoRoute) {
		return err
	}
	return nil
}
