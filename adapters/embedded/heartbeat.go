package embedded

import "github.com/troupe-mq/troupe/adapters/wire"

// heartbeat answers HEART_BEAT (34): groups and their retry topics are made, the connection becomes a member, members are
// told if that changed anything; the newcomer hears of itself before it gets the answer. Source: protocol.md 7.1.
func (i *incarnation) heartbeat(c *connection, cmd *wire.Command) *wire.Command {
	beat, err := wire.DecodeHeartbeat(cmd.Body)
	if err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	m := member{conn: c, client: beat.ClientID, language: cmd.Language, version: cmd.Version}
	for _, p := range beat.Producers {
		i.producers.join(p.Group, m)
	}
	// A client that sends no fingerprint always sends everything, and is always told to.
	all := beat.Fingerprint == 0
	for _, g := range beat.Consumers {
		config := i.b.groups.find(g.Group)
		if config == nil {
			continue
		}
		i.b.ensureTopic(queueTopic(retryPrefix+g.Group, max(1, config.RetryQueues)))
		j := joining{group: g.Group, consumeType: g.ConsumeType, model: g.MessageModel, consumeFrom: g.ConsumeFrom, keep: beat.WithoutSub, fingerprint: beat.Fingerprint}
		for k := range g.Subscriptions {
			j.subscriptions = append(j.subscriptions, announced(g.Subscriptions[k]))
		}
		changed, differs := i.members.join(j, m)
		if changed {
			i.notify(g.Group)
		}
		all = all || differs
	}
	answer := accept()
	h := wire.HeartbeatResponseHeader{SupportsV2: true, SubscriptionChanged: all}
	h.AppendTo(&answer.Ext)
	return answer
}

// unregister answers UNREGISTER_CLIENT (35).
func (i *incarnation) unregister(c *connection, cmd *wire.Command) *wire.Command {
	var h wire.UnregisterHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	if h.ProducerGroup != "" {
		i.producers.leave(h.ProducerGroup, c)
	}
	if h.ConsumerGroup != "" && i.members.leave(h.ConsumerGroup, c) {
		i.notify(h.ConsumerGroup)
	}
	return accept()
}

// consumerList answers GET_CONSUMER_LIST_BY_GROUP (38).
func (i *incarnation) consumerList(cmd *wire.Command) *wire.Command {
	var h wire.GroupHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	clients := i.members.clients(h.Group)
	if len(clients) == 0 {
		return refuse(wire.SystemError, "no consumer for this group, "+h.Group)
	}
	list := wire.ConsumerList{IDs: clients}
	return acceptBody(list.Encode())
}
