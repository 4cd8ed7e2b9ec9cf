package wire

import (
	"maps"
	"slices"
)

// ResetOffset is the body of RESET_CONSUMER_CLIENT_OFFSET (220) and of the answer to INVOKE_BROKER_TO_RESET_OFFSET (222): the
// offsets to continue at.
type ResetOffset struct{ Offsets map[MessageQueue]int64 }

func (b *ResetOffset) json(j *jsonCodec) {
	if !j.field("offsetTable") {
		return
	}
	if j.r == nil || j.r.peek() != '[' {
		queueKeyed(j, &b.Offsets, j.int64Value)
		return
	}
	// What brokers send to C++ clients: a list of queues with offsets.
	var list []queueOffset
	each(j, &list, func(q *queueOffset) { j.object(q) })
	b.Offsets = make(map[MessageQueue]int64, len(list))
	for _, q := range list {
		b.Offsets[q.MessageQueue] = q.offset
	}
}

type queueOffset struct {
	MessageQueue
	offset int64
}

func (q *queueOffset) json(j *jsonCodec) {
	q.MessageQueue.json(j)
	j.int64("offset", &q.offset)
}

// Encode writes strict JSON with queues as text keys, which Java reads up to 5.3; the tools of 5.5 do not.
func (b *ResetOffset) Encode() []byte { return encodeJSON(b) }

// EncodeRaw writes queues as raw object keys, the only form that Apache's Go client reads.
func (b *ResetOffset) EncodeRaw() []byte { return encodeRawJSON(b) }

// EncodeList writes the form that brokers send to C++ clients: a list of queues with offsets.
func (b *ResetOffset) EncodeList() []byte {
	list := &resetOffsetList{}
	for _, q := range slices.SortedFunc(maps.Keys(b.Offsets), MessageQueue.Compare) {
		list.queues = append(list.queues, queueOffset{MessageQueue: q, offset: b.Offsets[q]})
	}
	return encodeJSON(list)
}

type resetOffsetList struct{ queues []queueOffset }

func (l *resetOffsetList) json(j *jsonCodec) { objects(j, "offsetTable", &l.queues) }

// DecodeResetOffset reads any form of the body of 220.
func DecodeResetOffset(body []byte) (*ResetOffset, error) {
	b := &ResetOffset{}
	return b, decodeJSON("reset offset", body, b)
}

// ConsumerStatus is the body of the answers to GET_CONSUMER_STATUS_FROM_CLIENT (221), where Queues is filled, and to
// INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223), where Clients is filled.
type ConsumerStatus struct {
	Queues  map[MessageQueue]int64
	Clients map[string]map[MessageQueue]int64
}

func (b *ConsumerStatus) json(j *jsonCodec) {
	if j.field("consumerTable") {
		textKeyed(j, &b.Clients, func(m *map[MessageQueue]int64) { queueKeyed(j, m, j.int64Value) })
	}
	queueTable(j, "messageQueueTable", &b.Queues, j.int64Value)
}

// Encode writes strict JSON with queues as text keys, which Java reads up to 5.3; the tools of 5.5 do not.
func (b *ConsumerStatus) Encode() []byte { return encodeJSON(b) }

// EncodeRaw writes queues as raw object keys, as Java does.
func (b *ConsumerStatus) EncodeRaw() []byte { return encodeRawJSON(b) }

// DecodeConsumerStatus reads the body of the answers to 221 and 223.
func DecodeConsumerStatus(body []byte) (*ConsumerStatus, error) {
	b := &ConsumerStatus{}
	return b, decodeJSON("consumer status", body, b)
}

// TopicStats is the body of the answer to GET_TOPIC_STATS_INFO (202).
type TopicStats struct {
	Queues map[MessageQueue]QueueStats
	// PutTPS is the number of messages stored per second.
	PutTPS float64
}

// QueueStats is the extent of one queue.
type QueueStats struct {
	MinOffset, MaxOffset int64
	// LastUpdate is the store time of the last message, in ms.
	LastUpdate int64
}

func (q *QueueStats) json(j *jsonCodec) {
	j.int64("lastUpdateTimestamp", &q.LastUpdate)
	j.int64("maxOffset", &q.MaxOffset)
	j.int64("minOffset", &q.MinOffset)
}

func (b *TopicStats) json(j *jsonCodec) {
	objectQueueTable(j, "offsetTable", &b.Queues)
	j.float("topicPutTps", &b.PutTPS)
}

// Encode writes strict JSON with queues as text keys, which Java reads up to 5.3; the tools of 5.5 do not.
func (b *TopicStats) Encode() []byte { return encodeJSON(b) }

// EncodeRaw writes queues as raw object keys, as Java does; all its versions read that.
func (b *TopicStats) EncodeRaw() []byte { return encodeRawJSON(b) }

// DecodeTopicStats reads the body of the answer to 202.
func DecodeTopicStats(body []byte) (*TopicStats, error) {
	b := &TopicStats{}
	return b, decodeJSON("topic stats", body, b)
}

// ConsumeStats is the body of the answer to GET_CONSUME_STATS (208).
type ConsumeStats struct {
	Queues     map[MessageQueue]QueueProgress
	ConsumeTPS float64
}

// QueueProgress is where a group stands in one queue.
type QueueProgress struct {
	BrokerOffset, ConsumerOffset, PullOffset int64
	// LastTimestamp is the store time of the last consumed message, in ms.
	LastTimestamp int64
}

func (q *QueueProgress) json(j *jsonCodec) {
	j.int64("brokerOffset", &q.BrokerOffset)
	j.int64("consumerOffset", &q.ConsumerOffset)
	j.int64("lastTimestamp", &q.LastTimestamp)
	j.int64("pullOffset", &q.PullOffset)
}

func (b *ConsumeStats) json(j *jsonCodec) {
	j.float("consumeTps", &b.ConsumeTPS)
	objectQueueTable(j, "offsetTable", &b.Queues)
}

// Encode writes strict JSON with queues as text keys, which Java reads up to 5.3; the tools of 5.5 do not.
func (b *ConsumeStats) Encode() []byte { return encodeJSON(b) }

// EncodeRaw writes queues as raw object keys, as Java does; all its versions read that.
func (b *ConsumeStats) EncodeRaw() []byte { return encodeRawJSON(b) }

// DecodeConsumeStats reads the body of the answer to 208.
func DecodeConsumeStats(body []byte) (*ConsumeStats, error) {
	b := &ConsumeStats{}
	return b, decodeJSON("consume stats", body, b)
}
