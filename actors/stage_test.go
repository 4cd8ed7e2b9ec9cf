package actors_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/allocation"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

// group is the name of the group in nearly all specs.
const group = "billing"

// stage is one client on a scripted cluster, with everything it did on record.
type stage struct {
	cluster *linktest.Cluster
	spec    actors.ClientSpec
	client  *actors.Client
	log     logBook
	stopped bool
	release []func()

	mu      sync.Mutex
	events  []*messages.Event
	handled []string
	running int
	most    int
}

// logBook takes what is logged while others read it.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes a line.
func (b *logBook) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

// String gives everything so far.
func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// stages are those of the running spec.
var stages []*stage

// free lets blocked handlers go.
func (s *stage) free() {
	for _, release := range s.release {
		release()
	}
}

// Observe records an event.
func (s *stage) Observe(e *messages.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// groupOf makes a group with the documented defaults whose handlers note the bodies they got.
func (s *stage) groupOf(name string, topics ...string) *actors.GroupSpec {
	g := &actors.GroupSpec{
		Name: name, Workers: 20, PullBatch: 32, PullBytes: 256 << 10, Suspend: 15 * time.Second, PullTimeout: 30 * time.Second,
		Limits: actors.Limits{Messages: 1000, Bytes: 100 << 20, Span: 2000}, MaxReconsumes: 16,
		Start:       actors.StartRule{From: messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET},
		RevokeGrace: 5 * time.Second, RedeliverAfter: 5 * time.Second, HandOff: 2 * time.Second, Allocate: allocation.Average{},
	}
	for _, t := range topics {
		g.Subscriptions = append(g.Subscriptions, &actors.SubscriptionSpec{
			Topic: t, Subscription: &messages.Subscription{Topic: t, Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: "*", Version: 1},
			One: s.handler(func(context.Context, *messages.Message) error { return nil }),
		})
	}
	return g
}

// poll makes the group a pull group.
func (s *stage) poll(p actors.PollSpec) {
	g := s.spec.Groups[0]
	g.Poll, g.Workers, g.CarrySubscription = &p, 1, true
	for _, sub := range g.Subscriptions {
		sub.One = nil
	}
}

// handler wraps a handler so that calls and their bodies are on record.
func (s *stage) handler(h func(context.Context, *messages.Message) error) func(context.Context, *messages.Message) error {
	return func(ctx context.Context, m *messages.Message) error {
		s.mu.Lock()
		s.handled = append(s.handled, string(m.GetBody()))
		s.running++
		s.most = max(s.most, s.running)
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.running--
		}()
		return h(ctx, m)
	}
}

// handle sets what the first group's handlers do.
func (s *stage) handle(h func(context.Context, *messages.Message) error) {
	for _, sub := range s.spec.Groups[0].Subscriptions {
		sub.One = s.handler(h)
	}
}

// newStage makes a client that consumes topics as one group; it is not started yet. Call it in a bubble.
func newStage(topics ...string) *stage { return newStageOn(linktest.New(), "me", topics...) }

func newStageOn(cluster *linktest.Cluster, id string, topics ...string) *stage {
	s := &stage{cluster: cluster}
	stages = append(stages, s)
	log := logrus.New()
	log.SetOutput(&s.log)
	s.spec = actors.ClientSpec{
		ClientID: id, Transport: cluster, Log: log, Jitter: func() float64 { return 0.5 }, Observers: []actors.Observer{s},
		Periods: actors.Periods{
			RouteRefresh: 30 * time.Second, Heartbeat: 30 * time.Second, Rebalance: 20 * time.Second, Persist: 5 * time.Second,
		},
	}
	s.spec.Groups = []*actors.GroupSpec{s.groupOf(group, topics...)}
	return s
}

// start starts the client and lets everything happen that needs no time.
func (s *stage) start() *stage {
	s.launch()
	s.pass(200 * time.Millisecond)
	return s
}

// launch starts the client and waits for nothing.
func (s *stage) launch() *actors.Client {
	client, err := actors.StartClient(s.spec)
	Expect(err).NotTo(HaveOccurred())
	s.client = client
	return client
}

// pass lets virtual time pass and everything come to rest.
func (s *stage) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// stop stops the client in order and gives its report and how long that took.
func (s *stage) stop(drain time.Duration) (*messages.ClientStopped, time.Duration) {
	at := time.Now()
	report := s.client.Stop(context.Background(), drain)
	s.stopped = true
	took := time.Since(at)
	synctest.Wait()
	return report, took
}

// bodies gives what the handlers got so far, in order of the calls.
func (s *stage) bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.handled)
}

// busy gives how many handlers run, and how many ran at once at the most.
func (s *stage) busy() (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running, s.most
}

// seen gives the events of one kind so far.
func (s *stage) seen(kind messages.EventKind) (out []*messages.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.GetKind() == kind {
			out = append(out, e)
		}
	}
	return out
}

// facts gives the topology's facts of a queue, nil if it is not assigned.
func (s *stage) facts(key messages.QueueKey) *messages.QueueFacts {
	for _, g := range s.client.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetQueue().Key() == key {
				return q
			}
		}
	}
	return nil
}

// owned gives the names of the queues of a topic that the client holds.
func (s *stage) owned(topic string) (out []string) {
	for _, g := range s.client.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetQueue().GetTopic() == topic {
				out = append(out, q.GetQueue().Key().String())
			}
		}
	}
	return out
}

// lines gives what was logged.
func (s *stage) lines() []string {
	text := strings.TrimSpace(s.log.String())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// calls gives the recorded calls for which the condition holds.
func (s *stage) calls(op linktest.Op, conditions ...func(linktest.Call) bool) (out []linktest.Call) {
	for _, call := range s.cluster.Calls(op) {
		ok := true
		for _, holds := range conditions {
			ok = ok && holds(call)
		}
		if ok {
			out = append(out, call)
		}
	}
	return out
}

// on holds for calls about one queue.
func on(key messages.QueueKey) func(linktest.Call) bool {
	return func(call linktest.Call) bool { return call.Queue == key }
}

// about holds for calls about one topic.
func about(topic string) func(linktest.Call) bool {
	return func(call linktest.Call) bool { return call.Topic == topic }
}

// offsetsOf gives the offsets of calls.
func offsetsOf(calls []linktest.Call) (out []int64) {
	for _, call := range calls {
		out = append(out, call.Offset)
	}
	return out
}

// block makes handlers wait until released or their context ends, and gives the release.
func (s *stage) block() (h func(context.Context, *messages.Message) error, release func()) {
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	s.release = append(s.release, release)
	return func(ctx context.Context, _ *messages.Message) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, release
}

// ignoring makes handlers wait for the gate alone, whatever their context says.
func ignoring(gate <-chan struct{}) func(context.Context, *messages.Message) error {
	return func(context.Context, *messages.Message) error {
		<-gate
		return nil
	}
}
