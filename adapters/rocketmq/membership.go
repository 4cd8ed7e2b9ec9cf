package rocketmq

import (
	"cmp"
	"context"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// Heartbeat announces everything the client does to one broker (HEART_BEAT, 34).
func (l *link) Heartbeat(ctx context.Context, address string, h *messages.Heartbeat) error {
	body := heartbeatData(h, l.clientID)
	cmd := newRequest(wire.HeartBeat, nil, body.Encode())
	_, err := l.ask(ctx, l.timeouts.heartbeat, target{address: address}, cmd)
	return err
}

// heartbeatData gives a heartbeat in the words of the wire.
func heartbeatData(h *messages.Heartbeat, clientID string) *wire.HeartbeatData {
	data := &wire.HeartbeatData{ClientID: cmp.Or(h.GetClientId(), clientID)}
	for _, g := range h.GetGroups() {
		data.Consumers = append(data.Consumers, consumerData(g))
	}
	for _, g := range h.GetProducerGroups() {
		data.Producers = append(data.Producers, wire.ProducerData{Group: g})
	}
	return data
}

// consumerData gives a group in the words of the wire.
func consumerData(g *messages.GroupData) wire.ConsumerData {
	c := wire.ConsumerData{
		Group:        g.GetGroup(),
		ConsumeType:  wire.ConsumePassively,
		MessageModel: wire.Clustering,
		ConsumeFrom:  wire.FromLastOffset,
	}
	if g.GetActive() {
		c.ConsumeType = wire.ConsumeActively
	}
	if g.GetModel() == messages.MessageModel_MESSAGE_MODEL_BROADCASTING {
		c.MessageModel = wire.Broadcasting
	}
	switch g.GetConsumeFrom() {
	case messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET:
		c.ConsumeFrom = wire.FromFirstOffset
	case messages.ConsumeFrom_CONSUME_FROM_TIMESTAMP:
		c.ConsumeFrom = wire.FromTimestamp
	default: // the last offset, as it stands
	}
	for _, s := range g.GetSubscriptions() {
		c.Subscriptions = append(c.Subscriptions, subscriptionData(s))
	}
	return c
}

// subscriptionData gives a subscription in the words of the wire.
func subscriptionData(s *messages.Subscription) wire.SubscriptionData {
	d := wire.SubscriptionData{
		Topic:          s.GetTopic(),
		SubString:      cmp.Or(s.GetExpression(), "*"),
		Tags:           s.GetTags(),
		SubVersion:     s.GetVersion(),
		ExpressionType: expressionType(s.GetKind()),
	}
	for _, tag := range s.GetTags() {
		d.Codes = append(d.Codes, wire.HashCode(tag))
	}
	return d
}

func expressionType(k messages.FilterKind) string {
	if k == messages.FilterKind_FILTER_KIND_SQL92 {
		return wire.ExpressionSQL92
	}
	return wire.ExpressionTag
}

// Unregister takes a consumer group, or a producer group, of this client off one broker (UNREGISTER_CLIENT, 35).
func (l *link) Unregister(ctx context.Context, address, consumerGroup, producerGroup string) error {
	cmd := newRequest(wire.UnregisterClient, &wire.UnregisterHeader{
		ClientID: l.clientID, ConsumerGroup: consumerGroup, ProducerGroup: producerGroup,
	}, nil)
	_, err := l.ask(ctx, l.timeouts.leave, target{address: address}, cmd)
	return err
}

// CheckSubscription asks a broker whether it takes the filter of a subscription (CHECK_CLIENT_CONFIG, 46).
func (l *link) CheckSubscription(ctx context.Context, address, group string, s *messages.Subscription) error {
	body := wire.CheckClient{ClientID: l.clientID, Group: group, Subscription: subscriptionData(s)}
	_, err := l.ask(ctx, l.timeouts.members, target{address: address}, newRequest(wire.CheckClientConfig, nil, body.Encode()))
	return err
}

// Connections asks who is in a group and what it subscribes to (GET_CONSUMER_CONNECTION_LIST, 203).
func (l *link) Connections(ctx context.Context, address, group string) (*messages.GroupConnections, error) {
	cmd := newRequest(wire.GetConsumerConnectionList, &wire.GroupHeader{Group: group}, nil)
	t := target{address: address}
	answer, err := l.ask(ctx, l.timeouts.members, t, cmd)
	if err != nil {
		return nil, err
	}
	list, err := wire.DecodeConsumerConnection(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	out := &messages.GroupConnections{}
	for _, c := range list.Connections {
		out.Members = append(out.Members, &messages.GroupMember{ClientId: c.ClientID, Address: c.ClientAddr, Language: c.Language})
	}
	for _, s := range list.Subscriptions {
		out.Subscriptions = append(out.Subscriptions, subscriptionOf(s))
	}
	return out, nil
}

// SubscriptionsOf asks a member what it subscribes to, of all that it tells about itself (GET_CONSUMER_RUNNING_INFO, 307).
func (l *link) SubscriptionsOf(ctx context.Context, address, group, client string) ([]*messages.Subscription, error) {
	cmd := newRequest(wire.GetConsumerRunningInfo, &wire.RunningInfoHeader{Group: group, ClientID: client}, nil)
	t := target{address: address}
	answer, err := l.ask(ctx, l.timeouts.members, t, cmd)
	if err != nil {
		return nil, err
	}
	info, err := wire.DecodeRunningInfo(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	out := make([]*messages.Subscription, len(info.Subscriptions))
	for i, s := range info.Subscriptions {
		out[i] = subscriptionOf(s)
	}
	return out, nil
}

// subscriptionOf is a subscription that was told in the words of the wire.
func subscriptionOf(d wire.SubscriptionData) *messages.Subscription {
	s := &messages.Subscription{
		Topic: d.Topic, Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: d.SubString, Tags: d.Tags, Version: d.SubVersion,
	}
	if d.ExpressionType == wire.ExpressionSQL92 {
		s.Kind, s.Tags = messages.FilterKind_FILTER_KIND_SQL92, nil
	}
	return s
}

// Members lists the client ids of a group (GET_CONSUMER_LIST_BY_GROUP, 38). A broker that knows no member says SYSTEM_ERROR.
func (l *link) Members(ctx context.Context, address, group string) ([]string, error) {
	cmd := newRequest(wire.GetConsumerListByGroup, &wire.GroupHeader{Group: group}, nil)
	t := target{address: address}
	answer, err := l.ask(ctx, l.timeouts.members, t, cmd)
	if err != nil {
		return nil, err
	}
	list, err := wire.DecodeConsumerList(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	return list.IDs, nil
}
