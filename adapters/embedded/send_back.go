package embedded

import (
	"fmt"
	"strconv"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// sendBack answers CONSUMER_SEND_MSG_BACK (36): the message is stored again, delayed, in the group's retry topic, or at
// once in its dead letter topic. Source: protocol.md 7.8, observed.md 4.
func (i *incarnation) sendBack(cmd *wire.Command) *wire.Command {
	var h wire.SendBackHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	config := i.b.groups.find(h.Group)
	if config == nil {
		return refuse(wire.SubscriptionGroupNotExist, fmt.Sprintf("subscription group not exist, %s%s", h.Group, faq))
	}
	if perm, _ := i.b.permission(); perm&wire.PermWrite == 0 {
		return refuse(wire.NoPermission, fmt.Sprintf("the broker[%s] sending message is forbidden", i.b.Addr()))
	}
	if config.RetryQueues <= 0 {
		return accept()
	}
	target := i.b.ensureTopic(queueTopic(retryPrefix+h.Group, config.RetryQueues))
	if !target.writable() {
		return refuse(wire.NoPermission, fmt.Sprintf("the topic[%s] sending message is forbidden", target.name))
	}
	record, ok := i.b.store.record(h.Offset, 0)
	if !ok {
		return refuse(wire.SystemError, fmt.Sprintf("look message by offset failed, %d", h.Offset))
	}
	m, err := decodeRecord(record)
	if err != nil {
		return refuse(wire.SystemError, fmt.Sprintf("look message by offset failed, %d", h.Offset))
	}
	limit := config.RetryMaxTimes
	if cmd.Ext.Has("maxReconsumeTimes") {
		limit = h.MaxReconsumeTimes
	}
	if m.RetryTopic() == "" {
		m.SetProperty(messages.PropertyRetryTopic, m.Topic)
	}
	m.SetProperty(messages.PropertyWait, "false")
	level := int(h.DelayLevel)
	if m.ReconsumeTimes >= limit || level < 0 {
		target = i.b.ensureTopic(queueTopic(dlqPrefix+h.Group, 1))
		level = 0
	} else if level == 0 {
		level = 3 + int(m.ReconsumeTimes)
	}
	m.SetProperty(messages.PropertyDelay, strconv.Itoa(level))
	if m.Property(messages.PropertyOriginMessageID) == "" {
		m.SetProperty(messages.PropertyOriginMessageID, m.OffsetID())
	}
	m.ReconsumeTimes++
	d, err := i.b.draftOf(m, target.name, pickQueue(target), level)
	if err == nil {
		_, err = i.b.put([]draft{d})
	}
	if err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	return accept()
}
