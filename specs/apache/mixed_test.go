package apache_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

var _ = onEveryVersion("An orderly group with a Java member and one of ours", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	It("handles each queue in order and nothing twice while ours joins and leaves", Label("A11"), func(ctx SpecContext) {
		const queues = 6
		topic, group := unique("MixedOrder"), unique("MixedOrderGroup")
		c := cluster(ctx)
		Expect(c.CreateTopic(ctx, topic, queues)).To(Succeed())
		java := javaPeer(ctx, v, "PushConsumer", "--nameserver", c.NameServer(), "--group", group, "--topic", topic, "--mode", "orderly")
		Expect(java.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())

		stop, acknowledged := flow(ctx, c, topic)
		Eventually(func() int { return len(java.Of("message")) }).WithContext(ctx).WithTimeout(30 * time.Second).Should(BeNumerically(">", 30))
		var mu sync.Mutex
		ours := map[int32][]int64{}
		count := func() (n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, offsets := range ours {
				n += len(offsets)
			}
			return n
		}
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Orderly(group, troupe.OrderlyConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
				mu.Lock()
				defer mu.Unlock()
				ours[m.GetQueueId()] = append(ours[m.GetQueueId()], m.GetQueueOffset())
				return nil
			})
		Expect(rt.Start(ctx)).To(Succeed())
		DeferCleanup(rt.Shutdown)
		Eventually(func() int { return ownedOf(rt, topic) }).WithContext(ctx).WithTimeout(45 * time.Second).Should(Equal(queues / 2))
		Eventually(count).WithContext(ctx).WithTimeout(30 * time.Second).Should(BeNumerically(">", 60))
		Expect(rt.Shutdown(ctx)).To(Succeed())
		before := len(java.Of("message"))
		Eventually(func() int { return len(java.Of("message")) }).WithContext(ctx).WithTimeout(45 * time.Second).Should(BeNumerically(">", before+30))
		stop()
		Eventually(func() int { return len(java.Of("message")) + count() }).WithContext(ctx).WithTimeout(60 * time.Second).
			Should(BeNumerically(">=", len(acknowledged())))

		Expect(ours).To(HaveLen(queues / 2))
		javas := map[int32][]int64{}
		for _, e := range java.Of("message") {
			javas[e.Queue] = append(javas[e.Queue], e.Offset)
		}
		total := 0
		for q := range int32(queues) {
			for _, one := range [][]int64{ours[q], javas[q]} {
				Expect(slices.IsSorted(one)).To(BeTrue(), "queue %d: %v", q, one)
			}
			both := slices.Sorted(slices.Values(append(slices.Clone(ours[q]), javas[q]...)))
			for i, offset := range both {
				Expect(offset).To(BeEquivalentTo(i), "queue %d: none missing, none twice", q)
			}
			if n := len(ours[q]); n > 0 {
				Expect(ours[q][n-1]-ours[q][0]).To(BeEquivalentTo(n-1), "queue %d: ours had it in one piece", q)
			}
			total += len(both)
		}
		Expect(total).To(Equal(len(acknowledged())))
	}, SpecTimeout(4*time.Minute))
})

// flow publishes fifty messages a second, spread over the queues, until it is stopped; acknowledged gives the bodies of those that
// were stored then.
func flow(ctx context.Context, c *apachebroker.Cluster, topic string) (stop func(), acknowledged func() []string) {
	GinkgoHelper()
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}}, troupe.Config{})
	Expect(err).NotTo(HaveOccurred())
	p := rt.Publisher(troupe.PublisherConfig{})
	Expect(rt.Start(ctx)).To(Succeed())
	DeferCleanup(rt.Shutdown)
	ctx, cancel := context.WithCancel(ctx)
	var bodies []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			body := strconv.Itoa(n)
			if _, err := p.Send(context.WithoutCancel(ctx), troupe.NewMessage(topic, []byte(body))); err == nil {
				bodies = append(bodies, body)
			}
		}
	}()
	stop = func() { cancel(); <-ended }
	DeferCleanup(stop)
	return stop, func() []string { <-ended; return bodies }
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
