package rocketmq

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// namespacedLink is a Link in a namespace: what goes out carries the wire's names, what comes in the program's. It is the one
// place where names are changed, and every verb of a Link passes through it.
type namespacedLink struct {
	namespacedAdmin
	link  actors.Link
	names *namespace
}

var _ actors.Link = (*namespacedLink)(nil)

// Route asks for the topic of the namespace.
func (l *namespacedLink) Route(ctx context.Context, topic string) (*messages.TopicRoute, error) {
	route, err := l.link.Route(ctx, l.names.wire(topic))
	if route != nil {
		route.Topic = topic
	}
	return route, l.names.fault(err)
}

// NameServers gives the addresses of the name servers.
func (l *namespacedLink) NameServers() []string { return l.link.NameServers() }

// Heartbeat announces the groups of the namespace.
func (l *namespacedLink) Heartbeat(ctx context.Context, address string, h *messages.Heartbeat) error {
	return l.names.fault(l.link.Heartbeat(ctx, address, l.names.heartbeat(h)))
}

// Unregister takes a group of the namespace off a broker.
func (l *namespacedLink) Unregister(ctx context.Context, address, consumerGroup, producerGroup string) error {
	return l.names.fault(l.link.Unregister(ctx, address, l.names.wire(consumerGroup), l.names.wire(producerGroup)))
}

// CheckSubscription asks whether a broker takes a filter for a topic of the namespace.
func (l *namespacedLink) CheckSubscription(ctx context.Context, address, group string, s *messages.Subscription) error {
	s = proto.CloneOf(s)
	s.Topic = l.names.wire(s.GetTopic())
	return l.names.fault(l.link.CheckSubscription(ctx, address, l.names.wire(group), s))
}

// Members lists the members of a group of the namespace.
func (l *namespacedLink) Members(ctx context.Context, address, group string) ([]string, error) {
	got, err := l.link.Members(ctx, address, l.names.wire(group))
	return got, l.names.fault(err)
}

// Connections asks who is in a group of the namespace.
func (l *namespacedLink) Connections(ctx context.Context, address, group string) (*messages.GroupConnections, error) {
	got, err := l.link.Connections(ctx, address, l.names.wire(group))
	l.names.subscriptions(got.GetSubscriptions())
	return got, l.names.fault(err)
}

// SubscriptionsOf asks a member of a group of the namespace what it subscribes to.
func (l *namespacedLink) SubscriptionsOf(ctx context.Context, address, group, client string) ([]*messages.Subscription, error) {
	got, err := l.link.SubscriptionsOf(ctx, address, l.names.wire(group), client)
	l.names.subscriptions(got)
	return got, l.names.fault(err)
}

// Committed reads an offset of the namespace.
func (l *namespacedLink) Committed(ctx context.Context, address, group string, q *messages.Queue) (int64, error) {
	got, err := l.link.Committed(ctx, address, l.names.wire(group), l.names.wireQueue(q))
	return got, l.names.fault(err)
}

// Commit stores an offset of the namespace.
func (l *namespacedLink) Commit(ctx context.Context, address, group string, q *messages.Queue, offset int64) error {
	return l.names.fault(l.link.Commit(ctx, address, l.names.wire(group), l.names.wireQueue(q), offset))
}

// CommitOneWay stores an offset of the namespace without waiting for an answer.
func (l *namespacedLink) CommitOneWay(ctx context.Context, address, group string, q *messages.Queue, offset int64) error {
	return l.names.fault(l.link.CommitOneWay(ctx, address, l.names.wire(group), l.names.wireQueue(q), offset))
}

// MinOffset is the lowest offset of a queue of the namespace.
func (l *namespacedLink) MinOffset(ctx context.Context, address string, q *messages.Queue) (int64, error) {
	got, err := l.link.MinOffset(ctx, address, l.names.wireQueue(q))
	return got, l.names.fault(err)
}

// MaxOffset is the next offset of a queue of the namespace.
func (l *namespacedLink) MaxOffset(ctx context.Context, address string, q *messages.Queue) (int64, error) {
	got, err := l.link.MaxOffset(ctx, address, l.names.wireQueue(q))
	return got, l.names.fault(err)
}

