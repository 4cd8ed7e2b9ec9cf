package troupe

import (
	"math"
	"time"

	"github.com/troupe-mq/troupe/actors"
)

// OrderlyGroup is a consumer group that handles the messages of a queue one after the other, in their order, and queues side
// by side. Each queue is locked at its broker, so that it has one consumer in the whole cluster. A message that fails holds
// its queue up, and no other. Declare its topics before the start.
type OrderlyGroup struct {
	group
	config OrderlyConfig
}

// Orderly declares a group. It must be called before the start; faults are reported by Start.
func (r *Runtime) Orderly(name string, cfg OrderlyConfig) *OrderlyGroup {
	g := &OrderlyGroup{group: group{runtime: r, name: name}, config: cfg.withDefaults()}
	r.declare(g)
	return g
}

// OrderlyConfig configures a group whose queues are handled in order. Zero fields mean the default.
type OrderlyConfig struct {
	// Workers is how many handlers run at once, over all topics of the group; each on another queue. Default 20
	// (consumeThreadMin), 1 to 1000.
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
	// MaxRetries is how often a failed message is tried again before it goes to %DLQ%group and its queue goes on. Default
	// endless (maxReconsumeTimes -1), as order wants it: the topology and QUEUE_SUSPENDED events show a queue that is held up;
	// NoRetries for none.
	MaxRetries int
	// SuspendFor is how long a queue waits before it tries a failed message again; RetryAfter overrides it. Default 1 s
	// (suspendCurrentQueueTimeMillis), 10 ms to 30 s.
	SuspendFor time.Duration
	// Turn is how long a worker stays with one queue that has more to do; when others wait for a worker, a turn ends after
	// 100 ms. Default 60 s (rocketmq.client.maxTimeConsumeContinuously), 100 ms to 1 h.
	Turn time.Duration
	// HandlerTimeout is how long a handler may run: then its context ends with ErrHandlerTimeout. Its verdict counts all the
	// same. Default NoTimeout: Java has no limit here, either.
	HandlerTimeout time.Duration
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
	// SendSubscription sends the filter along with every pull, so that it holds whatever else the brokers know of the group.
	// Default false (postSubscriptionWhenPull).
	SendSubscription bool
	// LongPoll is how long the broker may hold a pull when there is nothing new. Default 15 s (brokerSuspendMaxTimeMillis).
	LongPoll time.Duration
}

// Defaults of OrderlyConfig, besides those that it shares with ConcurrentConfig.
const (
	DefaultSuspendFor = time.Second
	DefaultTurn       = time.Minute
)

func (c OrderlyConfig) withDefaults() OrderlyConfig {
	c.Workers = or(c.Workers, DefaultWorkers)
	c.PullBatch = or(c.PullBatch, DefaultPullBatch)
	c.MaxCached = or(c.MaxCached, DefaultMaxCached)
	c.MaxCachedBytes = or(c.MaxCachedBytes, DefaultMaxCachedBytes)
	c.SuspendFor = or(c.SuspendFor, DefaultSuspendFor)
	c.Turn = or(c.Turn, DefaultTurn)
	c.HandlerTimeout = or(c.HandlerTimeout, NoTimeout)
	c.RevokeGrace = or(c.RevokeGrace, DefaultRevokeGrace)
	c.LongPoll = or(c.LongPoll, DefaultLongPoll)
	return c
}

func (g *OrderlyGroup) check(f *faults) {
	c := g.config
	at := func(field string) string { return "group " + g.name + ": OrderlyConfig." + field }
	c.consumption().check(at, f)
	f.number(at("MaxRetries"), c.MaxRetries, NoRetries, 1<<20)
	f.duration(at("SuspendFor"), c.SuspendFor, 10*time.Millisecond, 30*time.Second)
	f.duration(at("Turn"), c.Turn, 100*time.Millisecond, time.Hour)
	f.handlerTimeout(at("HandlerTimeout"), c.HandlerTimeout)
	f.allocation(at("Allocation"), c.Allocation)
	g.checkTopics(f)
}

func (c OrderlyConfig) consumption() consumption {
	return consumption{
		workers: c.Workers, pullBatch: c.PullBatch, maxCached: c.MaxCached, maxCachedBytes: c.MaxCachedBytes, longPoll: c.LongPoll,
		revokeGrace: c.RevokeGrace, sendSubscription: c.SendSubscription, from: c.ConsumeFrom, at: c.ConsumeTime, strictLast: c.StrictLast,
		maxPerTopic: c.MaxCachedPerTopic, maxBytesPerTopic: c.MaxCachedBytesPerTopic, pullInterval: c.PullInterval,
		unseenFromFirst: c.UnseenFromFirst,
	}
}

func (g *OrderlyGroup) spec(version int64) *actors.GroupSpec {
	c := g.config
	spec := c.consumption().spec(g.name)
	spec.Limits.Span = math.MaxInt32 // order has no gaps to bound
	spec.MaxReconsumes = int32(max(c.MaxRetries, 0))
	if c.MaxRetries == 0 {
		spec.MaxReconsumes = math.MaxInt32
	}
	spec.HandlerTimeout = max(c.HandlerTimeout, 0)
	spec.Order = &actors.OrderSpec{Suspend: c.SuspendFor, Turn: c.Turn}
	spec.Allocate = c.Allocation.orDefault()
	spec.Subscriptions = g.subscriptions(version)
	return spec
}
