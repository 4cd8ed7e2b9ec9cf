package actors

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/pollbuffer"
	"github.com/troupe-mq/troupe/actors/workpool"
	"github.com/troupe-mq/troupe/messages"
)

// groupContext is what the actors of one group share: how the group is configured, whom to turn to, what it tells.
type groupContext struct {
	spec      *GroupSpec
	routes    kit.Ref
	heartbeat kit.Ref
	offsets   kit.Ref
	retries   kit.Ref
	checker   kit.Ref
	home      offsetHome
	// locks is zero in a group that takes none.
	locks kit.Ref
	pool  *workpool.Pool
	// polls is what a pull group's program polls from, desk who tells it of its queues; nil and zero in other groups.
	polls *pollbuffer.Buffer
	desk  kit.Ref
	// handMembers are, for each queue pulled by hand, whom to ask (*handMember); byHand are the offsets that the program commits of
	// queues that are not assigned.
	handMembers sync.Map
	byHand      handTable
	// assigned are the queues that the program chose itself; nil: they are shared among the members.
	assigned atomic.Pointer[[]messages.QueueKey]
	calls    *calls
	// subscribed is what the group subscribes to now; the ConsumerGroup alone changes it.
	subscribed atomic.Pointer[subscriptions]
	status     *groupStatus
	// traces is nil unless the client traces messages.
	traces *tracing
}

func newGroupContext(env *Env, spec *GroupSpec, traces *TraceSpec) *groupContext {
	running := &calls{}
	g := &groupContext{
		spec: spec, status: &groupStatus{retries: newHandBackLine(), rates: make(map[string]*topicRates), first: make(map[string]map[messages.QueueKey]bool), shares: make(map[string]*atomic.Int64)}, calls: running,
		pool: workpool.New(workpool.Config{Workers: spec.Workers, Context: running.join}),
	}
	if p := spec.Poll; p != nil {
		g.polls = pollbuffer.New(p.AutoCommit)
		if p.Assigned != nil {
			g.assigned.Store(&p.Assigned)
		}
	}
	g.traces = newTracing(env, traces, spec.Name)
	g.home = &clusterOffsets{env: env, group: spec.Name}
	if spec.broadcasts() {
		home, warning := newMemberOffsets(spec.Broadcast.Offsets)
		if warning != "" {
			env.Events.Record(&messages.Event{
				Kind: messages.EventKind_EVENT_KIND_OFFSET_STORE_WARNING, Group: spec.Name, Text: warning,
			})
		}
		g.home = home
	}
	g.subscribed.Store(newSubscriptions(spec))
	for _, sub := range g.subscriptions().data.GetSubscriptions() {
		g.pool.Lane(sub.GetTopic())
	}
	return g
}

// subscriptions gives what the group subscribes to now.
func (g *groupContext) subscriptions() *subscriptions { return g.subscribed.Load() }

// groupStatus is what a group tells of itself: written by its actors, read by anybody.
type groupStatus struct {
	phase   text
	retries *handBackLine
	// wasReady says that the group has been ready once: it consumes, whatever was started anew since.
	wasReady atomic.Bool
	// revokeAll is what the Rebalancer was told at the end, for its next incarnation.
	revokeAll atomic.Pointer[messages.RevokeAll]

	mu      sync.Mutex
	queues  []*assignment
	members []string
	rates   map[string]*topicRates
	// first is, for each topic, its queues when it was assigned for the first time.
	first map[string]map[messages.QueueKey]bool
	// shares count the assigned queues of each topic.
	shares map[string]*atomic.Int64
}

// firstAssigned notes the queues of a topic that is assigned for the first time; later ones came while the group was there.
func (s *groupStatus) firstAssigned(topic string, queues []messages.QueueKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first[topic] != nil {
		return
	}
	s.first[topic] = make(map[messages.QueueKey]bool, len(queues))
	for _, key := range queues {
		s.first[topic][key] = true
	}
}

