package embedded

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// send answers SEND_MESSAGE (10), SEND_MESSAGE_V2 (310) and SEND_BATCH_MESSAGE (320). Source: protocol.md 7.7.
func (i *incarnation) send(c *connection, cmd *wire.Command) *wire.Command {
	answer := i.sendAnswer(c, cmd)
	answer.Ext.Set(messages.PropertyRegion, defaultRegion)
	answer.Ext.Set(messages.PropertyTraceOn, "true")
	return answer
}

func (i *incarnation) sendAnswer(c *connection, cmd *wire.Command) *wire.Command {
	var h wire.SendHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	if perm, _ := i.b.permission(); perm&wire.PermWrite == 0 {
		return refuse(wire.NoPermission, fmt.Sprintf("the broker[%s] sending message is forbidden", i.b.Addr()))
	}
	t, refusal := i.sendTopic(&h)
	if refusal != nil {
		return refusal
	}
	if h.QueueID >= max(t.readQueues, t.writeQueues) {
		return refuse(wire.InvalidParameter, fmt.Sprintf("request queueId[%d] is illegal, %s Producer: %s", h.QueueID, t.text(), c.address()))
	}
	queue := h.QueueID
	if queue < 0 {
		queue = pickQueue(t)
	}
	if cmd.Code == int32(wire.SendBatchMessage) || h.Batch {
		return i.sendBatch(c, &h, t.name, queue, cmd.Body)
	}
	m := &messages.Message{
		Body: cmd.Body, RawProperties: []byte(h.Properties), Flag: h.Flag, SysFlag: h.SysFlag,
		BornTimestamp: h.BornTimestamp, BornHost: c.host(), ReconsumeTimes: h.ReconsumeTimes,
	}
	if refusal := i.unsupportedMessage(m); refusal != nil {
		return refusal
	}
	level := m.DelayLevel()
	topic := t.name
	if group, retry := strings.CutPrefix(topic, retryPrefix); retry {
		dlq, refusal := i.exhausted(group, &h, cmd)
		if refusal != nil {
			return refusal
		}
		if dlq != nil {
			topic, queue, level = dlq.name, pickQueue(dlq), 0
			m.SetProperty(messages.PropertyDelay, "-1")
		}
	}
	half := isHalf(m, level)
	if half && i.b.cfg.NoTransactions {
		return refuse(wire.NoPermission, fmt.Sprintf("the broker[%s] sending transaction message is forbidden", i.b.ip()))
	}
	i.b.stamp(m)
	place := queueID{topic, queue}
	if half {
		place = prepare(m, place)
	}
	d, refusal := i.take(m, place.topic, place.id, level)
	if refusal != nil {
		return refusal
	}
	at, err := i.b.put([]draft{d})
	if err != nil {
		return refuse(wire.ServiceNotAvailable, err.Error())
	}
	return i.sent(i.b.offsetID(at[0].physical), queue, at[0].queueOffset, m.Property(messages.PropertyUniqueKey))
}

// unsupportedMessage refuses what this broker cannot keep its word on: delivery at a time instead of a delay level. A real
// broker that has it switched off answers alike.
func (i *incarnation) unsupportedMessage(m *messages.Message) *wire.Command {
	for _, name := range []string{messages.PropertyTimerDelaySec, messages.PropertyTimerDelayMs, messages.PropertyTimerDeliverMs} {
		if m.Property(name) != "" {
			return refuse(wire.MessageIllegal, "timer messages are not enabled, timerWheelEnable is false")
		}
	}
	return nil
}

// sendTopic finds or makes the topic of a send.
func (i *incarnation) sendTopic(h *wire.SendHeader) (*topicConfig, *wire.Command) {
	if wrong := checkTopicName(h.Topic); wrong != "" {
		return nil, refuse(wire.SystemError, wrong)
	}
	if refusesSends(h.Topic) {
		return nil, refuse(wire.NoPermission, fmt.Sprintf("Sending message to topic[%s] is forbidden.", h.Topic))
	}
	t := i.b.topics.get(h.Topic)
	if t == nil {
		t = i.makeTopic(h)
	}
	if t == nil {
		return nil, refuse(wire.TopicNotExist, fmt.Sprintf("topic[%s] not exist, apply first please!%s", h.Topic, faq))
	}
	if !t.writable() {
		return nil, refuse(wire.NoPermission, fmt.Sprintf("the topic[%s] sending message is forbidden", h.Topic))
	}
	return t, nil
}

// makeTopic creates a topic on its first message: after the default topic, if that passes its settings on, or as a retry
// topic. Nil if it must not.
func (i *incarnation) makeTopic(h *wire.SendHeader) *topicConfig {
	if strings.HasPrefix(h.Topic, retryPrefix) {
		return i.b.ensureTopic(queueTopic(h.Topic, 1))
	}
	model := i.b.topics.get(h.DefaultTopic)
	if model == nil || model.perm&wire.PermInherit == 0 {
		return nil
	}
	queues := max(0, min(h.DefaultQueues, model.writeQueues))
	return i.b.ensureTopic(&topicConfig{name: h.Topic, readQueues: queues, writeQueues: queues, perm: model.perm &^ wire.PermInherit})
}

