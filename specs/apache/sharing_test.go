package apache_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
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

// sharing watches how one of our members and others share the queues of a topic: a message goes into each queue, round after round,
// and who gets it owns the queue. Messages are called "ROUND BROKER/QUEUE".
type sharing struct {
	topic   string
	brokers []string // in order of name
	queues  int      // on each
	others  []func() (bodies []string)
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

// round publishes one and gives the queues whose messages each member got, ours first, once all have arrived that somebody is to own.
func (s *sharing) round(ctx context.Context, g Gomega, rt *troupe.Runtime, owned int) (shares [][]string) {
	s.rounds++
	next, prefix := 0, fmt.Sprintf("%d ", s.rounds)
	p := rt.Publisher(troupe.PublisherConfig{Select: func(*troupe.Message, []*troupe.Queue) int { return next }})
	for next = range len(s.brokers) * s.queues {
		_, err := p.Send(ctx, troupe.NewMessage(s.topic, fmt.Appendf(nil, "%s%s/%d", prefix, s.brokers[next/s.queues], next%s.queues)))
		g.Expect(err).NotTo(HaveOccurred())
	}
	deadline := time.Now().Add(3 * time.Second)
	for len(slices.Concat(shares...)) < owned && time.Now().Before(deadline) && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond) // other processes: there is no event to wait for
		shares = s.of(prefix)
	}
	return shares
}

func (s *sharing) of(prefix string) (shares [][]string) {
	s.mu.Lock()
	ours := slices.Clone(s.ours)
	s.mu.Unlock()
	members := [][]string{ours}
	for _, bodies := range s.others {
		members = append(members, bodies())
	}
	for _, bodies := range members {
		var share []string
		for _, body := range bodies {
			if queue, ok := strings.CutPrefix(body, prefix); ok {
				share = append(share, queue)
			}
		}
		slices.Sort(share)
		shares = append(shares, share)
	}
	return shares
}

// shared waits until each member has some of the queues that are to be owned, none twice, two rounds in a row.
func (s *sharing) shared(ctx context.Context, rt *troupe.Runtime, queues []string) (shares [][]string) {
	GinkgoHelper()
	var before []string
	Eventually(func(g Gomega) {
		shares = s.round(ctx, g, rt, len(queues))
		same := slices.Equal(shares[0], before)
		before = shares[0]
		g.Expect(slices.Concat(shares...)).To(ConsistOf(queues), "shares %v", shares)
		g.Expect(shares).To(HaveEach(Not(BeEmpty())), "shares %v", shares)
		g.Expect(same).To(BeTrue(), "the last round was like this")
	}).WithContext(ctx).WithTimeout(90 * time.Second).Should(Succeed())
	return shares
}

// bodiesOf gives what a Java member has got.
func bodiesOf(java *apachebroker.Peer) func() []string {
	return func() (bodies []string) {
		for _, e := range java.Of("message") {
			bodies = append(bodies, e.Body)
		}
		return bodies
	}
}

// buildGoMember builds the member that uses rocketmq-client-go, whose modules may have to be fetched.
func buildGoMember(ctx context.Context) (program string) {
	GinkgoHelper()
	program = filepath.Join(GinkgoT().TempDir(), "gomember")
	out, err := exec.CommandContext(ctx, "go", "build", "-C", "../peers", "-o", program, "./clients/gomember").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return program
}

