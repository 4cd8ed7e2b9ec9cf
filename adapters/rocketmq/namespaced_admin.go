package rocketmq

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// namespacedAdmin is what administrators do in a namespace: they see its topics and groups, and no others.
type namespacedAdmin struct {
	actors.AdminPort
	names *namespace
}

var _ actors.AdminPort = (*namespacedLink)(nil)

// ours gives the program's name of a topic or group on the wire, if it is one of the namespace's.
func (n *namespace) ours(name string) (string, bool) {
	_, rest := splitPrefix(name)
	if !strings.HasPrefix(rest, n.name+"%") {
		return "", false
	}
	return n.plain(name), true
}

// Topics lists those of the namespace.
func (a *namespacedAdmin) Topics(ctx context.Context) ([]string, error) {
	all, err := a.AdminPort.Topics(ctx)
	var out []string
	for _, topic := range all {
		if name, ok := a.names.ours(topic); ok {
			out = append(out, name)
		}
	}
	return out, a.names.fault(err)
}

// CreateTopic makes a topic of the namespace.
func (a *namespacedAdmin) CreateTopic(ctx context.Context, address string, t *messages.TopicConfig) error {
	t = proto.CloneOf(t)
	t.Topic = a.names.wire(t.GetTopic())
	return a.names.fault(a.AdminPort.CreateTopic(ctx, address, t))
}

// DeleteTopic deletes a topic of the namespace.
func (a *namespacedAdmin) DeleteTopic(ctx context.Context, address, topic string) error {
	return a.names.fault(a.AdminPort.DeleteTopic(ctx, address, a.names.wire(topic)))
}

// ForgetTopic takes a topic of the namespace off the name servers.
func (a *namespacedAdmin) ForgetTopic(ctx context.Context, topic string) error {
	return a.names.fault(a.AdminPort.ForgetTopic(ctx, a.names.wire(topic)))
}

// TopicStats tells what a broker has of a topic of the namespace.
func (a *namespacedAdmin) TopicStats(ctx context.Context, address, topic string) ([]*messages.QueueStats, error) {
	stats, err := a.AdminPort.TopicStats(ctx, address, a.names.wire(topic))
	for _, s := range stats {
		s.Queue.Topic = topic
	}
	return stats, a.names.fault(err)
}

// Consumers lists the groups of the namespace that consume a topic of it.
func (a *namespacedAdmin) Consumers(ctx context.Context, address, topic string) ([]string, error) {
	all, err := a.AdminPort.Consumers(ctx, address, a.names.wire(topic))
	var out []string
	for _, group := range all {
		if name, ok := a.names.ours(group); ok {
			out = append(out, name)
		}
	}
	return out, a.names.fault(err)
}

// Groups lists those of the namespace.
func (a *namespacedAdmin) Groups(ctx context.Context, address string) ([]*messages.GroupConfig, error) {
	all, err := a.AdminPort.Groups(ctx, address)
	var out []*messages.GroupConfig
	for _, g := range all {
		if name, ok := a.names.ours(g.GetGroup()); ok {
			g.Group = name
			out = append(out, g)
		}
	}
	return out, a.names.fault(err)
}

// CreateGroup makes a group of the namespace.
func (a *namespacedAdmin) CreateGroup(ctx context.Context, address string, g *messages.GroupConfig) error {
	g = proto.CloneOf(g)
	g.Group = a.names.wire(g.GetGroup())
	return a.names.fault(a.AdminPort.CreateGroup(ctx, address, g))
}

// DeleteGroup deletes a group of the namespace.
func (a *namespacedAdmin) DeleteGroup(ctx context.Context, address, group string) error {
	return a.names.fault(a.AdminPort.DeleteGroup(ctx, address, a.names.wire(group)))
}

// ConsumeStats tells where a group of the namespace stands.
func (a *namespacedAdmin) ConsumeStats(ctx context.Context, address, group, topic string) ([]*messages.QueueProgress, error) {
	stats, err := a.AdminPort.ConsumeStats(ctx, address, a.names.wire(group), a.names.wire(topic))
	for _, s := range stats {
		s.Queue.Topic = a.names.plain(s.Queue.GetTopic())
	}
	return stats, a.names.fault(err)
}

// ResetOffsets moves a group of the namespace.
func (a *namespacedAdmin) ResetOffsets(ctx context.Context, address, group, topic string, at time.Time) ([]*messages.QueueOffset, error) {
	offsets, err := a.AdminPort.ResetOffsets(ctx, address, a.names.wire(group), a.names.wire(topic), at)
	for _, o := range offsets {
		o.Queue.Topic = topic
	}
	return offsets, a.names.fault(err)
}

// ResetOffset moves a group of the namespace in one queue.
func (a *namespacedAdmin) ResetOffset(ctx context.Context, address, group string, q *messages.Queue, offset int64) error {
	return a.names.fault(a.AdminPort.ResetOffset(ctx, address, a.names.wire(group), a.names.wireQueue(q), offset))
}

// FindMessages looks for messages of a topic of the namespace.
func (a *namespacedAdmin) FindMessages(ctx context.Context, address, broker string, query *messages.MessageQuery) ([]messages.Message, error) {
	query = proto.CloneOf(query)
	plain := query.GetTopic()
	query.Topic = a.names.wire(plain)
	slab, err := a.AdminPort.FindMessages(ctx, address, broker, query)
	a.names.messages(slab, query.GetTopic(), plain)
	return slab, a.names.fault(err)
}

// MessageAt reads a message and gives its topic the program's name.
func (a *namespacedAdmin) MessageAt(ctx context.Context, address, broker string, offset int64) (*messages.Message, error) {
	m, err := a.AdminPort.MessageAt(ctx, address, broker, offset)
	if m != nil {
		m.Topic = a.names.plain(m.GetTopic())
	}
	return m, a.names.fault(err)
}
