package embedded

import (
	"fmt"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// updateTopic answers UPDATE_AND_CREATE_TOPIC (17).
func (i *incarnation) updateTopic(cmd *wire.Command) *wire.Command {
	var h wire.CreateTopicHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	if wrong := checkTopicName(h.Topic); wrong != "" {
		return refuse(wire.InvalidParameter, wrong)
	}
	if isSystemTopic(h.Topic) {
		return refuse(wire.InvalidParameter, fmt.Sprintf("The topic[%s] is conflict with system topic.", h.Topic))
	}
	if h.ReadQueues < 0 || h.WriteQueues < 0 || h.ReadQueues > maxQueues || h.WriteQueues > maxQueues {
		return refuse(wire.InvalidParameter, fmt.Sprintf("%d read and %d write queues; 0 to %d are possible", h.ReadQueues, h.WriteQueues, maxQueues))
	}
	i.b.putTopic(&topicConfig{
		name: h.Topic, readQueues: h.ReadQueues, writeQueues: h.WriteQueues, perm: h.Perm, sysFlag: h.TopicSysFlag, order: h.Order,
	})
	return accept()
}

// deleteTopic answers DELETE_TOPIC_IN_BROKER (215).
func (i *incarnation) deleteTopic(cmd *wire.Command) *wire.Command {
	var h wire.TopicHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	if isSystemTopic(h.Topic) {
		return refuse(wire.InvalidParameter, fmt.Sprintf("The topic[%s] is conflict with system topic.", h.Topic))
	}
	i.b.DeleteTopic(h.Topic)
	return accept()
}

// topicConfig answers GET_TOPIC_CONFIG (351).
func (i *incarnation) topicConfig(cmd *wire.Command) *wire.Command {
	t, refusal := i.topicOf(cmd)
	if refusal != nil {
		return refusal
	}
	body := wire.TopicConfig{
		Topic: t.name, ReadQueues: t.readQueues, WriteQueues: t.writeQueues, Perm: t.perm, FilterType: wire.SingleTag, SysFlag: t.sysFlag, Order: t.order,
	}
	return acceptBody(body.Encode())
}

// topicStats answers GET_TOPIC_STATS_INFO (202).
func (i *incarnation) topicStats(cmd *wire.Command) *wire.Command {
	t, refusal := i.topicOf(cmd)
	if refusal != nil {
		return refusal
	}
	body := wire.TopicStats{Queues: map[wire.MessageQueue]wire.QueueStats{}}
	for id := range max(t.readQueues, t.writeQueues) {
		s := wire.QueueStats{}
		s.MinOffset, s.MaxOffset = i.b.store.queue(t.name, id).bounds()
		if s.MaxOffset > 0 {
			s.LastUpdate = max(0, storeTimeAt(i.b.store, t.name, id, s.MaxOffset-1))
		}
		body.Queues[i.queueName(t.name, id)] = s
	}
	return acceptBody(body.EncodeRaw())
}

// consumers answers QUERY_TOPIC_CONSUME_BY_WHO (300): groups that are online, then those that only have offsets.
func (i *incarnation) consumers(cmd *wire.Command) *wire.Command {
	var h wire.TopicHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	body := wire.GroupList{Groups: i.members.groupsOn(h.Topic)}
	online := map[string]bool{}
	for _, g := range body.Groups {
		online[g] = true
	}
	for _, g := range i.b.offsets.groupsOf(h.Topic) {
		if !online[g] {
			body.Groups = append(body.Groups, g)
		}
	}
	return acceptBody(body.Encode())
}

// viewMessage answers VIEW_MESSAGE_BY_ID (33) with the stored record.
func (i *incarnation) viewMessage(cmd *wire.Command) *wire.Command {
	var h wire.ViewMessageHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	record, ok := i.b.store.record(h.Offset, 0)
	if !ok {
		return refuse(wire.SystemError, fmt.Sprintf("can not find message by the offset, %d", h.Offset))
	}
	return acceptBody(record)
}

// topicOf finds the topic that a request names, or the refusal.
func (i *incarnation) topicOf(cmd *wire.Command) (*topicConfig, *wire.Command) {
	var h wire.TopicHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return nil, refuse(wire.SystemError, err.Error())
	}
	t := i.b.topics.get(h.Topic)
	if t == nil {
		return nil, refuse(wire.TopicNotExist, fmt.Sprintf("topic[%s] not exist", h.Topic))
	}
	return t, nil
}

// queueName is a queue of this broker as bodies name it.
func (i *incarnation) queueName(topic string, id int32) wire.MessageQueue {
	return wire.MessageQueue{Topic: topic, Broker: i.b.cfg.BrokerName, QueueID: id}
}