// goMember starts it and gives what it has got.
func goMember(ctx context.Context, program string, args ...string) func() []string {
	GinkgoHelper()
	cmd := exec.Command(program, args...)
	in, err := cmd.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	lines, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())
	var mu sync.Mutex
	var bodies []string
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for l := bufio.NewScanner(lines); l.Scan(); {
			if l.Text() == "ready" {
				close(ready)
			} else if body, ok := strings.CutPrefix(l.Text(), "message "); ok {
				mu.Lock()
				bodies = append(bodies, body)
				mu.Unlock()
			}
		}
	}()
	DeferCleanup(func() {
		_ = in.Close()
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() }) // it may take long to stop
		defer kill.Stop()
		<-ended
		_ = cmd.Wait() // how it ends is its own affair
	})
	Eventually(ready).WithContext(ctx).WithTimeout(30 * time.Second).Should(BeClosed())
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(bodies)
	}
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
		s := &sharing{topic: topic, brokers: []string{c.Broker().Name()}, queues: 7, others: []func() []string{bodiesOf(java)}}
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}, Namespace: namespace}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(topic, troupe.AllTags(), s.handle)
		Expect(rt.Start(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
		shares := s.shared(ctx, rt, s.all())
		Expect(len(shares[0])).To(BeElementOf(3, 4), "shares %v", shares)
		Expect(ownedOf(rt, topic)).To(Equal(len(shares[0])))
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
		var program string
		BeforeAll(func(ctx SpecContext) { program = buildGoMember(ctx) }, NodeTimeout(8*time.Minute))
		BeforeAll(func(ctx SpecContext) {
			var err error
			own, err = apachebroker.Start(ctx, apachebroker.Options{Version: v})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(own.Close()).To(Succeed()) })
			for _, name := range brokers[1:] {
				Expect(own.AddBroker(ctx, name, nil)).Error().NotTo(HaveOccurred())
			}
		}, NodeTimeout(3*time.Minute))

		// Of three brokers with as many queues each; the first one is in no room.
		DescribeTable("shares the queues without overlap or gap", Label("A11"),
			func(ctx SpecContext, queues int, strategy func(topic string) troupe.Allocation, javas func(topic string) []string, owned []string, share func(s *sharing, ours []string)) {
				topic, group := unique("Rooms"), unique("RoomsGroup")
				Expect(own.CreateTopic(ctx, topic, queues)).To(Succeed())
				args := append([]string{"--nameserver", own.NameServer(), "--group", group, "--topic", topic, "--instance", "east-1"}, javas(topic)...)
				java := javaPeer(ctx, v, "PushConsumer", args...)
				Expect(java.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())
				s := &sharing{topic: topic, brokers: brokers, queues: queues, others: []func() []string{bodiesOf(java)}}
				rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{own.NameServer()}}, troupe.Config{ClientID: "west-1"})
				Expect(err).NotTo(HaveOccurred())
				rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, Allocation: strategy(topic)}).
					Handle(topic, troupe.AllTags(), s.handle)
				Expect(rt.Start(ctx)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
				share(s, s.shared(ctx, rt, s.all(owned...))[0])
				Expect(java.Stop(ctx)).To(Succeed())
			},
			Entry("by circle", SpecTimeout(3*time.Minute), 3, fixed(troupe.ByCircle()), says("--strategy", "circle"), nil,
				func(_ *sharing, ours []string) { Expect(len(ours)).To(BeElementOf(4, 5)) }),
			// So many that neither member can be without any, whatever their ids.
			Entry("by consistent hashing", SpecTimeout(3*time.Minute), 16, fixed(troupe.ConsistentHash(10)), says("--strategy", "hash"), nil,
				func(*sharing, []string) {}),
			Entry("by machine room", SpecTimeout(3*time.Minute), 3, fixed(troupe.MachineRoom("east", "west")), says("--strategy", "room", "--rooms", "east,west"), brokers[1:],
				func(_ *sharing, ours []string) { Expect(ours).To(HaveLen(3)) }),
			Entry("by the nearest machine room", SpecTimeout(3*time.Minute), 3, fixed(troupe.MachineRoomNearby(troupe.Averagely(),
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
			Entry("by configuration", SpecTimeout(3*time.Minute), 3,
				configured("west@b"), configures(brokers[:2]...), nil,
				func(s *sharing, ours []string) { Expect(ours).To(ConsistOf(s.all("west@b"))) }),
		)

		// The Go client has no nearest machine room, takes queues outside of the rooms for others in them, and hashes otherwise.
		DescribeTable("shares them with a member that uses rocketmq-client-go, too", Label("A11"),
			func(ctx SpecContext, strategy func(topic string) troupe.Allocation, javas, gos func(topic string) []string) {
				topic, group := unique("Three"), unique("ThreeGroup")
				Expect(own.CreateTopic(ctx, topic, 3)).To(Succeed())
				common := []string{"--nameserver", own.NameServer(), "--group", group, "--topic", topic}
				java := javaPeer(ctx, v, "PushConsumer", append(javas(topic), common...)...)
				Expect(java.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())
				theirs := goMember(ctx, program, append(append([]string{"--instance", "go-1"}, gos(topic)...), common...)...)
				s := &sharing{topic: topic, brokers: brokers, queues: 3, others: []func() []string{bodiesOf(java), theirs}}
				rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{own.NameServer()}}, troupe.Config{})
				Expect(err).NotTo(HaveOccurred())
				rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, Allocation: strategy(topic)}).
					Handle(topic, troupe.AllTags(), s.handle)
				Expect(rt.Start(ctx)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
				Expect(s.shared(ctx, rt, s.all())).To(HaveEach(HaveLen(3)))
				Expect(java.Stop(ctx)).To(Succeed())
			},
			Entry("averagely", SpecTimeout(3*time.Minute), fixed(troupe.Averagely()), says(), says()),
			Entry("by circle", SpecTimeout(3*time.Minute), fixed(troupe.ByCircle()), says("--strategy", "circle"), says("--strategy", "circle")),
			Entry("by configuration", SpecTimeout(3*time.Minute), configured("west@b"), configures("broker-a"), configures("east@a")),
		)
	})
})

// configured gives our member the three queues of a broker, configures another one.
func configured(broker string) func(topic string) troupe.Allocation {
	return func(topic string) troupe.Allocation {
		var list []*troupe.Queue
		for i := range int32(3) {
			list = append(list, &troupe.Queue{Topic: topic, Broker: broker, Id: i})
		}
		return troupe.Configured(list...)
	}
}

func configures(brokers ...string) func(topic string) []string {
	return func(topic string) []string {
		var list []string
		for _, b := range brokers {
			for i := range 3 {
				list = append(list, fmt.Sprintf("%s:%s:%d", topic, b, i))
			}
		}
		return []string{"--strategy", "config", "--queues", strings.Join(list, ",")}
	}
}

func fixed(a troupe.Allocation) func(string) troupe.Allocation {
	return func(string) troupe.Allocation { return a }
}

func says(args ...string) func(string) []string { return func(string) []string { return args } }