// cameLate tells whether a queue entered the route after the topic's first assignment.
func (s *groupStatus) cameLate(key messages.QueueKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.first[key.Topic]
	return first != nil && !first[key]
}

// shareOf counts the queues of a topic that are assigned to this member.
func (s *groupStatus) shareOf(topic string) *atomic.Int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.shares[topic]
	if n == nil {
		n = &atomic.Int64{}
		s.shares[topic] = n
	}
	return n
}

// ratesOf gives the rates of a topic; they outlive its queues.
func (s *groupStatus) ratesOf(topic string) *topicRates {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rates[topic]
	if r == nil {
		r = newTopicRates()
		s.rates[topic] = r
	}
	return r
}

func (s *groupStatus) addQueue(q *assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := slices.BinarySearchFunc(s.queues, q, func(x, y *assignment) int { return x.key.Compare(y.key) })
	s.queues = slices.Insert(s.queues, at, q)
}

func (s *groupStatus) removeQueue(key messages.QueueKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = slices.DeleteFunc(s.queues, func(q *assignment) bool { return q.key == key })
}

func (s *groupStatus) clearQueues() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = nil
	for _, n := range s.shares {
		n.Store(0)
	}
}

func (s *groupStatus) setMembers(members []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = members
}

// facts gives the snapshot for the topology.
func (g *groupContext) facts(now time.Time) *messages.GroupFacts {
	f := &messages.GroupFacts{
		Group: g.spec.Name, Phase: g.status.phase.get(), Workers: int32(g.pool.Workers()), WorkersBusy: int32(g.pool.Busy()),
		RetriesInFlight: g.status.retries.inFlight.Load(),
	}
	g.status.mu.Lock()
	defer g.status.mu.Unlock()
	f.Members = slices.Clone(g.status.members)
	for _, q := range g.status.queues {
		f.Queues = append(f.Queues, q.facts(g.spec.Limits, now))
	}
	if g.polls != nil {
		f.Polls = g.pollFacts(f.Queues)
	}
	return f
}

func (g *groupContext) pollFacts(queues []*messages.QueueFacts) *messages.PollFacts {
	waiting, ready, last := g.polls.Facts()
	f := &messages.PollFacts{
		Waiting: int32(waiting), Queues: int32(ready), Messages: g.polls.Messages(), AutoCommit: g.spec.Poll.AutoCommit,
	}
	if !last.IsZero() {
		f.LastPollAt = last.UnixMilli()
	}
	for _, q := range queues {
		f.Unfinished += q.GetUnfinished()
	}
	return f
}

// told lets queues be polled that a pull group's program was told of.
func (g *groupContext) told(keys []messages.QueueKey) {
	g.status.mu.Lock()
	defer g.status.mu.Unlock()
	for _, q := range g.status.queues {
		if slices.Contains(keys, q.key) {
			q.told()
		}
	}
}

// unpolled counts what waits to be polled and what is on its way there, in messages. It is a sum, not a counter that could drift.
func (g *groupContext) unpolled() (sum int64) {
	g.status.mu.Lock()
	defer g.status.mu.Unlock()
	for _, q := range g.status.queues {
		if w := q.status.window.Load(); w != nil {
			count, _ := w.Cached()
			sum += count
		}
		sum += q.transitMessages.Load()
	}
	return sum
}

// lockKeeper is whom to ask for a queue's lock; nobody if the group takes none.
func (g *groupContext) lockKeeper() kit.Ref {
	if g.assigned.Load() != nil {
		return kit.Ref{} // the program says who has which queue
	}
	return g.locks
}

// closeOffsets gives a store of the member's own up, when nothing of the tree runs any more.
func (g *groupContext) closeOffsets(ctx context.Context) {
	home, ok := g.home.(*memberOffsets)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	_ = home.close(ctx) // what was to be saved was, or is reported
}
