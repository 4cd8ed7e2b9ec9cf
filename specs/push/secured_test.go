package push_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// inVirtualTime runs a spec's body in a bubble of its own clock.
func inVirtualTime(body func()) {
	GinkgoHelper()
	synctest.Test(suiteT, func(*testing.T) {
		defer GinkgoRecover()
		body()
	})
}

// onNetwork starts a broker on an in-memory network and gives the way to it.
func onNetwork(n *memnet.Network, address string, cfg embedded.Config) (*embedded.Broker, rocketmq.Cluster) {
	GinkgoHelper()
	l, err := n.Listen(address)
	Expect(err).NotTo(HaveOccurred())
	cfg.Listener = l
	b, err := embedded.Start(context.Background(), cfg)
	Expect(err).NotTo(HaveOccurred())
	return b, rocketmq.Cluster{NameServers: []string{address}, Dialer: n.Dial}
}

// collector notes the bodies that a group was given.
type collector struct {
	mu     sync.Mutex
	bodies []string
	topics []string
}

func (c *collector) handle(_ context.Context, m *troupe.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, string(m.GetBody()))
	c.topics = append(c.topics, m.GetTopic())
	return nil
}

func (c *collector) got() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.bodies...)
}

func total(requests map[wire.RequestCode]int64) (n int64) {
	for _, k := range requests {
		n += k
	}
	return n
}

var keys = embedded.Credentials{AccessKey: "me", SecretKey: "hush"}

var _ = Describe("A broker that checks signatures", Label("A45"), func() {
	It("is signed to in every request of a group's life, retries and dead letters and the end included", func() {
		inVirtualTime(func() {
			b, c := onNetwork(memnet.New(), "10.0.0.1:9876", embedded.Config{DelayLevels: levels(), Credentials: keys})
			c.Credentials = rocketmq.Credentials{AccessKey: "me", SecretKey: "hush"}
			Expect(b.CreateTopic("t", 2)).To(Succeed())
			w, good := newWatcher(), &collector{}
			rt, err := troupe.New(c, troupe.Config{}, troupe.WithObserver(w))
			Expect(err).NotTo(HaveOccurred())
			rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, MaxRetries: 1}).
				Handle("t", troupe.AllTags(), func(ctx context.Context, m *troupe.Message) error {
					if string(m.GetBody()) == "bad" {
						return errors.New("no")
					}
					return good.handle(ctx, m)
				})
			Expect(rt.Start(context.Background())).To(Succeed())
			p := rt.Publisher(troupe.PublisherConfig{})
			for _, body := range []string{"good", "bad"} {
				_, err := p.Send(context.Background(), troupe.NewMessage("t", []byte(body)))
				Expect(err).NotTo(HaveOccurred())
			}
			time.Sleep(time.Minute)
			Expect(good.got()).To(Equal([]string{"good"}))
			Expect(b.CountMessages("%DLQ%g")).To(BeEquivalentTo(1))
			Expect(rt.Shutdown(context.Background())).To(Succeed())
			Expect(w.of(messages.EventKind_EVENT_KIND_HEARTBEAT_FAILED)).To(BeEmpty())
			Expect(b.Members("g")).To(BeEmpty())
			Expect(b.Lag("g", "t")).To(BeZero())
			Expect(b.Close()).To(Succeed())
		})
	})

	DescribeTable("refuses a start with its own words, and is not stormed", func(k rocketmq.Credentials, words string) {
		inVirtualTime(func() {
			b, c := onNetwork(memnet.New(), "10.0.0.1:9876", embedded.Config{Credentials: keys})
			c.Credentials = k
			Expect(b.CreateTopic("t", 8)).To(Succeed())
			rt, err := troupe.New(c, troupe.Config{})
			Expect(err).NotTo(HaveOccurred())
			rt.Concurrent("g", troupe.ConcurrentConfig{}).Handle("t", troupe.AllTags(), ignore)
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			began := time.Now()
			err = rt.Start(ctx)
			Expect(time.Since(began)).To(BeNumerically("<=", 11*time.Second))
			var start *troupe.StartError
			var refused *troupe.BrokerError
			Expect(errors.As(err, &start)).To(BeTrue(), "%v", err)
			Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
			Expect(refused.GetCodeName()).To(Equal("NO_PERMISSION"))
			Expect(err).To(MatchError(And(ContainSubstring("HEART_BEAT"), ContainSubstring(words), Not(ContainSubstring("wrong-secret")))))
			time.Sleep(10 * time.Minute)
			Expect(total(b.Faults().Requests())).To(BeNumerically("<=", 30))
			Expect(rt.Shutdown(context.Background())).To(Or(Succeed(), HaveOccurred())) // it may be stopped already
			Expect(b.Close()).To(Succeed())
		})
	},
		Entry("without credentials", rocketmq.Credentials{}, "username cannot be null"),
		Entry("with an unknown key", rocketmq.Credentials{AccessKey: "you", SecretKey: "hush"}, "User:you is not found"),
		Entry("with a wrong secret", rocketmq.Credentials{AccessKey: "me", SecretKey: "wrong-secret"}, "check signature failed"),
	)

	It("that takes the permission away meets a bounded number of requests, and serves again when it is back", func() {
		inVirtualTime(func() {
			b, c := onNetwork(memnet.New(), "10.0.0.1:9876", embedded.Config{})
			Expect(b.CreateTopic("t", 8)).To(Succeed())
			w, got := newWatcher(), &collector{}
			rt, err := troupe.New(c, troupe.Config{}, troupe.WithObserver(w))
			Expect(err).NotTo(HaveOccurred())
			rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle("t", troupe.AllTags(), got.handle)
			Expect(rt.Start(context.Background())).To(Succeed())
			time.Sleep(time.Minute)
			for _, code := range []wire.RequestCode{wire.PullMessage, wire.HeartBeat, wire.GetConsumerListByGroup, wire.UpdateConsumerOffset, wire.QueryConsumerOffset} {
				b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: code}, Answer: wire.NoPermission, Remark: "no right"})
			}
			fill(b, "t", 10, 1) // wakes the pulls that are held
			before := b.Faults().Requests()
			time.Sleep(10 * time.Minute)
			asked := b.Faults().Requests()
			Expect(asked[wire.HeartBeat]-before[wire.HeartBeat]).To(BeNumerically("<=", 70), "a broker is asked again after 10 s at most")
			Expect(asked[wire.PullMessage]-before[wire.PullMessage]).To(BeNumerically("<=", 9*10*60/5+100), "a queue after 5 s")
			Expect(asked[wire.GetConsumerListByGroup]-before[wire.GetConsumerListByGroup]).To(BeNumerically("<=", 2*10*60+100), "two topics each second")
			Expect(asked[wire.UpdateConsumerOffset] - before[wire.UpdateConsumerOffset]).To(BeNumerically("<=", 9*10*60/5+100))
			b.Faults().Clear()
			time.Sleep(time.Minute)
			Expect(got.got()).To(HaveLen(10))
			Expect(rt.Shutdown(context.Background())).To(Succeed())
			Expect(b.Close()).To(Succeed())
		})
	})
})

