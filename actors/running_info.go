package actors

import (
	"strconv"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// runningInfo tells everything about the group that tools show (protocol.md 3.9); what the client has to say beyond it is
// left to the caller.
func (g *groupContext) runningInfo(now time.Time) *messages.RunningInfo {
	info := &messages.RunningInfo{
		Group: g.subscriptions().data, Orderly: g.spec.Order != nil, Workers: int32(g.pool.Workers()),
		Settings: g.settings(), Queues: g.facts(now).GetQueues(),
	}
	info.Settings["consumeThreadMin"] = strconv.Itoa(g.pool.Workers())
	info.Settings["consumeThreadMax"] = strconv.Itoa(g.pool.Workers())
	for _, sub := range info.GetGroup().GetSubscriptions() {
		topic := sub.GetTopic()
		info.Rates = append(info.Rates, g.status.ratesOf(topic).facts(topic, g.pool.Mean(g.pool.Lane(topic))))
	}
	return info
}

// offsetsIn gives where the group stands in its queues of a topic.
func (g *groupContext) offsetsIn(topic string) *messages.OffsetsReply {
	g.status.mu.Lock()
	defer g.status.mu.Unlock()
	out := &messages.OffsetsReply{}
	for _, q := range g.status.queues {
		// A queue whose start is still looked for has no offset yet.
		if q.key.Topic == topic && q.status.window.Load() != nil {
			out.Offsets = append(out.Offsets, &messages.QueueOffset{Queue: q.queue, Offset: q.status.committed.Load()})
		}
	}
	return out
}

// settings are the group's options by their Java names, as DefaultMQPushConsumer's fields (protocol.md 5.2).
func (g *groupContext) settings() map[string]string {
	s := g.spec
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	batch := 1
	for _, sub := range g.subscriptions().specs {
		batch = max(batch, sub.BatchMax)
	}
	out := map[string]string{
		"consumerGroup":                s.Name,
		"allocateMessageQueueStrategy": s.Allocate.Name(),
		"consumeConcurrentlyMaxSpan":   number(s.Limits.Span),
		"consumeMessageBatchMaxSize":   strconv.Itoa(batch),
		"consumeTimeout":               number(int64(s.HandlerTimeout / time.Minute)),
		"maxReconsumeTimes":            number(int64(s.MaxReconsumes)),
		"pullBatchSize":                number(int64(s.PullBatch)),
		"pullBatchSizeInBytes":         number(int64(s.PullBytes)),
		"pullThresholdForQueue":        number(s.Limits.Messages),
		"pullThresholdSizeForQueue":    number(s.Limits.Bytes >> 20),
	}
	if s.Order != nil {
		out["suspendCurrentQueueTimeMillis"] = number(s.Order.Suspend.Milliseconds())
	}
	return out
}