// exhausted gives the dead letter topic if a message sent to a retry topic has used up its attempts, or if the group
// consumes in order: then the client has already repeated it.
func (i *incarnation) exhausted(group string, h *wire.SendHeader, cmd *wire.Command) (*topicConfig, *wire.Command) {
	config := i.b.groups.find(group)
	if config == nil {
		return nil, refuse(wire.SubscriptionGroupNotExist, fmt.Sprintf("subscription group not exist, %s%s", group, faq))
	}
	limit := config.RetryMaxTimes
	if cmd.Ext.Has("l") || cmd.Ext.Has("maxReconsumeTimes") {
		limit = h.MaxReconsumeTimes
	}
	if h.ReconsumeTimes <= limit && !i.locks.anyHeld(group) {
		return nil, nil
	}
	return i.b.ensureTopic(queueTopic(dlqPrefix+group, 1)), nil
}

// take checks a producer's message and encodes it.
func (i *incarnation) take(m *messages.Message, topic string, queue int32, level int) (draft, *wire.Command) {
	if len(m.Body) > i.b.cfg.MaxMessageBytes {
		return draft{}, illegalMessage(i.b.cfg.MaxMessageBytes)
	}
	d, err := i.b.draftOf(m, topic, queue, level)
	if err != nil {
		return draft{}, illegalMessage(i.b.cfg.MaxMessageBytes)
	}
	return d, nil
}

func illegalMessage(limit int) *wire.Command {
	return refuse(wire.MessageIllegal, fmt.Sprintf(
		"the message is illegal, maybe msg body or properties length not matched. msg body length limit %dB, msg properties length limit 32KB.", limit))
}

// stamp adds the properties that a broker adds to every message of a producer, and takes out what is not the producer's.
func (b *Broker) stamp(m *messages.Message) {
	if m.Property(messages.PropertyUniqueKey) == "" {
		m.SetProperty(messages.PropertyUniqueKey, b.ids.Next())
	}
	b.mark(m)
}

// mark is stamp without the unique id: a batch whose producer gave it none leaves its messages their own.
func (b *Broker) mark(m *messages.Message) {
	m.SetProperty(messages.PropertyPopCheckpoint, "")
	m.SetProperty(messages.PropertyRegion, defaultRegion)
	m.SetProperty(messages.PropertyTraceOn, "true")
	m.SetProperty(messages.PropertyCluster, b.cfg.ClusterName)
}

// sendBatch stores the messages of a batch one after the other in one queue. As a real broker does, it writes the batch's
// own properties behind those of each message, so that all of them are known by the batch's unique id.
func (i *incarnation) sendBatch(c *connection, h *wire.SendHeader, topic string, queue int32, body []byte) *wire.Command {
	if strings.HasPrefix(topic, retryPrefix) {
		return refuse(wire.MessageIllegal, "batch request does not support retry group "+topic)
	}
	n, err := wire.CountBatch(body)
	if err != nil || n == 0 {
		return illegalMessage(i.b.cfg.MaxMessageBytes)
	}
	outer := &messages.Message{RawProperties: []byte(h.Properties)}
	i.b.mark(outer)
	drafts := make([]draft, 0, n)
	for part := range wire.Batch(body) {
		m := &messages.Message{
			Body: part.Body, RawProperties: joinProperties(part.Properties, outer.RawProperties), Flag: part.Flag, SysFlag: h.SysFlag,
			BornTimestamp: h.BornTimestamp, BornHost: c.host(), ReconsumeTimes: h.ReconsumeTimes,
		}
		d, refusal := i.take(m, topic, queue, 0)
		if refusal != nil {
			return refusal
		}
		drafts = append(drafts, d)
	}
	at, err := i.b.put(drafts)
	if err != nil {
		return refuse(wire.ServiceNotAvailable, err.Error())
	}
	ids := make([]string, len(at))
	for k := range at {
		ids[k] = i.b.offsetID(at[k].physical)
	}
	return i.sent(strings.Join(ids, ","), queue, at[0].queueOffset, outer.Property(messages.PropertyUniqueKey))
}

// joinProperties writes one property text behind another.
func joinProperties(a, b []byte) []byte {
	out := make([]byte, 0, len(a)+1+len(b))
	out = append(out, a...)
	if len(out) > 0 && out[len(out)-1] != '\x02' {
		out = append(out, '\x02')
	}
	return append(out, b...)
}

func (i *incarnation) sent(id string, queue int32, offset int64, unique string) *wire.Command {
	answer := accept()
	h := wire.SendResponseHeader{MessageID: id, QueueID: queue, QueueOffset: offset, TransactionID: unique}
	h.AppendTo(&answer.Ext)
	return answer
}

// host is the client's address as stored messages carry it.
func (c *connection) host() []byte {
	ap, err := netip.ParseAddrPort(c.address())
	if err != nil {
		ap = hostOf(c.address())
	}
	return messages.HostBytes(ap)
}
