package conformance

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Growing specifies what becomes of the queues that a topic gets while its group is away, and while it consumes.
func Growing(cluster func(ctx context.Context) Cluster) {
	DescribeTable("consumes queues that came while it was away as it was told to, and those that come while it is there from their beginning",
		Label("A03", "A12"), func(ctx SpecContext, optIn bool, want int) {
			b, r := newBench(ctx, cluster(ctx), 4), newRecorder()
			config := troupe.ConcurrentConfig{ConsumeFrom: troupe.LastOffset, StrictLast: true, UnseenFromFirst: optIn}
			member := func() *troupe.Runtime {
				rt := b.runtime(troupe.WithObserver(r))
				rt.Concurrent(b.group, config).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
				return started(ctx, rt)
			}
			// to publishes into the queues from first on, one after the other.
			to := func(first, n int) {
				GinkgoHelper()
				next := 0
				p := b.publisher(ctx, troupe.PublisherConfig{Select: func(_ *troupe.Message, queues []*troupe.Queue) int {
					next++
					return first + next%(len(queues)-first)
				}})
				b.publish(ctx, p, n, func(_ int, m *troupe.Message) { m.Body = append([]byte{byte('a' + first), ' '}, m.Body...) })
			}
			rt := member()
			Eventually(func() int { return located(rt, b.topic) }, within).Should(Equal(4), "where the queues begin is fixed after the start")
			to(0, 40)
			Eventually(r.distinct, within).Should(Equal(40))
			Expect(rt.Shutdown(ctx)).To(Succeed())

			Expect(b.CreateTopic(ctx, b.topic, 8)).To(Succeed())
			to(4, 80)
			rt = member()
			skipped := func(e *troupe.Event) bool { return e.GetKind() == messages.EventKind_EVENT_KIND_QUEUES_SKIPPED }
			if optIn {
				Eventually(r.distinct, within).Should(Equal(40 + want))
				Expect(r.seen(skipped)).To(BeEmpty())
			} else {
				Eventually(func() []*troupe.Event { return r.seen(skipped) }, within).Should(HaveLen(1))
				Expect(r.seen(skipped)[0].GetCount()).To(Equal(int64(4)), r.seen(skipped)[0].GetText())
			}

			Expect(b.CreateTopic(ctx, b.topic, 10)).To(Succeed())
			to(8, 20)
			Eventually(r.distinct, "60s").Should(Equal(40+want+20), "the queues that came while it was there")
			Expect(rt.Shutdown(ctx)).To(Succeed())
			Expect(r.repeated()).To(BeZero())
		},
		Entry("from their beginning", SpecTimeout(3*time.Minute), true, 80),
		Entry("from their end, with a warning", SpecTimeout(3*time.Minute), false, 0))
}

// located counts the queues of a topic that have begun.
func located(rt *troupe.Runtime, topic string) (n int) {
	for _, q := range running(rt) {
		if q.GetQueue().GetTopic() == topic {
			n++
		}
	}
	return n
}
