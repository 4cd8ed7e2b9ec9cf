package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// within is how long something may take that should happen at once, on a machine that does other things, too.
const within = "20s"

// Consuming specifies what a concurrent group does on any cluster.
func Consuming(cluster func(ctx context.Context) Cluster) {
	It("delivers every message once, commits, and repeats nothing after a graceful restart", Label("A09"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 200)
		r := newRecorder()
		for round := range 2 {
			rt := b.runtime()
			rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
			started(ctx, rt)
			Eventually(r.distinct, within).Should(Equal(200))
			Expect(rt.Shutdown(ctx)).To(Succeed())
			Expect(r.count()).To(Equal(200), "round %d", round)
			Expect(b.committed(ctx, b.link(), b.group)).To(Equal(int64(200)))
		}
	}, SpecTimeout(time.Minute))

	It("delivers only the tags that were asked for, and commits what the filter left out", Label("A04"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		r := newRecorder()
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(b.topic, troupe.Tags("Aa", "Grüße"), r.handler("", nil))
		started(ctx, rt)
		// "BB" has the same Java hash code as "Aa": the broker's filter lets it through.
		tags := []string{"Aa", "BB", "Grüße", "other"}
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 80, func(i int, m *troupe.Message) { m.WithTag(tags[i%4]) })
		Eventually(r.distinct, within).Should(Equal(40))
		l := b.link()
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(80)))
		Expect(r.count()).To(Equal(40))
		for _, d := range r.all() {
			Expect(d.tag).To(BeElementOf("Aa", "Grüße"))
		}
	}, SpecTimeout(time.Minute))

	It("commits a stretch that the filter leaves out altogether, with no handler called", Label("A04"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 100, func(_ int, m *troupe.Message) { m.WithTag("B") })
		r := newRecorder()
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(b.topic, troupe.Tags("A"), r.handler("", nil))
		started(ctx, rt)
		l := b.link()
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(100)))
		Expect(r.count()).To(BeZero())
	}, SpecTimeout(time.Minute))

	DescribeTable("starts a new group where it was told to",
		func(ctx SpecContext, cfg troupe.ConcurrentConfig, old int) {
			b := newBench(ctx, cluster(ctx), 1)
			p := b.publisher(ctx, troupe.PublisherConfig{})
			b.publish(ctx, p, 10)
			r := newRecorder()
			rt := b.runtime(troupe.WithObserver(r))
			rt.Concurrent(b.group, cfg).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
			started(ctx, rt)
			Eventually(func() []*troupe.Event {
				return r.seen(func(e *troupe.Event) bool {
					return e.GetKind() == messages.EventKind_EVENT_KIND_QUEUE_ASSIGNED && e.GetQueue().GetTopic() == b.topic
				})
			}, within).Should(HaveLen(1))
			_, err := p.Send(ctx, troupe.NewMessage(b.topic, []byte("new")))
			Expect(err).NotTo(HaveOccurred())
			Eventually(func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.succeeded["new"] > 0 }, within).Should(BeTrue())
			Eventually(r.distinct, within).Should(Equal(old + 1))
		},
		Entry("first: at the beginning", Label("A02"), troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}, 10, SpecTimeout(time.Minute)),
		Entry("last, on a young topic: at the beginning, as the broker says", Label("A02"), troupe.ConcurrentConfig{}, 10, SpecTimeout(time.Minute)),
		Entry("by time, on a young topic: at the beginning, as the broker says", Label("A02"), troupe.ConcurrentConfig{ConsumeFrom: troupe.AtTime, ConsumeTime: time.Now().Add(time.Hour)}, 10, SpecTimeout(time.Minute)),
		Entry("strictly last: at the end", Label("A02"), troupe.ConcurrentConfig{StrictLast: true}, 0, SpecTimeout(time.Minute)),
	)

	It("hands failures back; they return with topic, tag and keys, later each time, and end in the dead letter topic", Label("A27"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		r := newRecorder()
		rt := b.runtime(troupe.WithObserver(r))
		fails := errors.New("fails on purpose")
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, MaxRetries: 1}).
			Handle(b.topic, troupe.AllTags(), r.handler("", func(_ context.Context, m *troupe.Message) error {
				if string(m.GetBody()) == "3" {
					return fails
				}
				return nil
			}))
		started(ctx, rt)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 6, func(i int, m *troupe.Message) { m.WithTag("t").WithKeys("k" + strconv.Itoa(i)) })
		l := b.link()
		Eventually(func() (int64, error) { return b.stored(ctx, l, "%DLQ%"+b.group) }, b.FirstRetry()+20*time.Second, "200ms").Should(Equal(int64(1)))
		var attempts []delivery
		for _, d := range r.all() {
			if d.body == "3" {
				attempts = append(attempts, d)
			}
		}
		Expect(attempts).To(HaveLen(2))
		Expect(attempts[1].at.Sub(attempts[0].at)).To(BeNumerically(">=", b.FirstRetry()-200*time.Millisecond))
		for i, d := range attempts {
			Expect(d.times).To(Equal(int32(i)))
			Expect(d.topic).To(Equal(b.topic))
			Expect(d.tag).To(Equal("t"))
			Expect(d.keys).To(Equal([]string{"k3"}))
		}
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(6)))
		dead := r.seen(func(e *troupe.Event) bool { return e.GetKind() == messages.EventKind_EVENT_KIND_DEAD_LETTERED })
		Expect(dead).To(HaveLen(1))
		Expect(dead[0].GetText()).To(Equal("fails on purpose"))
	}, SpecTimeout(2*time.Minute))

	It("sends a message straight to the dead letter topic when the handler says so", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		r := newRecorder()
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(b.topic, troupe.AllTags(), r.handler("", func(context.Context, *troupe.Message) error {
				return troupe.DeadLetter(errors.New("unreadable"))
			}))
		started(ctx, rt)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 1)
		l := b.link()
		Eventually(func() (int64, error) { return b.stored(ctx, l, "%DLQ%"+b.group) }, within).Should(Equal(int64(1)))
		Expect(r.count()).To(Equal(1))
	}, SpecTimeout(time.Minute))

	It("takes a panic for a failed attempt, and goes on", Label("A36"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		r := newRecorder()
		rt := b.runtime(troupe.WithObserver(r))
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, MaxRetries: troupe.NoRetries}).
			Handle(b.topic, troupe.AllTags(), r.handler("", func(_ context.Context, m *troupe.Message) error {
				if i, _ := strconv.Atoi(string(m.GetBody())); i%10 == 0 {
					panic("ouch " + string(m.GetBody()))
				}
				return nil
			}))
		started(ctx, rt)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 100)
		l := b.link()
		Eventually(func() (int64, error) { return b.stored(ctx, l, "%DLQ%"+b.group) }, within).Should(Equal(int64(10)))
		Eventually(r.distinct, within).Should(Equal(90))
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(100)))
		panics := r.seen(func(e *troupe.Event) bool { return e.GetKind() == messages.EventKind_EVENT_KIND_HANDLER_PANICKED })
		Expect(panics).To(HaveLen(10))
		Expect(panics[0].GetStack()).To(ContainSubstring("consuming.go"))
	}, SpecTimeout(time.Minute))

	It("hands back only what a batch handler names", Label("A29"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 16)
		r := newRecorder()
		rt := b.runtime(troupe.WithObserver(r))
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, MaxRetries: troupe.NoRetries}).
			HandleBatch(b.topic, troupe.AllTags(), 16, func(_ context.Context, ms []*troupe.Message) error {
				failed := make(map[int]error)
				for i, m := range ms {
					if s := string(m.GetBody()); s == "3" || s == "9" {
						failed[i] = fmt.Errorf("item %s", s)
					}
				}
				return troupe.FailedAt(failed)
			})
		started(ctx, rt)
		l := b.link()
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(16)))
		Expect(b.stored(ctx, l, "%DLQ%"+b.group)).To(Equal(int64(2)))
	}, SpecTimeout(time.Minute))

	It("commits nothing beyond a message that is still handled", Label("A08"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		r := newRecorder()
		release := make(chan struct{})
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, MaxSpan: 50}).
			Handle(b.topic, troupe.AllTags(), r.handler("", func(_ context.Context, m *troupe.Message) error {
				if string(m.GetBody()) == "11" {
					<-release
				}
				return nil
			}))
		started(ctx, rt)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 200)
		l := b.link()
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(11)))
		// The span holds: 11 is the oldest, so nothing from 61 on is pulled.
		Consistently(r.distinct, "1s").Should(BeNumerically("<=", 60))
		Expect(b.committed(ctx, l, b.group)).To(Equal(int64(11)))
		close(release)
		Eventually(r.distinct, within).Should(Equal(200))
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(200)))
		Expect(r.repeated()).To(BeZero())
	}, SpecTimeout(time.Minute))
}
