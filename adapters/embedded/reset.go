package embedded

import (
	"fmt"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// resetOffset answers INVOKE_BROKER_TO_RESET_OFFSET (222). Source: protocol.md 7.9.
func (i *incarnation) resetOffset(cmd *wire.Command) *wire.Command {
	var h wire.ResetOffsetHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	t := i.b.topics.get(h.Topic)
	if t == nil {
		return refuse(wire.TopicNotExist, fmt.Sprintf("Topic %s does not exist", h.Topic))
	}
	if i.b.cfg.ClientSideReset {
		return i.resetAtMembers(h, t, cmd.Language)
	}
	if i.b.groups.get(h.Group) == nil {
		return refuse(wire.SubscriptionGroupNotExist, fmt.Sprintf("Group %s does not exist", h.Group))
	}
	if h.QueueID >= t.readQueues {
		return refuse(wire.SystemError, fmt.Sprintf("queue %d of %d", h.QueueID, t.readQueues))
	}
	return i.resetHere(h, t)
}

// resetHere is what brokers since 5.2 do by default: nothing is pushed to the members, each queue's next pull answers the
// offset.
func (i *incarnation) resetHere(h wire.ResetOffsetHeader, t *topicConfig) *wire.Command {
	body := wire.ResetOffset{Offsets: map[wire.MessageQueue]int64{}}
	for id := range t.readQueues {
		if h.QueueID >= 0 && id != h.QueueID {
			continue
		}
		offset := h.Offset
		if offset < 0 || h.QueueID < 0 {
			offset = i.offsetAt(h.Topic, id, h.Timestamp)
		} else if lo, hi := i.b.store.queue(h.Topic, id).bounds(); offset < lo || offset > hi+1 {
			return refuse(wire.SystemError, fmt.Sprintf("Target offset %d not in consume queue range [%d-%d]", offset, lo, hi))
		}
		body.Offsets[i.queueName(h.Topic, id)] = offset
	}
	for q, offset := range body.Offsets {
		i.b.offsets.reset(groupQueue{h.Group, h.Topic, q.QueueID}, offset)
	}
	return acceptBody(body.EncodeRaw())
}

// resetAtMembers is what older brokers do (Broker2Client.resetOffset): the members are told the offsets and carry them out.
// Without force offsets only go back.
func (i *incarnation) resetAtMembers(h wire.ResetOffsetHeader, t *topicConfig, tool wire.Language) *wire.Command {
	body := wire.ResetOffset{Offsets: map[wire.MessageQueue]int64{}}
	for id := range t.readQueues {
		at, known := i.b.offsets.query(groupQueue{h.Group, h.Topic, id})
		if !known {
			return refuse(wire.SystemError, fmt.Sprintf("THe consumer group <%s> not exist", h.Group))
		}
		offset := i.offsetAt(h.Topic, id, h.Timestamp)
		if !h.Force && offset > at {
			offset = at
		}
		body.Offsets[i.queueName(h.Topic, id)] = offset
	}
	members := i.members.connections(h.Group)
	if len(members) == 0 {
		return refuse(wire.ConsumerNotOnline,
			fmt.Sprintf("Consumer not online, so can not reset offset, Group: %s Topic: %s Timestamp: %d", h.Group, h.Topic, h.Timestamp))
	}
	for _, c := range members {
		push := wire.NewRequest(wire.ResetConsumerClientOffset)
		// Whether it was forced is not passed on (observed.md 12).
		(&wire.ResetOffsetHeader{Topic: h.Topic, Group: h.Group, Timestamp: h.Timestamp, QueueID: -1, Offset: -1}).AppendTo(&push.Ext)
		push.Body = body.EncodeRaw()
		if tool == wire.Cpp {
			push.Body = body.EncodeList()
		}
		push.MarkOneWay()
		_ = c.session.Send(push) // fails only for a connection that is going
	}
	return acceptBody(body.EncodeRaw())
}

// offsetAt finds where a time begins in a queue; a negative time is its end.
func (i *incarnation) offsetAt(topic string, id int32, timestamp int64) int64 {
	if timestamp < 0 {
		_, hi := i.b.store.queue(topic, id).bounds()
		return hi
	}
	return offsetByTime(i.b.store, topic, id, timestamp, false)
}
