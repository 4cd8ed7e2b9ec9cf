package apache_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// sharing watches how a Java member and one of ours share the queues of a topic: a message goes into each queue, round after round,
// and who gets it owns the queue. Messages are called "ROUND BROKER/QUEUE".
type sharing struct {
	topic   string
	brokers []string // in order of name
	queues  int      // on each
	java    *apachebroker.Peer
	rounds  int

	mu   sync.Mutex
	ours []string
}

func (s *sharing) handle(_ context.Context, m *troupe.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ours = append(s.ours, string(m.GetBody()))
	return nil
}

// round publishes one and gives the queues whose messages each member got, once all have arrived that somebody is to own.
func (s *sharing) round(ctx context.Context, g Gomega, rt *troupe.Runtime, owned int) (ours, javas []string) {
	s.rounds++
	next, prefix := 0, fmt.Sprintf("%d ", s.rounds)
	p := rt.Publisher(troupe.PublisherConfig{Select: func(*troupe.Message, []*troupe.Queue) int { return next }})
	for next = range len(s.brokers) * s.queues {
		_, err := p.Send(ctx, troupe.NewMessage(s.topic, fmt.Appendf(nil, "%s%s/%d", prefix, s.brokers[next/s.queues], next%s.queues)))
		g.Expect(err).NotTo(HaveOccurred())
	}
	deadline := time.Now().Add(3 * time.Second)
	for len(ours)+len(javas) < owned && time.Now().Before(deadline) && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond) // a Java virtual machine: there is no event to wait for
		ours, javas = s.of(prefix)
	}
	return ours, javas
}

func (s *sharing) of(prefix string) (ours, javas []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.ours {
		if queue, ok := strings.CutPrefix(body, prefix); ok {
			ours = append(ours, queue)
		}
	}
	for _, e := range s.java.Of("message") {
		if queue, ok := strings.CutPrefix(e.Body, prefix); ok {
			javas = append(javas, queue)
		}
	}
	slices.Sort(ours)
	slices.Sort(javas)
	return ours, javas
}

// shared waits until each member has some of the queues that are to be owned, none twice, two rounds in a row.
func (s *sharing) shared(ctx context.Context, rt *troupe.Runtime, queues []string) (ours, javas []string) {
	GinkgoHelper()
	var before []string
	Eventually(func(g Gomega) {
		ours, javas = s.round(ctx, g, rt, len(queues))
		same := slices.Equal(ours, before)
		before = ours
		g.Expect(append(slices.Clone(ours), javas...)).To(ConsistOf(queues), "ours %v, Java's %v", ours, javas)
		g.Expect(ours).NotTo(BeEmpty())
		g.Expect(javas).NotTo(BeEmpty())
		g.Expect(same).To(BeTrue(), "the last round was like this")
	}).WithContext(ctx).WithTimeout(90 * time.Second).Should(Succeed())
	return ours, javas
}

// all names every queue, those of some brokers only if there are any.
func (s *sharing) all(brokers ...string) (queues []string) {
	for _, b := range s.brokers {
		for i := range s.queues {
			if len(brokers) == 0 || slices.Contains(brokers, b) {
				queues = append(queues, fmt.Sprintf("%s/%d", b, i))
			}
		}
	}
	return queues
}

var _ = onEveryVersion("A group with a Java member and one of ours", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	DescribeTable("shares the queues without overlap or gap", Label("A11"), func(ctx SpecContext, namespace string) {
		topic, group := unique("Mixed"), unique("MixedGroup")
		c := cluster(ctx)
		onWire, args := topic, []string{"--nameserver", c.NameServer(), "--group", group, "--topic", topic}
		if namespace != "" {
			onWire, args = namespace+"%"+topic, append(args, "--namespace", namespace)
		}
		Expect(c.CreateTopic(ctx, onWire, 7)).To(Succeed())
		java := javaPeer(ctx, v, "PushConsumer", args...)
		Expect(java.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())
		s := &sharing{topic: topic, brokers: []string{c.Broker().Name()}, queues: 7, java: java}
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}, Namespace: namespace}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(topic, troupe.AllTags(), s.handle)
		Expect(rt.Start(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
		ours, javas := s.shared(ctx, rt, s.all())
		Expect(len(ours)).To(BeElementOf(3, 4), "ours %v, Java's %v", ours, javas)
		Expect(ownedOf(rt, topic)).To(Equal(len(ours)))
		for _, e := range java.Of("message") {
			Expect(e.Topic).To(Equal(topic), "Java shows the plain name, too")
		}
	},
		Entry("averagely", SpecTimeout(3*time.Minute), ""),
		Entry("averagely, in a namespace", SpecTimeout(3*time.Minute), "tenant"))
})

