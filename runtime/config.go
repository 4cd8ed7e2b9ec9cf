package troupe

import (
	"time"

	"github.com/troupe-mq/troupe/actors"
)

// Transport reaches one cluster; adapters/rocketmq.Cluster is the one to Apache RocketMQ.
type Transport = actors.Transport

// Config configures a Runtime. Zero fields mean the default.
type Config struct {
	// ClientID names this client at the brokers; it must be unique in the cluster. Default: ip@pid#random, unique also in
	// containers where every process is pid 1.
	ClientID string
	// DrainTimeout is how long Run and Shutdown let running handlers go on. Default 30 s; Java's
	// awaitTerminationMillisWhenShutdown, there 0.
	DrainTimeout time.Duration
	// MemoryLimit bounds the bytes of messages pulled but not settled, over all groups of the Runtime; one pull for each
	// queue may come on top. Default: no limit but those of the queues.
	MemoryLimit int64
	// HeapHeadroom is address space that is reserved, and never touched, while the Runtime is started, so that the collector runs
	// less often: it saves a third of the CPU time under a backlog and costs up to as much memory. Default 8 MiB, nothing if the
	// program's heap is that large anyway; NoHeadroom for none.
	HeapHeadroom int64
	// HeartbeatInterval is Java's heartbeatBrokerInterval. Default 30 s.
	HeartbeatInterval time.Duration
	// RouteRefreshInterval is Java's pollNameServerInterval. Default 30 s.
	RouteRefreshInterval time.Duration
	// RebalanceInterval is how often queues are shared out anew without a notification. Default 20 s.
	RebalanceInterval time.Duration
	// OffsetPersistInterval is Java's persistConsumerOffsetInterval. Default 5 s.
	OffsetPersistInterval time.Duration
}

// NoHeadroom as Config.HeapHeadroom reserves nothing.
const NoHeadroom = -1

// Defaults of Config.
const (
	DefaultDrainTimeout          = 30 * time.Second
	DefaultHeapHeadroom          = 8 << 20
	DefaultHeartbeatInterval     = 30 * time.Second
	DefaultRouteRefreshInterval  = 30 * time.Second
	DefaultRebalanceInterval     = 20 * time.Second
	DefaultOffsetPersistInterval = 5 * time.Second
)

func (c Config) withDefaults() Config {
	c.DrainTimeout = or(c.DrainTimeout, DefaultDrainTimeout)
	c.HeapHeadroom = or(c.HeapHeadroom, DefaultHeapHeadroom)
	c.HeartbeatInterval = or(c.HeartbeatInterval, DefaultHeartbeatInterval)
	c.RouteRefreshInterval = or(c.RouteRefreshInterval, DefaultRouteRefreshInterval)
	c.RebalanceInterval = or(c.RebalanceInterval, DefaultRebalanceInterval)
	c.OffsetPersistInterval = or(c.OffsetPersistInterval, DefaultOffsetPersistInterval)
	return c
}

// check looks at a configuration with its defaults in place.
func (c Config) check(f *faults) {
	f.duration("Config.DrainTimeout", c.DrainTimeout, 0, time.Hour)
	f.duration("Config.HeartbeatInterval", c.HeartbeatInterval, time.Second, time.Minute)
	f.duration("Config.RouteRefreshInterval", c.RouteRefreshInterval, 100*time.Millisecond, time.Hour)
	f.duration("Config.RebalanceInterval", c.RebalanceInterval, 100*time.Millisecond, time.Hour)
	f.duration("Config.OffsetPersistInterval", c.OffsetPersistInterval, 100*time.Millisecond, time.Hour)
	if c.MemoryLimit < 0 {
		f.add("Config.MemoryLimit", c.MemoryLimit, "must not be negative; 0 means no limit")
	}
	if c.HeapHeadroom < NoHeadroom || c.HeapHeadroom > 1<<30 {
		f.add("Config.HeapHeadroom", c.HeapHeadroom, "must be from 1 byte to 1 GiB, or NoHeadroom")
	}
	if len(c.ClientID) > 255 {
		f.add("Config.ClientID", c.ClientID, "must not be longer than 255 bytes")
	}
}

// ConsumeFrom says where a group starts on a queue for which the cluster has no offset. The retry topic always starts at its
// minimum.
type ConsumeFrom int

const (
	// LastOffset starts behind what is there, as Java does by default: on a young topic, whose first message the broker still
	// has in memory, the broker answers 0 and the group starts at the beginning. ConcurrentConfig.StrictLast avoids that.
	LastOffset ConsumeFrom = iota
	// FirstOffset starts at the oldest message.
	FirstOffset
	// AtTime starts at the first message stored at or after ConcurrentConfig.ConsumeTime.
	AtTime
)

// Allocation says how queues are shared among the members of a group. All members must use the same.
type Allocation int

