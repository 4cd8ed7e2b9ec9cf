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
	// HeapHeadroom is address space that is reserved, and never touched, while the collector would run many times a second, so that
	// it runs less often: it saves a third of the CPU time under a backlog and costs up to twice as much memory then. An idle
	// Runtime, and one in a program that keeps that much alive anyway, reserves nothing. Default 8 MiB; NoHeadroom for none.
	HeapHeadroom int64
	// HeartbeatInterval is Java's heartbeatBrokerInterval. Default 30 s.
	HeartbeatInterval time.Duration
	// RouteRefreshInterval is Java's pollNameServerInterval. Default 30 s.
	RouteRefreshInterval time.Duration
	// RebalanceInterval is how often queues are shared out anew without a notification. Default 20 s.
	RebalanceInterval time.Duration
	// OffsetPersistInterval is Java's persistConsumerOffsetInterval. Default 5 s.
	OffsetPersistInterval time.Duration
	// Trace tells the cluster's trace topic when each handler call of the Runtime's groups begins and ends, in the text that
	// Apache's tools show (enableMsgTrace). Messages from brokers that note no region, and those whose producer does not want
	// it, are left out. Consumption never waits for it: what cannot be sent is dropped and told by an event. Default false.
	Trace bool
	// TraceTopic is where traces go (traceTopic). Default RMQ_SYS_TRACE_TOPIC, which brokers make that have traceTopicEnable.
	TraceTopic string
	// TraceBatch is how many beginnings and ends of calls go into one trace message, from 1 to 20 (traceMsgBatchNum). Traces
	// wait 5 s for company at the most. Default 10.
	TraceBatch int
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
	DefaultTraceTopic            = "RMQ_SYS_TRACE_TOPIC"
	DefaultTraceBatch            = 10
)

func (c Config) withDefaults() Config {
	c.DrainTimeout = or(c.DrainTimeout, DefaultDrainTimeout)
	c.HeapHeadroom = or(c.HeapHeadroom, DefaultHeapHeadroom)
	c.HeartbeatInterval = or(c.HeartbeatInterval, DefaultHeartbeatInterval)
	c.RouteRefreshInterval = or(c.RouteRefreshInterval, DefaultRouteRefreshInterval)
	c.RebalanceInterval = or(c.RebalanceInterval, DefaultRebalanceInterval)
	c.OffsetPersistInterval = or(c.OffsetPersistInterval, DefaultOffsetPersistInterval)
	c.TraceTopic = or(c.TraceTopic, DefaultTraceTopic)
	c.TraceBatch = or(c.TraceBatch, DefaultTraceBatch)
	return c
}

// check looks at a configuration with its defaults in place.
func (c Config) check(f *faults) {
	f.duration("Config.DrainTimeout", c.DrainTimeout, 0, time.Hour)
	f.duration("Config.HeartbeatInterval", c.HeartbeatInterval, time.Second, time.Minute)
	f.duration("Config.RouteRefreshInterval", c.RouteRefreshInterval, 100*time.Millisecond, time.Hour)
	f.duration("Config.RebalanceInterval", c.RebalanceInterval, 100*time.Millisecond, time.Hour)
	f.duration("Config.OffsetPersistInterval", c.OffsetPersistInterval, 100*time.Millisecond, time.Hour)
	f.topic("Config.TraceTopic", c.TraceTopic)
	f.number("Config.TraceBatch", c.TraceBatch, 1, 20)
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

// trace gives what the actors need to know; nil if nothing is traced.
func (c Config) trace() *actors.TraceSpec {
	if !c.Trace {
		return nil
	}
	return &actors.TraceSpec{Topic: c.TraceTopic, Batch: c.TraceBatch}
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