// OffsetAt is the first offset at or after a time in a queue of the namespace.
func (l *namespacedLink) OffsetAt(ctx context.Context, address string, q *messages.Queue, at time.Time) (int64, error) {
	got, err := l.link.OffsetAt(ctx, address, l.names.wireQueue(q), at)
	return got, l.names.fault(err)
}

// Pull pulls from a queue of the namespace.
func (l *namespacedLink) Pull(req *messages.PullRequest, done actors.PullDone) actors.PullUnderway {
	req = proto.CloneOf(req)
	req.Group, req.Queue = l.names.wire(req.GetGroup()), l.names.wireQueue(req.GetQueue())
	if s := req.GetSubscription(); s != nil {
		s.Topic = l.names.wire(s.GetTopic())
	}
	return l.link.Pull(req, actors.PullFunc(func(reply *messages.PullReply, err error) { done.Pulled(reply, l.names.fault(err)) }))
}

// Decode turns records into messages with the program's names of their topics.
func (l *namespacedLink) Decode(reply *messages.PullReply, q *messages.Queue, group string) ([]messages.Message, []actors.CorruptRecord) {
	onWire := l.names.wireQueue(q)
	slab, corrupt := l.link.Decode(reply, onWire, l.names.wire(group))
	l.names.messages(slab, onWire.GetTopic(), q.GetTopic())
	return slab, corrupt
}

// SendBack hands a message of the namespace back.
func (l *namespacedLink) SendBack(ctx context.Context, back *messages.SendBack) error {
	back = proto.CloneOf(back)
	back.Group, back.OriginTopic = l.names.wire(back.GetGroup()), l.names.wire(back.GetOriginTopic())
	return l.names.fault(l.link.SendBack(ctx, back))
}

// Send stores a message in the namespace. A batch has the namespace's property once, from where the broker gives it to each
// of its messages.
func (l *namespacedLink) Send(ctx context.Context, req *messages.SendRequest) (*messages.SendReceipt, error) {
	q := l.names.wireQueue(req.GetQueue())
	receipt, err := l.link.Send(ctx, &messages.SendRequest{
		Address: req.GetAddress(), ProducerGroup: l.names.wire(req.GetProducerGroup()), Queue: q, Body: req.GetBody(),
		Properties: l.names.properties(q.GetTopic(), req.GetProperties()), Flag: req.GetFlag(), SysFlag: req.GetSysFlag(),
		BornTimestamp: req.GetBornTimestamp(), ReconsumeTimes: req.GetReconsumeTimes(), MaxReconsumeTimes: req.GetMaxReconsumeTimes(),
		Batch: req.GetBatch(), DefaultQueues: req.GetDefaultQueues(),
	})
	if receipt.GetQueue() != nil {
		receipt.Queue.Topic = req.GetQueue().GetTopic()
	}
	return receipt, l.names.fault(err)
}

// EncodeBatch encodes several messages; they name no topic.
func (l *namespacedLink) EncodeBatch(ms []*messages.Message) ([]byte, error) {
	return l.link.EncodeBatch(ms)
}

// UniqueID makes a client-side message id.
func (l *namespacedLink) UniqueID() string { return l.link.UniqueID() }

// Lock asks for the locks of queues of the namespace.
func (l *namespacedLink) Lock(ctx context.Context, address, group string, queues []*messages.Queue) ([]*messages.Queue, error) {
	granted, err := l.link.Lock(ctx, address, l.names.wire(group), l.names.wireQueues(queues))
	if err != nil {
		return nil, l.names.fault(err)
	}
	return l.names.plainQueues(granted), nil
}

// Unlock gives the locks of queues of the namespace back.
func (l *namespacedLink) Unlock(ctx context.Context, address, group, client string, queues []*messages.Queue) error {
	return l.names.fault(l.link.Unlock(ctx, address, l.names.wire(group), client, l.names.wireQueues(queues)))
}

// Facts tells the state of every known connection.
func (l *namespacedLink) Facts() []*messages.ConnectionFacts { return l.link.Facts() }

// KeepBrokers closes connections to broker addresses that are not in the list.
func (l *namespacedLink) KeepBrokers(addresses []string) { l.link.KeepBrokers(addresses) }

// Close closes every connection.
func (l *namespacedLink) Close() error { return l.link.Close() }