const (
	// Averagely gives each member a range of neighbours (Java: AVG).
	Averagely Allocation = iota
	// ByCircle deals the queues out one by one (Java: AVG_BY_CIRCLE).
	ByCircle
)

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
	// MaxSpan bounds how far a queue may be ahead of its oldest unsettled message, in offsets: what a crash repeats at the
	// most. Default 2000 (consumeConcurrentlyMaxSpan), 1 to 65535.
	MaxSpan int
	// MaxRetries is how often a failed message is tried again before it goes to %DLQ%group. Default 16 (maxReconsumeTimes -1);
	// NoRetries for none.
	MaxRetries int
	// ConsumeFrom is where the group starts on queues that it has no offset for. Default LastOffset, as in Java.
	ConsumeFrom ConsumeFrom
	// ConsumeTime is the time for AtTime.
	ConsumeTime time.Time
	// StrictLast makes LastOffset start at the end also on a young topic. A group that really stands at offset 0 cannot be
	// told from a new one and starts at the end, too.
	StrictLast bool
	// Allocation is how queues are shared among the members. Default Averagely.
	Allocation Allocation
	// RevokeGrace is how long a handler may go on when its queue moves to another member. Default 5 s.
	RevokeGrace time.Duration
	// RedeliverAfter is the wait before a message is tried again in this process when the broker took neither its hand-back
	// nor a copy. Default 5 s, as in Java.
	RedeliverAfter time.Duration
	// LongPoll is how long the broker may hold a pull when there is nothing new. Default 15 s (brokerSuspendMaxTimeMillis).
	LongPoll time.Duration
}

// NoRetries as ConcurrentConfig.MaxRetries sends a message to the dead letter topic at its first failure.
const NoRetries = -1

// Defaults of ConcurrentConfig.
const (
	DefaultWorkers        = 20
	DefaultPullBatch      = 32
	DefaultMaxCached      = 1000
	DefaultMaxCachedBytes = 100 << 20
	DefaultMaxSpan        = 2000
	DefaultMaxRetries     = 16
	DefaultRevokeGrace    = 5 * time.Second
	DefaultRedeliverAfter = 5 * time.Second
	DefaultLongPoll       = 15 * time.Second
)

// Java's limit for the answer of a pull, which brokers of this protocol version ignore (pullBatchSizeInBytes).
const pullBatchBytes = 256 << 10

// Brokers look after held pulls every 5 s, so an answer may come that much later than LongPoll says; the rest is margin.
const pullMargin = 15 * time.Second

func (c ConcurrentConfig) withDefaults() ConcurrentConfig {
	c.Workers = or(c.Workers, DefaultWorkers)
	c.PullBatch = or(c.PullBatch, DefaultPullBatch)
	c.MaxCached = or(c.MaxCached, DefaultMaxCached)
	c.MaxCachedBytes = or(c.MaxCachedBytes, DefaultMaxCachedBytes)
	c.MaxSpan = or(c.MaxSpan, DefaultMaxSpan)
	c.MaxRetries = or(c.MaxRetries, DefaultMaxRetries)
	c.RevokeGrace = or(c.RevokeGrace, DefaultRevokeGrace)
	c.RedeliverAfter = or(c.RedeliverAfter, DefaultRedeliverAfter)
	c.LongPoll = or(c.LongPoll, DefaultLongPoll)
	return c
}

func (c ConcurrentConfig) check(group string, f *faults) {
	at := func(field string) string { return "group " + group + ": ConcurrentConfig." + field }
	f.number(at("Workers"), c.Workers, 1, 1000)
	f.number(at("PullBatch"), c.PullBatch, 1, 1024)
	f.number(at("MaxCached"), c.MaxCached, 1, 65535)
	f.number(at("MaxCachedBytes"), int(c.MaxCachedBytes), 1<<20, 1<<30)
	f.number(at("MaxSpan"), c.MaxSpan, 1, 65535)
	f.number(at("MaxRetries"), c.MaxRetries, NoRetries, 1<<20)
	f.duration(at("RevokeGrace"), c.RevokeGrace, 0, time.Hour)
	f.duration(at("RedeliverAfter"), c.RedeliverAfter, 10*time.Millisecond, time.Hour)
	f.duration(at("LongPoll"), c.LongPoll, 10*time.Millisecond, time.Minute)
	if c.ConsumeFrom < LastOffset || c.ConsumeFrom > AtTime {
		f.add(at("ConsumeFrom"), c.ConsumeFrom, "must be LastOffset, FirstOffset or AtTime")
	}
	if c.ConsumeFrom == AtTime && c.ConsumeTime.IsZero() {
		f.add(at("ConsumeTime"), c.ConsumeTime, "must be set for AtTime")
	}
	if c.StrictLast && c.ConsumeFrom != LastOffset {
		f.add(at("StrictLast"), c.StrictLast, "goes with LastOffset only")
	}
	if c.Allocation < Averagely || c.Allocation > ByCircle {
		f.add(at("Allocation"), c.Allocation, "must be Averagely or ByCircle")
	}
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
