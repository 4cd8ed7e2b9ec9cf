package conformance

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Living specifies how a group lives with members, brokers and offsets that come and go.
func Living(cluster func(ctx context.Context) Cluster) {
	It("shares queues among members that join and leave, and loses nothing", Label("A14"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 8)
		r := newRecorder()
		member := func(name string) *troupe.Runtime {
			rt := b.runtime(troupe.WithObserver(r))
			rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(b.topic, troupe.AllTags(), r.handler(name, nil))
			return started(ctx, rt)
		}
		owned := func(rt *troupe.Runtime) func() int {
			return func() int {
				n := 0
				for _, g := range rt.Topology().GetGroups() {
					for _, q := range g.GetQueues() {
						if q.GetQueue().GetTopic() == b.topic && q.GetPhase() == "running" {
							n++
						}
					}
				}
				return n
			}
		}
		one := member("one")
		p := b.publisher(ctx, troupe.PublisherConfig{})
		Eventually(owned(one), within).Should(Equal(8))
		b.publish(ctx, p, 80)
		two := member("two")
		Eventually(owned(one), within).Should(Equal(4))
		Eventually(owned(two), within).Should(Equal(4))
		b.publish(ctx, p, 80, func(_ int, m *troupe.Message) { m.Body = append([]byte("second "), m.Body...) })
		Eventually(r.distinct, within).Should(Equal(160))
		Expect(two.Shutdown(ctx)).To(Succeed())
		Eventually(owned(one), within).Should(Equal(8))
		b.publish(ctx, p, 80, func(_ int, m *troupe.Message) { m.Body = append([]byte("third "), m.Body...) })
		Eventually(r.distinct, within).Should(Equal(240))
		byMember := map[string]int{}
		for _, d := range r.all() {
			byMember[d.member]++
		}
		Expect(byMember["two"]).To(BeNumerically(">=", 40))
	}, SpecTimeout(2*time.Minute))

	DescribeTable("corrects an offset that the broker refuses, within a second",
		func(ctx SpecContext, stored int64, from, to int64) {
			b := newBench(ctx, cluster(ctx), 1)
			p := b.publisher(ctx, troupe.PublisherConfig{})
			b.publish(ctx, p, 10)
			l := b.link()
			addr, broker, err := b.address(ctx, l, b.topic)
			Expect(err).NotTo(HaveOccurred())
			r := newRecorder()
			// The group must be known to a broker before it takes an offset: a first member introduces it.
			first := b.runtime()
			first.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(b.topic, troupe.AllTags(), newRecorder().handler("", nil))
			started(ctx, first)
			Expect(first.Shutdown(ctx)).To(Succeed())
			Expect(l.Commit(ctx, addr, b.group, &messages.Queue{Topic: b.topic, Broker: broker}, stored)).To(Succeed())

			rt := b.runtime(troupe.WithObserver(r))
			rt.Concurrent(b.group, troupe.ConcurrentConfig{}).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
			started(ctx, rt)
			corrected := func() []*troupe.Event {
				return r.seen(func(e *troupe.Event) bool { return e.GetKind() == messages.EventKind_EVENT_KIND_OFFSET_CORRECTED })
			}
			Eventually(corrected, within).Should(HaveLen(1))
			event := corrected()[0]
			Expect(event.GetPreviousOffset()).To(Equal(from))
			Expect(event.GetOffset()).To(Equal(to))
			Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, "6s").Should(Equal(to))
			_, err = p.Send(ctx, troupe.NewMessage(b.topic, []byte("after")))
			Expect(err).NotTo(HaveOccurred())
			Eventually(r.distinct, within).Should(Equal(1))
			Expect(r.all()[0].at.Sub(time.UnixMilli(event.GetAt()))).To(BeNumerically("<", within2()))
		},
		Entry("beyond the end: the broker's maximum", Label("A06"), int64(5000), int64(5000), int64(10), SpecTimeout(time.Minute)),
	)

	It("ends its handlers at a shutdown, and cancels those that outlive the deadline", Label("A32"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 2)
		r := newRecorder()
		entered := make(chan struct{}, 2)
		causes := make(chan error, 1)
		slow := func(ctx context.Context, m *troupe.Message) error {
			entered <- struct{}{}
			if string(m.GetBody()) == "0" {
				time.Sleep(300 * time.Millisecond)
				return nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		}
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(b.topic, troupe.AllTags(), r.handler("", slow))
		started(ctx, rt)
		Eventually(entered, within).Should(Receive())
		Eventually(entered, within).Should(Receive())
		deadline, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		begin := time.Now()
		Expect(rt.Shutdown(deadline)).To(Succeed(), "the handler heeds its context, so nothing is abandoned")
		Expect(time.Since(begin)).To(And(BeNumerically(">=", 900*time.Millisecond), BeNumerically("<", 3*time.Second)))
		Expect(causes).To(Receive(MatchError(troupe.ErrDraining)))
		Expect(r.distinct()).To(Equal(1))
		// What ended because of the shutdown is no failed attempt: the next member gets it, as if new.
		again := b.runtime()
		again.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(b.topic, troupe.AllTags(), r.handler("again", nil))
		started(ctx, again)
		Eventually(r.distinct, within).Should(Equal(2))
		last := r.all()[len(r.all())-1]
		Expect(last.body).To(Equal("1"))
		Expect(last.times).To(BeZero())
	}, SpecTimeout(time.Minute))

	It("starts without a topic that does not exist yet, and consumes it once it does", Label("A35"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		later := unique("later")
		r := newRecorder()
		rt := b.runtime(troupe.WithObserver(r))
		g := rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
		g.Handle(b.topic, troupe.AllTags(), r.handler("", nil))
		g.Handle(later, troupe.AllTags(), r.handler("", nil))
		started(ctx, rt)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		b.publish(ctx, p, 5)
		Eventually(r.distinct, within).Should(Equal(5))
		Expect(r.seen(func(e *troupe.Event) bool {
			return e.GetKind() == messages.EventKind_EVENT_KIND_ROUTE_MISSING && e.GetTopic() == later
		})).NotTo(BeEmpty())
		Expect(b.CreateTopic(ctx, later, 1)).To(Succeed())
		_, err := p.Send(ctx, troupe.NewMessage(later, []byte("late")))
		Expect(err).NotTo(HaveOccurred())
		Eventually(r.distinct, "35s").Should(Equal(6))
	}, SpecTimeout(90*time.Second))

	DescribeTable("goes on by itself after its only broker went and came back: nothing is lost, nothing comes twice", Label("A13"),
		func(ctx SpecContext, restart func(Cluster, context.Context) error) {
			b := newBench(ctx, cluster(ctx), 4)
			r := newRecorder()
			held := make(chan struct{})
			rt := b.runtime()
			rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
				Handle(b.topic, troupe.AllTags(), r.handler("", func(_ context.Context, m *troupe.Message) error {
					if m.Tag() == "held" {
						<-held
					}
					return nil
				}))
			started(ctx, rt)
			p := b.publisher(ctx, troupe.PublisherConfig{Retries: 10})
			b.publish(ctx, p, 40)
			Eventually(r.distinct, within).Should(Equal(40))
			// Four messages are in handlers while the broker is away: their results count afterwards.
			b.publish(ctx, p, 4, func(i int, m *troupe.Message) { m.Body = fmt.Append(nil, "held ", i); m.WithTag("held") })
			Eventually(r.count, within).Should(Equal(44))
			Expect(restart(b.Cluster, ctx)).To(Succeed())
			close(held)
			Eventually(func() error {
				_, err := p.Send(ctx, troupe.NewMessage(b.topic, []byte("first after")))
				return err
			}, "60s", "200ms").Should(Succeed())
			b.publish(ctx, p, 40, func(_ int, m *troupe.Message) { m.Body = append([]byte("again "), m.Body...) })
			Eventually(r.distinct, "60s").Should(Equal(85))
			Eventually(func() int { return len(running(rt)) }, within).Should(BeNumerically(">=", 4))
			l := b.link()
			Eventually(func(g Gomega) {
				end, err := b.stored(ctx, l, b.topic)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(b.committed(ctx, l, b.group)).To(Equal(end))
			}, within, "200ms").Should(Succeed())
			Expect(r.redelivered()).To(BeEmpty())
		},
		Entry("killed", Cluster.Kill, SpecTimeout(3*time.Minute)),
		Entry("stopped in order", Cluster.Bounce, SpecTimeout(3*time.Minute)),
	)
}

// within2 is the promise for a corrected offset, with a margin for a busy machine.
func within2() time.Duration { return 5 * time.Second }

func running(rt *troupe.Runtime) []*messages.QueueFacts {
	var out []*messages.QueueFacts
	for _, g := range rt.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetPhase() == "running" {
				out = append(out, q)
			}
		}
	}
	return out
}
