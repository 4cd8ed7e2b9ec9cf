package troupe

import "time"

// ConcurrentConfig configures a group whose messages are handled side by side. Zero fields mean the default.
type ConcurrentConfig struct {
	// Workers is how many handlers run at once, over all topics of the group. Default 20 (consumeThreadMin), 1 to 1000.
	Workers int
	// PullBatch is how many messages a pull asks for; brokers give at most 32 unless configured otherwise. Default 32
	// (pullBatchSize), 1 to 1024.
	PullBatch int
	// MaxCached bounds the messages pulled but not settled, for one queue. Default 1000 (pullThresholdForQueue), 1 to 65535.
	MaxCached int
	// MaxCachedBytes bounds their bodies, for one queue. Default 100 MiB (pullThresholdSizeForQueue), 1 MiB to 1 GiB.
	MaxCachedBytes int64
	// MaxCachedPerTopic bounds the messages pulled but not settled, for all queues of a topic that this member has: each gets an
	// equal part, at least 1, anew at every rebalance, and MaxCached bounds it as before (in Java the part replaces it). Default no bound
	// (pullThresholdForTopic), 1 to 6553500.
	MaxCachedPerTopic int
	// MaxCachedBytesPerTopic bounds their bodies likewise. Default no bound (pullThresholdSizeForTopic), 1 MiB to 100 GiB.
	MaxCachedBytesPerTopic int64
	// PullInterval is the pause between a pull that brought messages and the next pull of the queue. Default none (pullInterval), up
	// to 65.535 s.
	PullInterval time.Duration
	// MaxSpan bounds how far a queue may be ahead of its oldest unsettled message, in offsets: what a crash repeats at the
	// most. Default 2000 (consumeConcurrentlyMaxSpan), 1 to 65535.
	MaxSpan int
	// MaxRetries is how often a failed message is tried again before it goes to %DLQ%group. Default 16 (maxReconsumeTimes -1);
	// NoRetries for none.
	MaxRetries int
	// ConsumeFrom is where the group starts on queues that it has no offset for. Default LastOffset (consumeFromWhere).
	ConsumeFrom ConsumeFrom
	// ConsumeTime is the time for AtTime. Default 30 min before the start (consumeTimestamp).
	ConsumeTime time.Time
	// StrictLast makes LastOffset start at the end also on a young topic. A group that really stands at offset 0 cannot be
	// told from a new one and starts at the end, too.
	StrictLast bool
	// UnseenFromFirst starts queues at their oldest message that the group has no offset for while it has one, beyond 0, for
	// another queue of the topic: the topic grew while no member was there. Default false, as in Java: these begin by ConsumeFrom,
	// and a QUEUES_SKIPPED event names those with messages that nobody gets. Queues that come while the group is there always
	// start at their oldest message.
	UnseenFromFirst bool
	// Allocation is how queues are shared among the members. Default Averagely (allocateMessageQueueStrategy).
	Allocation Allocation
	// RevokeGrace is how long a handler may go on when its queue moves to another member. Default 5 s.
	RevokeGrace time.Duration
	// HandOff is how long a queue that comes to this member waits for its former owner to settle, store and unlock it, so that
	// nothing is delivered twice. Members that hold no lock, like Java's and rocketmq-client-go's, are not waited for. Where handlers
	// take long, so may a former owner: up to its RevokeGrace and a second. Default 2 s, 10 ms to 1 min; NoHandOff to begin at once
	// and take no locks.
	HandOff time.Duration
	// RedeliverAfter is the wait before a message is tried again in this process when the broker took neither its hand-back
	// nor a copy. Default 5 s, as in Java.
	RedeliverAfter time.Duration
	// HandlerTimeout is how long a handler may run: then its context ends with ErrHandlerTimeout, its messages go back to the
	// broker, once, and what it returns later changes nothing. Default 15 min (consumeTimeout), 1 ms to 24 h; NoTimeout for none.
	HandlerTimeout time.Duration
	// SendSubscription sends the filter along with every pull, so that it holds whatever else the brokers know of the group.
	// Default false (postSubscriptionWhenPull).
	SendSubscription bool
	// LongPoll is how long the broker may hold a pull when there is nothing new. Default 15 s (brokerSuspendMaxTimeMillis).
	LongPoll time.Duration
}

// NoRetries as ConcurrentConfig.MaxRetries sends a message to the dead letter topic at its first failure.
const NoRetries = -1

// NoHandOff as ConcurrentConfig.HandOff takes queues without waiting for anybody.
const NoHandOff time.Duration = -1

// NoTimeout as HandlerTimeout lets handlers run as long as they like.
const NoTimeout time.Duration = -1

// Defaults of ConcurrentConfig.
const (
	DefaultWorkers        = 20
	DefaultPullBatch      = 32
	DefaultMaxCached      = 1000
	DefaultMaxCachedBytes = 100 << 20
	DefaultMaxSpan        = 2000
	DefaultMaxRetries     = 16
	DefaultRevokeGrace    = 5 * time.Second
	DefaultHandOff        = 2 * time.Second
	DefaultRedeliverAfter = 5 * time.Second
	DefaultLongPoll       = 15 * time.Second
	DefaultHandlerTimeout = 15 * time.Minute
)

func (c ConcurrentConfig) withDefaults() ConcurrentConfig {
	c.Workers = or(c.Workers, DefaultWorkers)
	c.PullBatch = or(c.PullBatch, DefaultPullBatch)
	c.MaxCached = or(c.MaxCached, DefaultMaxCached)
	c.MaxCachedBytes = or(c.MaxCachedBytes, DefaultMaxCachedBytes)
	c.MaxSpan = or(c.MaxSpan, DefaultMaxSpan)
	c.MaxRetries = or(c.MaxRetries, DefaultMaxRetries)
	c.RevokeGrace = or(c.RevokeGrace, DefaultRevokeGrace)
	c.HandOff = or(c.HandOff, DefaultHandOff)
	c.RedeliverAfter = or(c.RedeliverAfter, DefaultRedeliverAfter)
	c.LongPoll = or(c.LongPoll, DefaultLongPoll)
	c.HandlerTimeout = or(c.HandlerTimeout, DefaultHandlerTimeout)
	return c
}

func (c ConcurrentConfig) check(group string, f *faults) {
	at := func(field string) string { return "group " + group + ": ConcurrentConfig." + field }
	c.consumption().check(at, f)
	f.number(at("MaxSpan"), c.MaxSpan, 1, 65535)
	f.number(at("MaxRetries"), c.MaxRetries, NoRetries, 1<<20)
	f.handlerTimeout(at("HandlerTimeout"), c.HandlerTimeout)
	if c.HandOff != NoHandOff {
		f.duration(at("HandOff"), c.HandOff, 10*time.Millisecond, time.Minute)
	}
	f.duration(at("RedeliverAfter"), c.RedeliverAfter, 10*time.Millisecond, time.Hour)
	f.allocation(at("Allocation"), c.Allocation)
}

func (c ConcurrentConfig) consumption() consumption {
	return consumption{
		workers: c.Workers, pullBatch: c.PullBatch, maxCached: c.MaxCached, maxCachedBytes: c.MaxCachedBytes, longPoll: c.LongPoll,
		revokeGrace: c.RevokeGrace, sendSubscription: c.SendSubscription, from: c.ConsumeFrom, at: c.ConsumeTime, strictLast: c.StrictLast,
		maxPerTopic: c.MaxCachedPerTopic, maxBytesPerTopic: c.MaxCachedBytesPerTopic, pullInterval: c.PullInterval,
		unseenFromFirst: c.UnseenFromFirst,
	}
}