var _ = onEveryVersion("A group with a Java member and one of ours on brokers in two machine rooms", func(v apachebroker.Version, _ func(context.Context) *apachebroker.Cluster) {
	if v != apachebroker.V5_3_3 { // the strategies are the same in all
		return
	}
	Context("with all brokers", Ordered, func() {
		brokers := []string{"broker-a", "east@a", "west@b"}
		var own *apachebroker.Cluster
		BeforeAll(func(ctx SpecContext) {
			var err error
			own, err = apachebroker.Start(ctx, apachebroker.Options{Version: v})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(own.Close()).To(Succeed()) })
			for _, name := range brokers[1:] {
				Expect(own.AddBroker(ctx, name, nil)).Error().NotTo(HaveOccurred())
			}
		}, NodeTimeout(3*time.Minute))

		// Of three brokers with three queues each; the first one is in no room.
		DescribeTable("shares the queues without overlap or gap", Label("A11"),
			func(ctx SpecContext, strategy func(topic string) troupe.Allocation, javas func(topic string) []string, owned []string, share func(s *sharing, ours []string)) {
				topic, group := unique("Rooms"), unique("RoomsGroup")
				Expect(own.CreateTopic(ctx, topic, 3)).To(Succeed())
				args := append([]string{"--nameserver", own.NameServer(), "--group", group, "--topic", topic, "--instance", "east-1"}, javas(topic)...)
				java := javaPeer(ctx, v, "PushConsumer", args...)
				Expect(java.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())
				s := &sharing{topic: topic, brokers: brokers, queues: 3, java: java}
				rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{own.NameServer()}}, troupe.Config{ClientID: "west-1"})
				Expect(err).NotTo(HaveOccurred())
				rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, Allocation: strategy(topic)}).
					Handle(topic, troupe.AllTags(), s.handle)
				Expect(rt.Start(ctx)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
				ours, _ := s.shared(ctx, rt, s.all(owned...))
				share(s, ours)
				Expect(java.Stop(ctx)).To(Succeed())
			},
			Entry("by circle", SpecTimeout(3*time.Minute), fixed(troupe.ByCircle()), says("--strategy", "circle"), nil,
				func(_ *sharing, ours []string) { Expect(len(ours)).To(BeElementOf(4, 5)) }),
			Entry("by consistent hashing", SpecTimeout(3*time.Minute), fixed(troupe.ConsistentHash(10)), says("--strategy", "hash"), nil,
				func(*sharing, []string) {}),
			Entry("by machine room", SpecTimeout(3*time.Minute), fixed(troupe.MachineRoom("east", "west")), says("--strategy", "room", "--rooms", "east,west"), brokers[1:],
				func(_ *sharing, ours []string) { Expect(ours).To(HaveLen(3)) }),
			Entry("by the nearest machine room", SpecTimeout(3*time.Minute), fixed(troupe.MachineRoomNearby(troupe.Averagely(),
				func(broker string) string { room, _, _ := strings.Cut(broker, "@"); return room },
				func(id string) string {
					if strings.Contains(id, "east-") {
						return "east"
					}
					return "west"
				})), says("--strategy", "nearby"), nil,
				func(s *sharing, ours []string) {
					Expect(ours).To(ContainElements(s.all("west@b")))
					Expect(ours).NotTo(ContainElements(s.all("east@a")[0]))
				}),
			Entry("by configuration", SpecTimeout(3*time.Minute),
				func(topic string) troupe.Allocation {
					var list []*troupe.Queue
					for i := range int32(3) {
						list = append(list, &troupe.Queue{Topic: topic, Broker: "west@b", Id: i})
					}
					return troupe.Configured(list...)
				},
				func(topic string) []string {
					var list []string
					for _, b := range brokers[:2] {
						for i := range 3 {
							list = append(list, fmt.Sprintf("%s:%s:%d", topic, b, i))
						}
					}
					return []string{"--strategy", "config", "--queues", strings.Join(list, ",")}
				}, nil,
				func(s *sharing, ours []string) { Expect(ours).To(ConsistOf(s.all("west@b"))) }),
		)
	})
})

func fixed(a troupe.Allocation) func(string) troupe.Allocation {
	return func(string) troupe.Allocation { return a }
}

func says(args ...string) func(string) []string { return func(string) []string { return args } }
