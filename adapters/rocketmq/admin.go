package rocketmq

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var _ actors.AdminPort = (*link)(nil)

// adminTimeout bounds one request of an administrator (mqadmin waits 5 s).
const adminTimeout = 5 * time.Second

// askNames asks the name servers in turn until one answers.
func (l *link) askNames(ctx context.Context, cmd func() *wire.Command) (answer *wire.Command, t target, err error) {
	if l.lookup != nil {
		if err := l.lookup.ensure(ctx); err != nil {
			return nil, t, err
		}
	}
	for _, address := range l.servers.turn() {
		t = target{address: address}
		if answer, err = l.ask(ctx, adminTimeout, t, cmd()); err == nil {
			l.servers.answered(address)
			return answer, t, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, t, err
}

// Topics lists every topic that a name server knows (GET_ALL_TOPIC_LIST_FROM_NAMESERVER, 206).
func (l *link) Topics(ctx context.Context) ([]string, error) {
	cmd := func() *wire.Command { return newRequest(wire.GetAllTopicListFromNameServer, nil, nil) }
	answer, t, err := l.askNames(ctx, cmd)
	if err != nil {
		return nil, err
	}
	list, err := wire.DecodeTopicList(answer.Body)
	if err != nil {
		return nil, malformed(cmd(), t, err)
	}
	slices.Sort(list.Topics)
	return list.Topics, nil
}

// Brokers lists every broker that a name server knows (GET_BROKER_CLUSTER_INFO, 106).
func (l *link) Brokers(ctx context.Context) ([]*messages.BrokerAddresses, error) {
	cmd := func() *wire.Command { return newRequest(wire.GetBrokerClusterInfo, nil, nil) }
	answer, t, err := l.askNames(ctx, cmd)
	if err != nil {
		return nil, err
	}
	info, err := wire.DecodeClusterInfo(answer.Body)
	if err != nil {
		return nil, malformed(cmd(), t, err)
	}
	var out []*messages.BrokerAddresses
	for _, name := range slices.Sorted(maps.Keys(info.Brokers)) {
		b := info.Brokers[name]
		out = append(out, &messages.BrokerAddresses{Broker: name, Cluster: b.Cluster, Addresses: b.Addresses})
	}
	return out, nil
}

// tell makes a request of which only the success matters.
func (l *link) tell(ctx context.Context, address string, cmd *wire.Command) error {
	_, err := l.ask(ctx, adminTimeout, target{address: address}, cmd)
	return err
}

// CreateTopic makes a topic at one broker, or changes it (UPDATE_AND_CREATE_TOPIC, 17).
func (l *link) CreateTopic(ctx context.Context, address string, t *messages.TopicConfig) error {
	return l.tell(ctx, address, newRequest(wire.UpdateAndCreateTopic, &wire.CreateTopicHeader{
		Topic: t.GetTopic(), DefaultTopic: defaultTopic, ReadQueues: t.GetReadQueues(), WriteQueues: t.GetWriteQueues(), Perm: t.GetPerm(),
		FilterType: wire.SingleTag,
	}, nil))
}

// DeleteTopic deletes a topic with its messages at one broker (DELETE_TOPIC_IN_BROKER, 215).
func (l *link) DeleteTopic(ctx context.Context, address, topic string) error {
	return l.tell(ctx, address, newRequest(wire.DeleteTopicInBroker, &wire.TopicHeader{Topic: topic}, nil))
}

// ForgetTopic takes a topic off every name server (DELETE_TOPIC_IN_NAMESRV, 216).
func (l *link) ForgetTopic(ctx context.Context, topic string) error {
	if l.lookup != nil {
		if err := l.lookup.ensure(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, address := range l.servers.list() {
		errs = append(errs, l.tell(ctx, address, newRequest(wire.DeleteTopicInNameServer, &wire.TopicHeader{Topic: topic}, nil)))
	}
	return errors.Join(errs...)
}

// TopicStats tells what one broker has of a topic (GET_TOPIC_STATS_INFO, 202).
func (l *link) TopicStats(ctx context.Context, address, topic string) ([]*messages.QueueStats, error) {
	cmd, t := newRequest(wire.GetTopicStatsInfo, &wire.TopicHeader{Topic: topic}, nil), target{address: address}
	answer, err := l.ask(ctx, adminTimeout, t, cmd)
	if err != nil {
		return nil, err
	}
	stats, err := wire.DecodeTopicStats(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	var out []*messages.QueueStats
	for _, q := range slices.SortedFunc(maps.Keys(stats.Queues), wire.MessageQueue.Compare) {
		s := stats.Queues[q]
		out = append(out, &messages.QueueStats{Queue: q.Key().Queue(), MinOffset: s.MinOffset, MaxOffset: s.MaxOffset, LastStoredAt: s.LastUpdate})
	}
	return out, nil
}

// Consumers lists the groups that consume a topic at one broker (QUERY_TOPIC_CONSUME_BY_WHO, 300).
func (l *link) Consumers(ctx context.Context, address, topic string) ([]string, error) {
	cmd, t := newRequest(wire.QueryTopicConsumeByWho, &wire.TopicHeader{Topic: topic}, nil), target{address: address}
	answer, err := l.ask(ctx, adminTimeout, t, cmd)
	if err != nil {
		return nil, err
	}
	list, err := wire.DecodeGroupList(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	return list.Groups, nil
}

// Groups lists the groups that one broker knows (GET_ALL_SUBSCRIPTIONGROUP_CONFIG, 201).
func (l *link) Groups(ctx context.Context, address string) ([]*messages.GroupConfig, error) {
	cmd, t := newRequest(wire.GetAllSubscriptionGroupConfig, nil, nil), target{address: address}
	answer, err := l.ask(ctx, adminTimeout, t, cmd)
	if err != nil {
		return nil, err
	}
	table, err := wire.DecodeSubscriptionGroupTable(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	var out []*messages.GroupConfig
	for _, name := range slices.Sorted(maps.Keys(table.Groups)) {
		g := table.Groups[name]
		out = append(out, &messages.GroupConfig{
			Group: name, Consume: g.ConsumeEnable, Broadcast: g.ConsumeBroadcast, RetryQueues: g.RetryQueues, MaxRetries: g.RetryMaxTimes,
		})
	}
	return out, nil
}

// CreateGroup makes a group at one broker, or changes it (UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, 200).
func (l *link) CreateGroup(ctx context.Context, address string, g *messages.GroupConfig) error {
	body := wire.NewSubscriptionGroup(g.GetGroup())
	body.ConsumeEnable, body.ConsumeBroadcast = g.GetConsume(), g.GetBroadcast()
	body.RetryQueues, body.RetryMaxTimes = g.GetRetryQueues(), g.GetMaxRetries()
	return l.tell(ctx, address, newRequest(wire.UpdateAndCreateSubscriptionGroup, nil, body.Encode()))
}

// DeleteGroup deletes a group at one broker with its offsets (DELETE_SUBSCRIPTIONGROUP, 207).
func (l *link) DeleteGroup(ctx context.Context, address, group string) error {
	return l.tell(ctx, address, newRequest(wire.DeleteSubscriptionGroup, &wire.DeleteGroupHeader{Group: group, CleanOffset: true}, nil))
}

// ConsumeStats tells where a group stands at one broker (GET_CONSUME_STATS, 208).
func (l *link) ConsumeStats(ctx context.Context, address, group, topic string) ([]*messages.QueueProgress, error) {
	cmd, t := newRequest(wire.GetConsumeStats, &wire.ConsumeStatsHeader{Group: group, Topic: topic}, nil), target{address: address}
	answer, err := l.ask(ctx, adminTimeout, t, cmd)
	if err != nil {
		return nil, err
	}
	stats, err := wire.DecodeConsumeStats(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	var out []*messages.QueueProgress
	for _, q := range slices.SortedFunc(maps.Keys(stats.Queues), wire.MessageQueue.Compare) {
		s := stats.Queues[q]
		out = append(out, &messages.QueueProgress{
			Queue: q.Key().Queue(), MaxOffset: s.BrokerOffset, CommittedOffset: s.ConsumerOffset, LastConsumedAt: s.LastTimestamp,
		})
	}
	return out, nil
}

// KeepsResets looks into a broker's configuration (GET_BROKER_CONFIG, 26). Brokers before 5.2 do not have the setting.
func (l *link) KeepsResets(ctx context.Context, address string) (bool, error) {
	answer, err := l.ask(ctx, adminTimeout, target{address: address}, newRequest(wire.GetBrokerConfig, nil, nil))
	if err != nil {
		return false, err
	}
	return wire.DecodeProperties(answer.Body)["useServerSideResetOffset"] == "true", nil
}

// ResetOffsets moves a group in a topic at one broker to a time (INVOKE_BROKER_TO_RESET_OFFSET, 222).
func (l *link) ResetOffsets(ctx context.Context, address, group, topic string, at time.Time) ([]*messages.QueueOffset, error) {
	h := &wire.ResetOffsetHeader{Topic: topic, Group: group, Timestamp: -1, Force: true, QueueID: -1, Offset: -1}
	if !at.IsZero() {
		h.Timestamp = max(at.UnixMilli(), 0)
	}
	cmd, t := newRequest(wire.InvokeBrokerToResetOffset, h, nil), target{address: address}
	answer, err := l.ask(ctx, adminTimeout, t, cmd)
	if err != nil {
		return nil, err
	}
	table, err := wire.DecodeResetOffset(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	var out []*messages.QueueOffset
	for _, q := range slices.SortedFunc(maps.Keys(table.Offsets), wire.MessageQueue.Compare) {
		out = append(out, &messages.QueueOffset{Queue: q.Key().Queue(), Offset: table.Offsets[q]})
	}
	return out, nil
}

// ResetOffset moves a group in one queue to an offset (222). Brokers before 5.2 would not see queue and offset.
func (l *link) ResetOffset(ctx context.Context, address, group string, q *messages.Queue, offset int64) error {
	return l.tell(ctx, address, newRequest(wire.InvokeBrokerToResetOffset, &wire.ResetOffsetHeader{
		Topic: q.GetTopic(), Group: group, Timestamp: -1, Force: true, QueueID: q.GetId(), Offset: offset,
	}, nil))
}

// FindMessages looks for messages by key at one broker (QUERY_MESSAGE, 12).
func (l *link) FindMessages(ctx context.Context, address, broker string, query *messages.MessageQuery) ([]messages.Message, error) {
	cmd := newRequest(wire.QueryMessage, &wire.QueryMessageHeader{
		Topic: query.GetTopic(), Key: query.GetKey(), MaxMessages: query.GetMax(), Begin: query.GetFrom(), End: query.GetTo(), Unique: query.GetUnique(),
	}, nil)
	t := target{address: address, broker: broker}
	answer, err := l.call(ctx, adminTimeout, address, cmd)
	if err != nil {
		return nil, err
	}
	switch wire.ResponseCode(answer.Code) {
	case wire.Success:
		return decodeFound(cmd, answer, t, query.GetTopic())
	case wire.QueryNotFound:
		return nil, nil
	default:
		return nil, refusal(cmd, answer, t)
	}
}

// MessageAt reads the message at a place in a broker's commit log (VIEW_MESSAGE_BY_ID, 33).
func (l *link) MessageAt(ctx context.Context, address, broker string, offset int64) (*messages.Message, error) {
	cmd, t := newRequest(wire.ViewMessageByID, &wire.ViewMessageHeader{Offset: offset}, nil), target{address: address, broker: broker}
	answer, err := l.ask(ctx, adminTimeout, t, cmd)
	if err != nil {
		return nil, err
	}
	found, err := decodeFound(cmd, answer, t, "")
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// decodeFound reads the records of an answer, which may be of several queues.
func decodeFound(cmd, answer *wire.Command, t target, topic string) ([]messages.Message, error) {
	slab, _, err := wire.DecodeMessages(nil, answer.Body, &wire.DecodeOptions{Topic: topic, Broker: t.broker, OwnQueueID: true})
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	return slab, nil
}
