package troupe

import (
	"slices"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// PullGroup is a consumer group whose program owns the loop. It is used in two ways, also side by side.
//
// Managed (DefaultLitePullConsumer): Subscribe to topics, whose queues are shared among the members of the group, or Assign queues.
// They are pulled in the background; Poll returns what was pulled, one queue's batch at a time.
//
// By hand (DefaultMQPullConsumer): Queues, Pull, UpdateCommitted and so on work on any queue. Listen and Schedule share queues out
// without pulling them.
//
// Its methods may be called from any goroutine; those that talk to the cluster do so while the Runtime is started, and give
// ErrNotStarted before and ErrClosed after.
type PullGroup struct {
	// It has no handlers, but is declared, subscribed and paused as other groups are.
	group    group
	config   PullConfig
	schedule schedule

	// assigned are the queues that the program chose; nil: it subscribes.
	assigned []*Queue
	filter   Filter
}

// Pull declares a group. It must be called before the start; faults are reported by Start.
func (r *Runtime) Pull(name string, cfg PullConfig) *PullGroup {
	g := &PullGroup{group: group{runtime: r, name: name}, config: cfg.withDefaults()}
	g.schedule.group = g
	r.declare(g)
	return g
}

// Subscribe makes the group consume a topic; its queues are shared among the members. Before the start and while running; a topic that is
// subscribed to already gets another filter. See ConcurrentGroup.Subscribe for what that means. Errors: ErrAssigned, ErrClosed,
// *ConfigError.
func (g *PullGroup) Subscribe(topic string, filter Filter) error {
	return g.subscribe(&topicHandler{topic: topic, filter: filter, max: 1})
}

// Listen shares the queues of topics among the members without pulling them (setRegisterTopics): PullConfig.OnAssignment is told of
// them. Before the start and while running. Errors: ErrAssigned, ErrClosed, *ConfigError.
func (g *PullGroup) Listen(topics ...string) error {
	for _, topic := range topics {
		if err := g.subscribe(&topicHandler{topic: topic, filter: AllTags(), max: 1, listen: true}); err != nil {
			return err
		}
	}
	return nil
}

func (g *PullGroup) subscribe(t *topicHandler) error {
	r := g.group.runtime
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.assigned != nil {
		return ErrAssigned
	}
	var f faults
	g.group.checkSubscription(t, &f)
	if err := f.err(); err != nil {
		return err
	}
	running, err := r.declaringOrRunning()
	if err != nil {
		return err
	}
	g.group.replace(t)
	if running {
		r.client.Tell(g.group.name, &actors.ChangeSubscription{Topic: t.topic, Spec: g.group.subscription(t, time.Now().UnixMilli())})
	}
	return nil
}

// Unsubscribe makes a running group give a topic up, see ConcurrentGroup.Unsubscribe. Error: ErrNotStarted, ErrClosed, *ConfigError if the
// group does not subscribe to the topic.
func (g *PullGroup) Unsubscribe(topic string) error { return g.group.Unsubscribe(topic) }

// Assign makes the group consume these queues and no others, whoever else does; the next Assign replaces them, and none pauses the group.
// Offsets are the group's all the same. Before the start and while running. Queues that do not exist are told by an
// ALLOCATION_FAULTY event and consumed as soon as they do. Errors: ErrSubscribed, ErrClosed, *ConfigError.
func (g *PullGroup) Assign(filter Filter, queues ...*Queue) error {
	r := g.group.runtime
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(g.group.topics) > 0 {
		return ErrSubscribed
	}
	var f faults
	for _, q := range queues {
		g.group.checkSubscription(&topicHandler{topic: q.GetTopic(), filter: filter}, &f)
	}
	if err := f.err(); err != nil {
		return err
	}
	running, err := r.declaringOrRunning()
	if err != nil {
		return err
	}
	g.assigned, g.filter = make([]*Queue, 0, len(queues)), filter
	g.assigned = append(g.assigned, queues...)
	if running {
		sub := filter.subscription("", 0)
		r.client.Tell(g.group.name, &actors.AssignQueues{
			Queues: g.keys(), Kind: sub.GetKind(), Expression: sub.GetExpression(), Tags: sub.GetTags(),
		})
	}
	return nil
}

func (g *PullGroup) keys() []messages.QueueKey {
	keys := make([]messages.QueueKey, 0, len(g.assigned)) // never nil: nothing chosen is a choice, too
	for _, q := range g.assigned {
		if !slices.Contains(keys, q.Key()) {
			keys = append(keys, q.Key())
		}
	}
	return keys
}

// idle tells that the program has neither subscribed nor assigned anything.
func (g *PullGroup) idle() bool {
	g.group.runtime.mu.Lock()
	defer g.group.runtime.mu.Unlock()
	return g.assigned == nil && !slices.ContainsFunc(g.group.topics, func(t *topicHandler) bool { return !t.listen })
}

// door is the way to the group while it runs.
func (g *PullGroup) door() (*actors.PollGroup, error) {
	if client := g.group.runtime.running(); client != nil {
		if door := client.PollGroup(g.group.name); door != nil {
			return door, nil
		}
		return nil, ErrStarted // declared too late
	}
	return nil, g.group.runtime.whyNotRunning()
}

func (g *PullGroup) groupName() string { return g.group.name }

// offsets is the store of a group that broadcasts.
func (g *PullGroup) offsets() OffsetStore { return g.config.Offsets }

func (g *PullGroup) check(f *faults) {
	f.group(g.group.name)
	g.config.check(g.group.name, f)
}

func (g *PullGroup) spec(version int64) *actors.GroupSpec {
	c := g.config
	spec := c.consumption().spec(g.group.name)
	spec.Limits.Span = int64(c.MaxSpan)
	spec.MaxReconsumes = int32(max(c.MaxRetries, 0))
	spec.HandOff = max(c.HandOff, 0)
	spec.Allocate = c.strategy()
	spec.Poll = &actors.PollSpec{
		AutoCommit: !c.ManualCommit, Limit: int64(c.MaxCachedTotal), OnRevoke: c.OnRevoke,
	}
	if c.OnAssignment != nil || g.schedule.any() {
		spec.Poll.OnAssignment = g.assignmentChanged
	}
	if c.Offsets != nil {
		spec.Broadcast = &actors.BroadcastSpec{}
	}
	if g.assigned == nil {
		spec.Subscriptions = g.group.subscriptions(version)
		return spec
	}
	spec.Poll.Assigned = g.keys()
	for _, key := range spec.Poll.Assigned {
		if !slices.ContainsFunc(spec.Subscriptions, func(s *actors.SubscriptionSpec) bool { return s.Topic == key.Topic }) {
			spec.Subscriptions = append(spec.Subscriptions, &actors.SubscriptionSpec{
				Topic: key.Topic, Subscription: g.filter.subscription(key.Topic, version),
			})
		}
	}
	return spec
}

// assignmentChanged passes on what the group has come to.
func (g *PullGroup) assignmentChanged(topic string, all, mine []*Queue) {
	g.schedule.assigned(topic, mine)
	if g.config.OnAssignment != nil {
		g.config.OnAssignment(topic, all, mine)
	}
}
