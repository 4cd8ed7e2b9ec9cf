package troupe

import (
	"context"
	"slices"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/allocation"
	"github.com/troupe-mq/troupe/messages"
)

// ConcurrentGroup is a consumer group whose messages are handled side by side, in clustering mode: each message goes to one
// member. Declare its topics before the start.
type ConcurrentGroup struct {
	runtime *Runtime
	name    string
	config  ConcurrentConfig

	topics     []*topicHandler
	middleware []Middleware
}

type topicHandler struct {
	topic  string
	filter Filter
	one    Handler
	batch  BatchHandler
	max    int
}

// Concurrent declares a group. It must be called before the start; faults are reported by Start.
func (r *Runtime) Concurrent(group string, cfg ConcurrentConfig) *ConcurrentGroup {
	g := &ConcurrentGroup{runtime: r, name: group, config: cfg.withDefaults()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == declaring {
		r.groups = append(r.groups, g)
	} else {
		r.options.log.WithField("group", group).Error("group declared after the start is ignored")
	}
	return g
}

// Handle subscribes to a topic: h gets its messages one by one, at most ConcurrentConfig.Workers at once over all topics of
// the group. Must be called before the start.
func (g *ConcurrentGroup) Handle(topic string, filter Filter, h Handler) {
	g.declare(&topicHandler{topic: topic, filter: filter, one: h, max: 1})
}

// HandleBatch subscribes to a topic: h gets up to max messages of one queue at once; max is from 1 to 1024
// (consumeMessageBatchMaxSize). A batch never spans two pulls, so 32 is the most that brokers give by default. Must be called
// before the start.
func (g *ConcurrentGroup) HandleBatch(topic string, filter Filter, max int, h BatchHandler) {
	g.declare(&topicHandler{topic: topic, filter: filter, batch: h, max: max})
}

// Use wraps the group's handlers; the first middleware given is the outermost. Batch handlers are not wrapped. Must be called
// before the start.
func (g *ConcurrentGroup) Use(mw ...Middleware) {
	g.runtime.mu.Lock()
	defer g.runtime.mu.Unlock()
	g.middleware = append(g.middleware, mw...)
}

// Pause stops pulling for the given queues, or all if none is given; what was pulled is still handled. It survives a
// rebalance, not a restart of the program.
func (g *ConcurrentGroup) Pause(queues ...*Queue) { g.tell(&messages.PauseQueues{Queues: queues}) }

// Resume undoes Pause.
func (g *ConcurrentGroup) Resume(queues ...*Queue) { g.tell(&messages.ResumeQueues{Queues: queues}) }

// SetWorkers changes how many handlers run at once, from 1 to 1000, while running. Handlers that run already are let end.
func (g *ConcurrentGroup) SetWorkers(n int) error {
	var f faults
	f.number("workers", n, 1, 1000)
	if err := f.err(); err != nil {
		return err
	}
	g.tell(&messages.SetWorkers{Workers: int32(n)})
	return nil
}

func (g *ConcurrentGroup) tell(m any) {
	if client := g.runtime.running(); client != nil {
		client.Tell(g.name, m)
	}
}

func (g *ConcurrentGroup) declare(t *topicHandler) {
	g.runtime.mu.Lock()
	defer g.runtime.mu.Unlock()
	if g.runtime.state != declaring {
		g.runtime.options.log.WithField("topic", t.topic).Error("handler declared after the start is ignored")
		return
	}
	g.topics = append(g.topics, t)
}

func (g *ConcurrentGroup) check(f *faults) {
	f.group(g.name)
	g.config.check(g.name, f)
	field := "group " + g.name + ": topic"
	if len(g.topics) == 0 {
		f.add("group "+g.name, nil, "has no handler: call Handle or HandleBatch before the start")
	}
	for i, t := range g.topics {
		f.topic(field, t.topic)
		if t.filter.fault != "" {
			f.add(field+" "+t.topic+": filter", t.filter.tags, t.filter.fault)
		}
		if t.one == nil && t.batch == nil {
			f.add(field+" "+t.topic+": handler", nil, "must not be nil")
		}
		f.number(field+" "+t.topic+": batch size", t.max, 1, 1024)
		if slices.ContainsFunc(g.topics[:i], func(o *topicHandler) bool { return o.topic == t.topic }) {
			f.add(field, t.topic, "is subscribed to twice: a group has one filter and one handler for a topic")
		}
	}
}

func (g *ConcurrentGroup) spec(version int64) *actors.GroupSpec {
	c := g.config
	spec := &actors.GroupSpec{
		Name: g.name, Workers: c.Workers, PullBatch: int32(c.PullBatch), PullBytes: pullBatchBytes,
		Suspend: c.LongPoll, PullTimeout: c.LongPoll + pullMargin,
		Limits:        actors.Limits{Messages: int64(c.MaxCached), Bytes: c.MaxCachedBytes, Span: int64(c.MaxSpan)},
		MaxReconsumes: int32(max(c.MaxRetries, 0)),
		Start:         actors.StartRule{From: consumeFrom(c.ConsumeFrom), At: c.ConsumeTime, StrictLast: c.StrictLast},
		RevokeGrace:   c.RevokeGrace, RedeliverAfter: c.RedeliverAfter, Allocate: allocation.Average{},
	}
	if c.Allocation == ByCircle {
		spec.Allocate = allocation.Circle{}
	}
	for _, t := range g.topics {
		sub := &actors.SubscriptionSpec{
			Topic: t.topic, Subscription: t.filter.subscription(t.topic, version), Batch: t.batch, BatchMax: t.max,
		}
		if t.one != nil {
			h := t.one
			for _, mw := range slices.Backward(g.middleware) {
				h = mw(h)
			}
			sub.One = func(ctx context.Context, m *messages.Message) error { return h(ctx, m) }
		}
		spec.Subscriptions = append(spec.Subscriptions, sub)
	}
	return spec
}

func consumeFrom(c ConsumeFrom) messages.ConsumeFrom {
	switch c {
	case FirstOffset:
		return messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET
	case AtTime:
		return messages.ConsumeFrom_CONSUME_FROM_TIMESTAMP
	default:
		return messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
	}
}