var _ = Describe("Two clusters in one process", Label("A43"), func() {
	It("with equal names of brokers, topics and groups have nothing to do with each other", func() {
		inVirtualTime(func() {
			n := memnet.New()
			const x, y = "10.0.0.1:9876", "10.0.0.2:9876"
			var brokers []*embedded.Broker
			var runtimes []*troupe.Runtime
			got := []*collector{{}, {}}
			for i, address := range []string{x, y} {
				b, c := onNetwork(n, address, embedded.Config{BrokerName: "broker-a"})
				Expect(b.CreateTopic("t", 4)).To(Succeed())
				rt, err := troupe.New(c, troupe.Config{})
				Expect(err).NotTo(HaveOccurred())
				rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle("t", troupe.AllTags(), got[i].handle)
				brokers, runtimes = append(brokers, b), append(runtimes, rt)
			}
			for i, rt := range runtimes {
				Expect(rt.Start(context.Background())).To(Succeed())
				p := rt.Publisher(troupe.PublisherConfig{})
				for range 50 {
					_, err := p.Send(context.Background(), troupe.NewMessage("t", []byte{'x' + byte(i)}))
					Expect(err).NotTo(HaveOccurred())
				}
			}
			time.Sleep(time.Minute)
			for i, b := range brokers {
				Expect(got[i].got()).To(And(HaveLen(50), HaveEach(string([]byte{'x' + byte(i)}))))
				Expect(b.Members("g")).To(HaveLen(1))
				Expect(b.Lag("g", "t")).To(BeZero())
				for _, other := range runtimes[1-i].Topology().GetConnections() {
					Expect(other.GetAddress()).NotTo(Equal(b.Addr()))
				}
				Expect(b.Connections()).To(Equal(1), "of its own runtime")
			}
			Expect(brokers[0].Members("g")).NotTo(Equal(brokers[1].Members("g")))
			for i := range brokers {
				Expect(runtimes[i].Shutdown(context.Background())).To(Succeed())
				Expect(brokers[i].Close()).To(Succeed())
			}
		})
	})
})

var _ = Describe("Two namespaces on one cluster", Label("A44"), func() {
	It("keep equal topics and groups apart, and handlers and topology see plain names", func() {
		inVirtualTime(func() {
			n := memnet.New()
			b, c := onNetwork(n, "10.0.0.1:9876", embedded.Config{DelayLevels: levels()})
			got := map[string]*collector{"N": {}, "M": {}}
			var runtimes []*troupe.Runtime
			for _, name := range []string{"N", "M"} {
				c.Namespace = name
				Expect(b.CreateTopic(name+"%t", 2)).To(Succeed())
				rt, err := troupe.New(c, troupe.Config{})
				Expect(err).NotTo(HaveOccurred())
				tries := 0
				rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, Workers: 1}).
					Handle("t", troupe.AllTags(), func(ctx context.Context, m *troupe.Message) error {
						if tries++; tries == 1 {
							return errors.New("again")
						}
						return got[name].handle(ctx, m)
					})
				Expect(rt.Start(context.Background())).To(Succeed())
				_, err = rt.Publisher(troupe.PublisherConfig{}).Send(context.Background(), troupe.NewMessage("t", []byte("of "+name)))
				Expect(err).NotTo(HaveOccurred())
				runtimes = append(runtimes, rt)
			}
			time.Sleep(time.Minute)
			for i, name := range []string{"N", "M"} {
				Expect(got[name].got()).To(Equal([]string{"of " + name}), "after one retry")
				Expect(got[name].topics).To(Equal([]string{"t"}))
				Expect(b.Members(name + "%g")).To(HaveLen(1))
				Expect(b.Lag(name+"%g", name+"%t")).To(BeZero())
				for _, g := range runtimes[i].Topology().GetGroups() {
					Expect(g.GetGroup()).To(Equal("g"))
					for _, q := range g.GetQueues() {
						Expect(q.GetQueue().GetTopic()).To(BeElementOf("t", "%RETRY%g"))
					}
				}
				Expect(runtimes[i].Shutdown(context.Background())).To(Succeed())
			}
			Expect(b.Members("g")).To(BeEmpty())
			Expect(b.Topics()).NotTo(ContainElement(BeElementOf("t", "%RETRY%g")))
			Expect(b.Close()).To(Succeed())
		})
	})
})
