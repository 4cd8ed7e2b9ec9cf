package troupe

import (
	"context"
	"time"

	"github.com/troupe-mq/troupe/actors/allocation"
)

// PullConfig configures a group whose program comes for its messages. Zero fields mean the default.
type PullConfig struct {
	// ManualCommit leaves it to the program to say what is finished: Batch.Done, Commit, CommitAll. Any number of goroutines may Poll
	// then. Default false (autoCommit): the next Poll finishes what the last one returned, and one goroutine polls at a time. Either
	// way what is finished is stored with Config.OffsetPersistInterval (autoCommitIntervalMillis), by Commit, and when a queue is given up.
	ManualCommit bool
	// PullBatch is how many messages a pull asks for, and with it the most that a Poll returns; brokers give at most 32 unless
	// configured otherwise. Default 32 (pullBatchSize; Java's pull consumer asks for 10), 1 to 1024.
	PullBatch int
	// MaxCached bounds the messages that wait to be polled, for one queue. Default 1000 (pullThresholdForQueue), 1 to 65535.
	MaxCached int
	// MaxCachedBytes bounds their bodies, for one queue. Default 100 MiB (pullThresholdSizeForQueue), 1 MiB to 1 GiB.
	MaxCachedBytes int64
	// MaxCachedTotal bounds the messages that wait to be polled over all queues of the group; pulls under way come on top. Default
	// 10000 (pullThresholdForAll), 1 to 10,000,000.
	MaxCachedTotal int
	// MaxSpan bounds how far what was pulled of a queue may be ahead of the oldest message that waits, in offsets. Default 2000
	// (consumeMaxSpan), 1 to 65535.
	MaxSpan int
	// ConsumeFrom is where the group starts on queues that it has no offset for. Default LastOffset (consumeFromWhere).
	ConsumeFrom ConsumeFrom
	// ConsumeTime is the time for AtTime. Default 30 min before the start (consumeTimestamp).
	ConsumeTime time.Time
	// StrictLast makes LastOffset start at the end also on a young topic, see ConcurrentConfig.
	StrictLast bool
	// UnseenFromFirst starts queues at their oldest message that came while no member was there, see ConcurrentConfig.
	UnseenFromFirst bool
	// Allocation is how queues are shared among the members. Default Averagely (allocateMessageQueueStrategy).
	Allocation Allocation
	// RevokeGrace is how long a queue that moves to another member, or is given up in a shutdown, waits for what the program has
	// polled of it to be finished. What is not is delivered again, which a BATCHES_UNFINISHED event tells. Default 5 s, at most 1 h.
	RevokeGrace time.Duration
	// OnRevoke, if set, is called when a queue is about to be given up, on a goroutine of its own, for several queues at once: finish
	// and Commit here what must not be delivered again. The queue is given up when it returns, or when its context ends, after
	// RevokeGrace or in a shutdown after Config.DrainTimeout. Nothing of the queue is polled any more by then.
	OnRevoke func(ctx context.Context, q *Queue)
	// OnAssignment, if set, is told which queues a topic has and which of them are this member's, whenever either changes
	// (MessageQueueListener, TopicMessageQueueChangeListener). Calls come one after the other, on goroutines of the group, the first before Start
	// returns. A queue that has come is polled from only when the call has returned: Seek in it to go on at an offset of the program's own.
	OnAssignment func(topic string, all, mine []*Queue)
	// HandOff is how long a queue that comes to this member waits for its former owner to finish, store and unlock it, see
	// ConcurrentConfig. Default 2 s, 10 ms to 1 min; NoHandOff to begin at once and take no locks.
	HandOff time.Duration
	// Offsets makes the group broadcast: every member gets everything and keeps its offsets here, see BroadcastConfig. Default nil: the
	// queues are shared and the cluster keeps the offsets.
	Offsets OffsetStore
	// MaxRetries is how often a message that was sent back is tried again before it goes to %DLQ%group. Default 16
	// (maxReconsumeTimes); NoRetries for none.
	MaxRetries int
	// LongPoll is how long the broker may hold a pull, also PullBlock's, when there is nothing new. Default 20 s
	// (brokerSuspendMaxTimeMillis).
	LongPoll time.Duration
	// PullTimeout is how long Pull waits for an answer. Default 10 s (consumerPullTimeoutMillis), 10 ms to 1 min.
	PullTimeout time.Duration
	// ScheduleWorkers is how many tasks of Schedule run at once. Default 20 (pullThreadNums), 1 to 1000.
	ScheduleWorkers int
}

// Defaults of PullConfig, besides those that it shares with ConcurrentConfig.
const (
	DefaultMaxCachedTotal  = 10_000
	DefaultPullLongPoll    = 20 * time.Second
	DefaultPullTimeout     = 10 * time.Second
	DefaultScheduleWorkers = 20
)

func (c PullConfig) withDefaults() PullConfig {
	c.PullBatch = or(c.PullBatch, DefaultPullBatch)
	c.MaxCached = or(c.MaxCached, DefaultMaxCached)
	c.MaxCachedBytes = or(c.MaxCachedBytes, DefaultMaxCachedBytes)
	c.MaxCachedTotal = or(c.MaxCachedTotal, DefaultMaxCachedTotal)
	c.MaxSpan = or(c.MaxSpan, DefaultMaxSpan)
	c.RevokeGrace = or(c.RevokeGrace, DefaultRevokeGrace)
	c.HandOff = or(c.HandOff, DefaultHandOff)
	c.MaxRetries = or(c.MaxRetries, DefaultMaxRetries)
	c.LongPoll = or(c.LongPoll, DefaultPullLongPoll)
	c.PullTimeout = or(c.PullTimeout, DefaultPullTimeout)
	c.ScheduleWorkers = or(c.ScheduleWorkers, DefaultScheduleWorkers)
	return c
}

func (c PullConfig) check(group string, f *faults) {
	at := func(field string) string { return "group " + group + ": PullConfig." + field }
	c.consumption().check(at, f)
	f.number(at("MaxCachedTotal"), c.MaxCachedTotal, 1, 10_000_000)
	f.number(at("MaxSpan"), c.MaxSpan, 1, 65535)
	f.number(at("MaxRetries"), c.MaxRetries, NoRetries, 1<<20)
	f.number(at("ScheduleWorkers"), c.ScheduleWorkers, 1, 1000)
	f.duration(at("PullTimeout"), c.PullTimeout, 10*time.Millisecond, time.Minute)
	if c.HandOff != NoHandOff {
		f.duration(at("HandOff"), c.HandOff, 10*time.Millisecond, time.Minute)
	}
	f.allocation(at("Allocation"), c.Allocation)
	if c.Offsets != nil && c.StrictLast {
		f.add(at("StrictLast"), c.StrictLast, "goes with offsets that the cluster keeps: with Offsets a member knows where it stands")
	}
}

func (c PullConfig) consumption() consumption {
	return consumption{
		workers: 1, pullBatch: c.PullBatch, maxCached: c.MaxCached, maxCachedBytes: c.MaxCachedBytes, longPoll: c.LongPoll,
		revokeGrace: c.RevokeGrace, sendSubscription: true, from: c.ConsumeFrom, at: c.ConsumeTime, strictLast: c.StrictLast,
		unseenFromFirst: c.UnseenFromFirst,
	}
}

func (c PullConfig) strategy() allocation.Strategy { return c.Allocation.orDefault() }
