package embedded

import (
	"fmt"
	"strings"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// updateGroup answers UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200).
func (i *incarnation) updateGroup(cmd *wire.Command) *wire.Command {
	body, err := wire.DecodeSubscriptionGroup(cmd.Body)
	if err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	err = i.b.ConfigureGroup(body.Group, GroupConfig{
		Consume: body.ConsumeEnable, ConsumeBroadcast: body.ConsumeBroadcast, RetryQueues: body.RetryQueues,
		RetryMaxTimes: body.RetryMaxTimes, NotifyChanges: body.NotifyIDsChanged,
	})
	if err != nil {
		return refuse(wire.InvalidParameter, err.Error())
	}
	return accept()
}

// deleteGroup answers DELETE_SUBSCRIPTIONGROUP (207): one that nobody knows is as good as deleted.
func (i *incarnation) deleteGroup(cmd *wire.Command) *wire.Command {
	var h wire.DeleteGroupHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	i.b.groups.remove(h.Group)
	if h.CleanOffset {
		i.b.offsets.forgetGroup(h.Group)
	}
	return accept()
}

// groupConfigs answers GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201).
func (i *incarnation) groupConfigs() *wire.Command {
	table := wire.SubscriptionGroupTable{Groups: map[string]wire.SubscriptionGroup{}}
	for name, g := range i.b.groups.all() {
		body := wire.NewSubscriptionGroup(name)
		body.ConsumeEnable, body.ConsumeBroadcast = g.Consume, g.ConsumeBroadcast
		body.RetryQueues, body.RetryMaxTimes, body.NotifyIDsChanged = g.RetryQueues, g.RetryMaxTimes, g.NotifyChanges
		table.Groups[name] = body
	}
	return acceptBody(table.Encode())
}

// consumerConnections answers GET_CONSUMER_CONNECTION_LIST (203).
func (i *incarnation) consumerConnections(cmd *wire.Command) *wire.Command {
	var h wire.GroupHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	g, online := i.members.describe(h.Group)
	if !online {
		return refuse(wire.ConsumerNotOnline, fmt.Sprintf("the consumer group[%s] not online", h.Group))
	}
	body := wire.ConsumerConnection{
		ConsumeType: g.consumeType, MessageModel: g.model, ConsumeFrom: g.consumeFrom, Subscriptions: map[string]wire.SubscriptionData{},
	}
	for _, c := range g.order {
		m := g.members[c]
		body.Connections = append(body.Connections, wire.Connection{
			ClientID: m.client, ClientAddr: c.address(), Language: m.language.String(), Version: m.version,
		})
	}
	for topic, s := range g.subscriptions {
		body.Subscriptions[topic] = s.data
	}
	return acceptBody(body.Encode())
}

// consumeStats answers GET_CONSUME_STATS (208): where a group stands in the queues of its topics. While it has members, those that they
// do not subscribe to are left out.
func (i *incarnation) consumeStats(cmd *wire.Command) *wire.Command {
	var h wire.ConsumeStatsHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	topics := i.b.offsets.topicsOf(h.Group)
	if h.Topic != "" {
		topics = []string{h.Topic}
	}
	body := wire.ConsumeStats{Queues: map[wire.MessageQueue]wire.QueueProgress{}}
	for _, topic := range topics {
		t := i.b.topics.get(topic)
		if online, _, wanted := i.members.subscribed(h.Group, topic); t == nil || online && wanted == nil {
			continue
		}
		for id := range t.readQueues {
			_, hi := i.b.store.queue(topic, id).bounds()
			at, _ := i.b.offsets.query(groupQueue{h.Group, topic, id})
			at = max(0, at)
			q := wire.QueueProgress{BrokerOffset: hi, ConsumerOffset: at, PullOffset: at}
			if at > 0 {
				q.LastTimestamp = max(0, storeTimeAt(i.b.store, topic, id, at-1))
			}
			body.Queues[i.queueName(topic, id)] = q
		}
	}
	return acceptBody(body.EncodeRaw())
}

// checkClient answers CHECK_CLIENT_CONFIG (46): tag subscriptions are good, SQL92 needs the property filter and an expression
// that compiles.
func (i *incarnation) checkClient(cmd *wire.Command) *wire.Command {
	body, err := wire.DecodeCheckClient(cmd.Body)
	if err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	if kind := body.Subscription.ExpressionType; kind != "" && !strings.EqualFold(kind, wire.ExpressionTag) {
		if !i.b.cfg.PropertyFilter {
			return refuse(wire.SystemError, "The broker does not support consumer to filter message by "+kind)
		}
		if _, err := parseSubscription(body.Subscription.Topic, body.Subscription.SubString, kind); err != nil {
			return refuse(wire.SubscriptionParseFailed, err.Error())
		}
	}
	return accept()
}
