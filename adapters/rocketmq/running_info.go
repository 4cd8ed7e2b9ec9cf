package rocketmq

import (
	"maps"
	"strconv"
	"strings"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// runningInfo says in Java's words what a group does, so that Java's tools show it (protocol.md 3.9).
func runningInfo(r *messages.RunningInfo) *wire.RunningInfo {
	data := consumerData(r.GetGroup())
	info := &wire.RunningInfo{
		Properties: maps.Clone(r.GetSettings()), Subscriptions: data.Subscriptions, Queues: map[wire.MessageQueue]wire.ProcessQueueInfo{},
		Status: map[string]wire.ConsumeStatus{}, User: map[string]string{}, Stack: r.GetTree(),
	}
	if info.Properties == nil {
		info.Properties = map[string]string{}
	}
	servers := strings.Join(r.GetNameServers(), ";")
	maps.Copy(info.Properties, map[string]string{
		"PROP_NAMESERVER_ADDR":          servers + ";",
		"PROP_CONSUME_TYPE":             data.ConsumeType,
		"PROP_CLIENT_VERSION":           "V5_3_3",
		"PROP_CONSUMEORDERLY":           strconv.FormatBool(r.GetOrderly()),
		"PROP_THREADPOOL_CORE_SIZE":     strconv.Itoa(int(r.GetWorkers())),
		"PROP_CONSUMER_START_TIMESTAMP": strconv.FormatInt(r.GetStartedAt(), 10),
		"consumeFromWhere":              data.ConsumeFrom,
		"messageModel":                  data.MessageModel,
		"namesrvAddr":                   servers,
		"language":                      wire.Go.String(),
	})
	for _, q := range r.GetQueues() {
		info.Queues[wire.QueueOf(q.GetQueue().Key())] = processQueue(q, r.GetOrderly())
	}
	for _, t := range r.GetRates() {
		info.Status[t.GetTopic()] = wire.ConsumeStatus{
			PullRT: t.GetPullMillis(), PullTPS: t.GetPulledPerSecond(), ConsumeRT: t.GetConsumeMillis(),
			ConsumeOKTPS: t.GetSucceededPerSecond(), ConsumeFailedTPS: t.GetFailedPerSecond(), ConsumeFailed: t.GetFailedLastHour(),
		}
	}
	return info
}

// leaving are the phases of a queue that is being given up, as the topology names them.
var leaving = map[string]bool{"draining": true, "persisting": true, "unlocking": true, "revoked": true}

// processQueue is a queue as Java's ProcessQueue tells of itself. What is cached runs from the lowest message that is not
// settled to the last one pulled.
func processQueue(q *messages.QueueFacts, orderly bool) wire.ProcessQueueInfo {
	info := wire.ProcessQueueInfo{
		CommitOffset: q.GetCommittedOffset(), CachedCount: int32(q.GetCachedMessages()), CachedSizeMiB: int32(q.GetCachedBytes() >> 20),
		// In Java the flag is set for concurrent queues, too (observed.md 12).
		Locked: q.GetLocked() || !orderly, Dropped: leaving[q.GetPhase()],
		LastPull: q.GetLastPullAt(), LastConsume: q.GetLastConsumedAt(),
	}
	if q.GetCachedMessages() > 0 {
		info.CachedMinOffset, info.CachedMaxOffset = q.GetCommittedOffset(), q.GetNextOffset()-1
	}
	return info
}
