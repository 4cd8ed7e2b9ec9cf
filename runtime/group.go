package troupe

import (
	"context"
	"slices"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// group is what all kinds of consumer groups have in common: a name, topics with their handlers, and what can be asked of a
// group while it runs.
type group struct {
	runtime *Runtime
	name    string

	topics     []*topicHandler
	middleware []Middleware
}

// declaredGroup is a group as the Runtime sees it.
type declaredGroup interface {
	groupName() string
	// check adds what is wrong with the declaration.
	check(f *faults)
	// spec is called after check found nothing; version is that of the subscriptions.
	spec(version int64) *actors.GroupSpec
}

type topicHandler struct {
	topic  string
	filter Filter
	one    Handler
	batch  BatchHandler
	max    int
	// listen says that the topic's queues are shared out and not pulled.
	listen bool
}

func (g *group) groupName() string { return g.name }

// declare adds a group to the Runtime's, unless it is too late.
func (r *Runtime) declare(g declaredGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == declaring {
		r.groups = append(r.groups, g)
	} else {
		r.options.log.WithField("group", g.groupName()).Error("group declared after the start is ignored")
	}
}

// Handle subscribes to a topic: h gets its messages one by one, at most the configured number of Workers at once over all
// topics of the group. Must be called before the start.
func (g *group) Handle(topic string, filter Filter, h Handler) {
	g.subscribe(&topicHandler{topic: topic, filter: filter, one: h, max: 1})
}

// HandleBatch subscribes to a topic: h gets up to max messages of one queue at once; max is from 1 to 1024
// (consumeMessageBatchMaxSize). A batch never spans two pulls, so 32 is the most that brokers give by default. Must be called
// before the start.
func (g *group) HandleBatch(topic string, filter Filter, max int, h BatchHandler) {
	g.subscribe(&topicHandler{topic: topic, filter: filter, batch: h, max: max})
}

// Subscribe makes a running group consume one more topic, or an old one by another filter or handler. It returns at once;
// brokers hear of it in a heartbeat at once, and the topic is pulled from each as soon as it knows. Messages of an old
// subscription that no handler has begun are delivered again by the new one. A filter that a broker refuses is told by a
// SUBSCRIPTION_REJECTED event, and tried again with each rebalance.
//
// All members of a group must subscribe alike: change them all. Before the start use Handle. Error: ErrNotStarted, ErrClosed,
// *ConfigError.
func (g *group) Subscribe(topic string, filter Filter, h Handler) error {
	return g.resubscribe(&topicHandler{topic: topic, filter: filter, one: h, max: 1})
}

// SubscribeBatch is Subscribe with a handler for batches, see HandleBatch.
func (g *group) SubscribeBatch(topic string, filter Filter, max int, h BatchHandler) error {
	return g.resubscribe(&topicHandler{topic: topic, filter: filter, batch: h, max: max})
}

// Unsubscribe makes a running group give a topic up. It returns at once: pulling stops, brokers hear of it in a heartbeat,
// running handlers end within the group's RevokeGrace, offsets are stored; what was pulled and not begun is dropped. Retries
// of its messages find no handler any more and go on being retried until they are dead letters or the topic is subscribed to
// again. Error: ErrNotStarted, ErrClosed, *ConfigError if the group does not subscribe to the topic.
func (g *group) Unsubscribe(topic string) error {
	r := g.runtime
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.whileRunning(); err != nil {
		return err
	}
	i := slices.IndexFunc(g.topics, func(t *topicHandler) bool { return t.topic == topic })
	if i < 0 {
		return &ConfigError{Field: "group " + g.name + ": topic", Value: topic, Reason: "is not subscribed to"}
	}
	g.topics = slices.Delete(slices.Clone(g.topics), i, i+1)
	r.client.Tell(g.name, &actors.ChangeSubscription{Topic: topic})
	return nil
}

// resubscribe tells the group's actor under the lock, so that changes arrive in the order in which they are noted.
func (g *group) resubscribe(t *topicHandler) error {
	r := g.runtime
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.whileRunning(); err != nil {
		return err
	}
	var f faults
	g.checkTopic(t, &f)
	if err := f.err(); err != nil {
		return err
	}
	g.replace(t)
	r.client.Tell(g.name, &actors.ChangeSubscription{Topic: t.topic, Spec: g.subscription(t, time.Now().UnixMilli())})
	return nil
}

// replace notes a topic in place of what was noted of it. Call it with the Runtime's lock held.
func (g *group) replace(t *topicHandler) {
	topics := slices.DeleteFunc(slices.Clone(g.topics), func(o *topicHandler) bool { return o.topic == t.topic })
	g.topics = append(topics, t)
}

// Use wraps the group's handlers; the first middleware given is the outermost. Batch handlers are not wrapped. Must be called
// before the start.
func (g *group) Use(mw ...Middleware) {
	g.runtime.mu.Lock()
	defer g.runtime.mu.Unlock()
	g.middleware = append(g.middleware, mw...)
}

// Pause stops pulling for the given queues, or all if none is given; what was pulled is still handled. It survives a
// rebalance, not a restart of the program.
func (g *group) Pause(queues ...*Queue) { g.tell(&messages.PauseQueues{Queues: queues}) }

// Resume undoes Pause.
func (g *group) Resume(queues ...*Queue) { g.tell(&messages.ResumeQueues{Queues: queues}) }

// SetWorkers changes how many handlers run at once, from 1 to 1000, while running. Handlers that run already are let end.
func (g *group) SetWorkers(n int) error {
	var f faults
	f.number("workers", n, 1, maxWorkers)
	if err := f.err(); err != nil {
		return err
	}
	g.tell(&messages.SetWorkers{Workers: int32(n)})
	return nil
}

func (g *group) tell(m any) {
	if client := g.runtime.running(); client != nil {
		client.Tell(g.name, m)
	}
}

func (g *group) subscribe(t *topicHandler) {
	g.runtime.mu.Lock()
	defer g.runtime.mu.Unlock()
	if g.runtime.state != declaring {
		g.runtime.options.log.WithField("topic", t.topic).Error("handler declared after the start is ignored")
		return
	}
	g.topics = append(g.topics, t)
}

// checkTopics adds what is wrong with the name and the subscriptions.
func (g *group) checkTopics(f *faults) {
	f.group(g.name)
	field := "group " + g.name + ": topic"
	if len(g.topics) == 0 {
		f.add("group "+g.name, nil, "has no handler: call Handle or HandleBatch before the start")
	}
	for i, t := range g.topics {
		g.checkTopic(t, f)
		if slices.ContainsFunc(g.topics[:i], func(o *topicHandler) bool { return o.topic == t.topic }) {
			f.add(field, t.topic, "is subscribed to twice: a group has one filter and one handler for a topic")
		}
	}
}

func (g *group) checkTopic(t *topicHandler, f *faults) {
	field := "group " + g.name + ": topic"
	g.checkSubscription(t, f)
	if t.one == nil && t.batch == nil {
		f.add(field+" "+t.topic+": handler", nil, "must not be nil")
	}
	f.number(field+" "+t.topic+": batch size", t.max, 1, 1024)
}

// checkSubscription adds what is wrong with topic and filter.
func (g *group) checkSubscription(t *topicHandler, f *faults) {
	field := "group " + g.name + ": topic"
	f.topic(field, t.topic)
	if t.filter.fault != "" {
		f.add(field+" "+t.topic+": filter", t.filter.value(), t.filter.fault)
	}
}

// subscriptions are the topics with their handlers in their middleware.
func (g *group) subscriptions(version int64) []*actors.SubscriptionSpec {
	var out []*actors.SubscriptionSpec
	for _, t := range g.topics {
		out = append(out, g.subscription(t, version))
	}
	return out
}

func (g *group) subscription(t *topicHandler, version int64) *actors.SubscriptionSpec {
	sub := &actors.SubscriptionSpec{
		Topic: t.topic, Subscription: t.filter.subscription(t.topic, version), Batch: t.batch, BatchMax: t.max,
		Listen: t.listen,
	}
	if t.one != nil {
		h := t.one
		for _, mw := range slices.Backward(g.middleware) {
			h = mw(h)
		}
		sub.One = func(ctx context.Context, m *messages.Message) error { return h(ctx, m) }
	}
	return sub
}
