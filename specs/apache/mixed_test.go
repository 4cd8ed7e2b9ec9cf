package apache_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

var _ = onEveryVersion("A group with a Java member and one of ours", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	It("shares the queues without overlap or gap", Label("A11"), func(ctx SpecContext) {
		topic, group := unique("Mixed"), unique("MixedGroup")
		c := cluster(ctx)
		Expect(c.CreateTopic(ctx, topic, 7)).To(Succeed())
		java := javaPeer(ctx, v, "PushConsumer", "--nameserver", c.NameServer(), "--group", group, "--topic", topic)
		Expect(java.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())

		var mu sync.Mutex
		ours := map[int32]int{}
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
				mu.Lock()
				defer mu.Unlock()
				ours[m.GetQueueId()]++
				return nil
			})
		Expect(rt.Start(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
		// Java reacts to the new member within its second between rounds.
		Eventually(func() int { return ownedOf(rt, topic) }).WithContext(ctx).WithTimeout(30 * time.Second).Should(BeElementOf(3, 4))
		Eventually(func(g Gomega) {
			share, err := javaShare(ctx, c, rt, topic, java)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(share).To(BeElementOf(3, 4))
			g.Expect(share + ownedOf(rt, topic)).To(Equal(7))
		}).WithContext(ctx).WithTimeout(60 * time.Second).WithPolling(time.Second).Should(Succeed())
		mu.Lock()
		defer mu.Unlock()
		Expect(len(ours)).To(BeNumerically(">=", ownedOf(rt, topic)))
	}, SpecTimeout(3*time.Minute))
})

// javaShare publishes a message to each queue and counts the queues of which the Java member got the newest one.
func javaShare(ctx context.Context, c *apachebroker.Cluster, rt *troupe.Runtime, topic string, java *apachebroker.Peer) (int, error) {
	next := 0
	p := rt.Publisher(troupe.PublisherConfig{Select: func(*troupe.Message, []*troupe.Queue) int { next++; return next - 1 }})
	latest := map[int64]int64{}
	for range 7 {
		receipt, err := p.Send(ctx, troupe.NewMessage(topic, []byte("x")))
		if err != nil {
			return 0, err
		}
		latest[int64(receipt.GetQueue().GetId())] = receipt.GetQueueOffset()
	}
	time.Sleep(500 * time.Millisecond) // a real broker and a Java virtual machine: there is no event to wait for
	n := 0
	for _, e := range java.Of("message") {
		if offset, ok := latest[int64(e.Queue)]; ok && e.Offset == offset {
			n++
		}
	}
	return n, nil
}

func ownedOf(rt *troupe.Runtime, topic string) int {
	n := 0
	for _, g := range rt.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetQueue().GetTopic() == topic && q.GetPhase() == "running" {
				n++
			}
		}
	}
	return n
}

var _ = Describe("Apache's Java client on the embedded broker", Label("apache", "peers-on-embedded"), func() {
	for _, v := range []apachebroker.Version{apachebroker.V5_3_3} {
		It("publishes, consumes, and gets a refused message again by the retry schedule", func(ctx SpecContext) {
			levels := make([]time.Duration, 18)
			for i := range levels {
				levels[i] = time.Second
			}
			broker, err := embedded.Start(ctx, embedded.Config{DelayLevels: levels})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(broker.Close()).To(Succeed()) })
			Expect(broker.CreateTopic("orders", 2)).To(Succeed())
			produce(ctx, v, nil, "--nameserver", broker.Addr(), "--topic", "orders", "--count", "20", "--tag", "paid", "--key", "k")
			consumer := javaPeer(ctx, v, "PushConsumer", "--nameserver", broker.Addr(), "--group", "billing", "--topic", "orders", "--tags", "paid", "--fail", "1")
			got, err := consumer.Await(ctx, "message", 40)
			Expect(err).NotTo(HaveOccurred())
			times := map[string][]int64{}
			for _, e := range got {
				Expect(e.Topic).To(Equal("orders"))
				times[e.MsgID] = append(times[e.MsgID], int64(e.ReconsumeTimes))
			}
			Expect(times).To(HaveLen(20))
			for id, t := range times {
				Expect(t).To(Equal([]int64{0, 1}), id)
			}
			Expect(consumer.Stop(ctx)).To(Succeed())
			Expect(broker.Lag("billing", "orders")).To(BeZero())
		}, SpecTimeout(3*time.Minute))
	}
})
