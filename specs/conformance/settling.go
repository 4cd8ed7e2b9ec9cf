package conformance

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Settling specifies what becomes of messages that are neither quickly handled nor simply failed.
func Settling(cluster func(ctx context.Context) Cluster) {
	It("repeats nothing after a shutdown in full flow: handlers that run may end, and their messages are settled", Label("A09"), func(ctx SpecContext) {
		const messageCount = 1000
		b := newBench(ctx, cluster(ctx), 4)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), messageCount)
		r := newRecorder()
		var begun atomic.Int64
		gate := newStopGate()
		// Sixty are quick; the handlers after them stay until the stop has begun, however slow the machine is.
		takes := func(ctx context.Context, _ *troupe.Message) error {
			if begun.Add(1) <= 60 {
				return nil
			}
			select {
			case <-gate.stopping:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			// Long enough that the drain reaches the queues before their handlers have been through all of them.
			timer := time.NewTimer(50 * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		first := b.runtime(troupe.WithObserver(gate))
		first.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, Workers: 20}).Handle(b.topic, troupe.AllTags(), r.handler("first", takes))
		started(ctx, first)
		// Nearly all twenty workers are in a handler: a topic leaves something for the others.
		Eventually(begun.Load, within).Should(BeNumerically(">", 60+10))
		running := begun.Load()
		begin := time.Now()
		Expect(first.Shutdown(ctx)).To(Succeed())
		Expect(time.Since(begin)).To(BeNumerically("<", 5*time.Second), "what was begun ends, and what stands below it; nothing else is waited for")
		settled := r.distinct()
		Expect(settled).To(BeNumerically(">=", running), "what was in a handler has come to its end")
		Expect(r.count()).To(Equal(settled), "every handler that was called has come to its end")
		Expect(settled).To(BeNumerically("<", messageCount), "the shutdown came in full flow")

		second := b.runtime()
		second.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(b.topic, troupe.AllTags(), r.handler("second", nil))
		started(ctx, second)
		Eventually(r.distinct, within).Should(Equal(messageCount))
		Eventually(func() (int64, error) { return b.committed(ctx, b.link(), b.group) }, within, "500ms").Should(Equal(int64(messageCount)))
		Expect(r.count()).To(Equal(messageCount), "the second member begins behind everything that the first has settled")
	}, SpecTimeout(time.Minute))

	It("holds the offset at the message in a handler while the filter leaves out what comes behind it", Label("A04"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		r := newRecorder()
		release := make(chan struct{})
		entered := make(chan struct{}, 1)
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(b.topic, troupe.Tags("A"), r.handler("", func(context.Context, *troupe.Message) error {
				entered <- struct{}{}
				<-release
				return nil
			}))
		started(ctx, rt)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 100, func(i int, m *troupe.Message) {
			m.WithTag("B")
			if i == 50 {
				m.WithTag("A")
			}
		})
		Eventually(entered, within).Should(Receive())
		l := b.link()
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(50)))
		Consistently(func() (int64, error) { return b.committed(ctx, l, b.group) }, "1s", "200ms").Should(Equal(int64(50)))
		close(release)
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(100)))
	}, SpecTimeout(time.Minute))

	It("asks the broker for the delay that the handler names", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		r := newRecorder()
		levels := make(chan string, 4)
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(b.topic, troupe.AllTags(), r.handler("", func(_ context.Context, m *troupe.Message) error {
				if m.GetReconsumeTimes() > 0 {
					levels <- m.Property(messages.PropertyDelay)
					return nil
				}
				return troupe.RetryAfter(4*time.Second, errors.New("later"))
			}))
		started(ctx, rt)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 1)
		// Levels are 1 s, 5 s, 10 s …; the first that is not below 4 s is the second. The broker leaves it in the record
		// (golden/observed.md 4), the default for a first failure would be 3.
		Eventually(levels, within).Should(Receive(Equal("2")))
		Expect(r.all()[1].times).To(Equal(int32(1)))
	}, SpecTimeout(time.Minute))

	It("goes to the right handler with every retried message of several topics", Label("A27"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		other := unique("other")
		Expect(b.CreateTopic(ctx, other, 1)).To(Succeed())
		here, there := newRecorder(), newRecorder()
		once := func(_ context.Context, m *troupe.Message) error {
			if m.GetReconsumeTimes() == 0 {
				return troupe.RetryAfter(time.Second, errors.New("once"))
			}
			return nil
		}
		rt := b.runtime()
		g := rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
		g.Handle(b.topic, troupe.Tags("t"), here.handler("", once))
		g.Handle(other, troupe.AllTags(), there.handler("", once))
		started(ctx, rt)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		for range 3 {
			for _, topic := range []string{b.topic, other} {
				_, err := p.Send(ctx, troupe.NewMessage(topic, []byte(topic)).WithTag("t"))
				Expect(err).NotTo(HaveOccurred())
			}
		}
		Eventually(here.count, within).Should(Equal(6))
		Eventually(there.count, within).Should(Equal(6))
		for topic, r := range map[string]*recorder{b.topic: here, other: there} {
			for _, d := range r.all() {
				Expect(d.topic).To(Equal(topic))
				Expect(d.body).To(Equal(topic))
				Expect(d.tag).To(Equal("t"))
			}
		}
	}, SpecTimeout(time.Minute))
}

// stopGate is an Observer that opens when the Runtime begins to stop.
type stopGate struct {
	once     sync.Once
	stopping chan struct{}
}

func newStopGate() *stopGate { return &stopGate{stopping: make(chan struct{})} }

// Observe opens the gate at the event that a stop begins with.
func (g *stopGate) Observe(e *troupe.Event) {
	if e.GetKind() == messages.EventKind_EVENT_KIND_CLIENT_STOPPING {
		g.once.Do(func() { close(g.stopping) })
	}
}
