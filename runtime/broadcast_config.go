package troupe

import "time"

// BroadcastConfig configures a group of which every member gets every message. Zero fields mean the default, but Offsets must be
// set.
type BroadcastConfig struct {
	// Offsets is where this member keeps its offsets (offsetStore): offsetfile.At(dir) for files, MemoryOffsets() for none that
	// outlive the process, or a store of your own. No default: a store that is lost makes a member begin where ConsumeFrom says.
	Offsets OffsetStore
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
	// LocalRetries is how often a failed message is tried again in this process before it is dropped, which is an event: no broker
	// keeps it for the group. RetryAfter sets the wait, DeadLetter drops the message at once. Default 0 (as in Java), at most 1000.
	LocalRetries int
	// RetryDelay is the wait before a local retry. Default 1 s; 1 ms to 1 h.
	RetryDelay time.Duration
	// ConsumeFrom is where the member starts on queues that it has no offset for. Default LastOffset (consumeFromWhere). Queues that come while it
	// consumes are consumed from their beginning.
	ConsumeFrom ConsumeFrom
	// ConsumeTime is the time for AtTime. Default 30 min before the start (consumeTimestamp).
	ConsumeTime time.Time
	// RevokeGrace is how long a handler may go on when its queue leaves the route. Default 5 s.
	RevokeGrace time.Duration
	// HandlerTimeout is how long a handler may run: then its context ends with ErrHandlerTimeout, its messages are dropped, and
	// what it returns later changes nothing. Default 15 min (consumeTimeout), 1 ms to 24 h; NoTimeout for none.
	HandlerTimeout time.Duration
	// SendSubscription sends the filter along with every pull, so that it holds whatever else the brokers know of the group.
	// Default false (postSubscriptionWhenPull).
	SendSubscription bool
	// LongPoll is how long the broker may hold a pull when there is nothing new. Default 15 s (brokerSuspendMaxTimeMillis).
	LongPoll time.Duration
}

// DefaultRetryDelay is that of BroadcastConfig.
const DefaultRetryDelay = time.Second

func (c BroadcastConfig) withDefaults() BroadcastConfig {
	c.Workers = or(c.Workers, DefaultWorkers)
	c.PullBatch = or(c.PullBatch, DefaultPullBatch)
	c.MaxCached = or(c.MaxCached, DefaultMaxCached)
	c.MaxCachedBytes = or(c.MaxCachedBytes, DefaultMaxCachedBytes)
	c.MaxSpan = or(c.MaxSpan, DefaultMaxSpan)
	c.RetryDelay = or(c.RetryDelay, DefaultRetryDelay)
	c.RevokeGrace = or(c.RevokeGrace, DefaultRevokeGrace)
	c.HandlerTimeout = or(c.HandlerTimeout, DefaultHandlerTimeout)
	c.LongPoll = or(c.LongPoll, DefaultLongPoll)
	return c
}

func (c BroadcastConfig) check(group string, f *faults) {
	at := func(field string) string { return "group " + group + ": BroadcastConfig." + field }
	c.consumption().check(at, f)
	f.number(at("MaxSpan"), c.MaxSpan, 1, 65535)
	f.number(at("LocalRetries"), c.LocalRetries, 0, 1000)
	f.duration(at("RetryDelay"), c.RetryDelay, time.Millisecond, time.Hour)
	if c.HandlerTimeout != NoTimeout {
		f.duration(at("HandlerTimeout"), c.HandlerTimeout, time.Millisecond, 24*time.Hour)
	}
	if c.Offsets == nil {
		f.add(at("Offsets"), nil, "must be set: offsetfile.At(dir) keeps offsets in files, MemoryOffsets() until the process ends")
	}
}

func (c BroadcastConfig) consumption() consumption {
	return consumption{
		workers: c.Workers, pullBatch: c.PullBatch, maxCached: c.MaxCached, maxCachedBytes: c.MaxCachedBytes, longPoll: c.LongPoll,
		revokeGrace: c.RevokeGrace, sendSubscription: c.SendSubscription, from: c.ConsumeFrom, at: c.ConsumeTime,
		maxPerTopic: c.MaxCachedPerTopic, maxBytesPerTopic: c.MaxCachedBytesPerTopic, pullInterval: c.PullInterval,
	}
}
