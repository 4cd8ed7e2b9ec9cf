package push_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// On a real broker a topic is trimmed only after hours, so this table is for the embedded one (golden/observed.md 8).
var _ = Describe("A new group on a topic whose first messages are gone", func() {
	DescribeTable("starts where it was told to",
		func(ctx SpecContext, cfg troupe.ConcurrentConfig, first int64, corrections int) {
			b := broker(ctx, embedded.Config{})
			Expect(b.CreateTopic("t", 1)).To(Succeed())
			fill(b, "t", 400, 1)
			b.Trim("t", 0, 389)
			w := newWatcher()
			lowest := atomic.Int64{}
			lowest.Store(1 << 40)
			rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{OffsetPersistInterval: 100 * time.Millisecond}, troupe.WithObserver(w))
			Expect(err).NotTo(HaveOccurred())
			cfg.Workers = 1
			rt.Concurrent("g", cfg).Handle("t", troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
				lowest.Store(min(lowest.Load(), m.GetQueueOffset()))
				return nil
			})
			start(ctx, rt)
			Eventually(func() int { return owned(rt) }, "10s").Should(Equal(1))
			fill(b, "t", 1, 1)
			Eventually(func() int64 { n, _ := b.Committed("g", "t", 0); return n }, "10s").Should(Equal(int64(401)))
			Expect(lowest.Load()).To(Equal(first))
			Expect(w.of(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED)).To(HaveLen(corrections))
		},
		Entry("last: at the end", Label("A02"), troupe.ConcurrentConfig{}, int64(400), 0, SpecTimeout(time.Minute)),
		Entry("strictly last: at the end", Label("A02"), troupe.ConcurrentConfig{StrictLast: true}, int64(400), 0, SpecTimeout(time.Minute)),
		Entry("first: at the oldest message there is", Label("A02"), troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}, int64(389), 0, SpecTimeout(time.Minute)),
		Entry("by a time before all: at the oldest message there is", troupe.ConcurrentConfig{ConsumeFrom: troupe.AtTime, ConsumeTime: time.Now().Add(-time.Hour)}, int64(389), 0, SpecTimeout(time.Minute)),
		Entry("by a time after all: at the end", troupe.ConcurrentConfig{ConsumeFrom: troupe.AtTime, ConsumeTime: time.Now().Add(time.Hour)}, int64(400), 0, SpecTimeout(time.Minute)),
	)
})

var _ = Describe("A group that is known, wherever new ones start", func() {
	It("goes on at its offset", Label("A02"), func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{})
		Expect(b.CreateTopic("t", 1)).To(Succeed())
		fill(b, "t", 100, 1)
		b.Commit("g", "t", 0, 40)
		for _, cfg := range []troupe.ConcurrentConfig{{}, {StrictLast: true}, {ConsumeFrom: troupe.FirstOffset}, {ConsumeFrom: troupe.AtTime, ConsumeTime: time.Now()}} {
			w := newWatcher()
			rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{}, troupe.WithObserver(w))
			Expect(err).NotTo(HaveOccurred())
			g := rt.Concurrent("g", cfg)
			g.Handle("t", troupe.AllTags(), ignore)
			g.Pause()
			Expect(rt.Start(ctx)).To(Succeed())
			Eventually(func() []*troupe.Event { return w.of(messages.EventKind_EVENT_KIND_QUEUE_ASSIGNED) }, "10s").
				Should(ContainElement(HaveField("Offset", int64(40))))
			Expect(rt.Shutdown(ctx)).To(Succeed())
			b.Commit("g", "t", 0, 40)
		}
	}, SpecTimeout(time.Minute))
})
