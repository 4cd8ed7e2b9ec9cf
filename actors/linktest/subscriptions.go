package linktest

import (
	"context"
	"maps"
	"slices"

	"github.com/troupe-mq/troupe/messages"
)

// Subscribes says what a member of a group subscribes to. Clients of the fake say it themselves, in heartbeats; members that were
// merely joined answer nothing until they are given something here.
func (c *Cluster) Subscribes(group, client string, to ...*messages.Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribes(group, client, to)
}

func (c *Cluster) subscribes(group, client string, to []*messages.Subscription) {
	if c.subscriptions[group] == nil {
		c.subscriptions[group] = make(map[string][]*messages.Subscription)
	}
	c.subscriptions[group][client] = to
}

// table is what a broker takes a group to subscribe to: of each topic what has the highest version (ConsumerManager).
func (c *Cluster) table(group string) []*messages.Subscription {
	highest := make(map[string]*messages.Subscription)
	for _, id := range c.members[group] {
		for _, s := range c.subscriptions[group][id] {
			if old := highest[s.GetTopic()]; old == nil || s.GetVersion() > old.GetVersion() {
				highest[s.GetTopic()] = s
			}
		}
	}
	return slices.Collect(maps.Values(highest))
}

func (l *link) Connections(ctx context.Context, address, group string) (*messages.GroupConnections, error) {
	v, err := l.call(ctx, Call{Op: Connections, Address: address, Group: group}, func() (any, error) {
		out := &messages.GroupConnections{Subscriptions: l.cluster.table(group)}
		for _, id := range l.cluster.members[group] {
			out.Members = append(out.Members, &messages.GroupMember{ClientId: id, Language: "GO"})
		}
		if len(out.Members) == 0 {
			return nil, Refusal(206)
		}
		return out, nil
	})
	out, _ := v.(*messages.GroupConnections)
	return out, err
}

func (l *link) SubscriptionsOf(ctx context.Context, address, group, client string) ([]*messages.Subscription, error) {
	v, err := l.call(ctx, Call{Op: SubscriptionsOf, Address: address, Group: group, Request: client}, func() (any, error) {
		if l.cluster.subscriptions[group][client] == nil {
			return nil, Refusal(1)
		}
		return l.cluster.subscriptions[group][client], nil
	})
	out, _ := v.([]*messages.Subscription)
	return out, err
}
