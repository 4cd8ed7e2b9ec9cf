package apache_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// watchedCluster is a transport that notes where pulls went and what came of them.
type watchedCluster struct {
	rocketmq.Cluster
	mu    sync.Mutex
	pulls []seenPull
}

type seenPull struct {
	key     messages.QueueKey
	address string
	ended   time.Time
	found   bool
	failed  bool
}

// Open makes a Link that is watched.
func (w *watchedCluster) Open(cfg actors.LinkConfig) (actors.Link, error) {
	l, err := w.Cluster.Open(cfg)
	return &watchedLink{Link: l, cluster: w}, err
}

type watchedLink struct {
	actors.Link
	cluster *watchedCluster
}

// Pull notes how it ended.
func (l *watchedLink) Pull(req *messages.PullRequest, done actors.PullDone) actors.PullUnderway {
	return l.Link.Pull(req, actors.PullFunc(func(reply *messages.PullReply, err error) {
		l.cluster.mu.Lock()
		l.cluster.pulls = append(l.cluster.pulls, seenPull{
			key: req.GetQueue().Key(), address: req.GetAddress(), ended: time.Now(), failed: err != nil,
			found: err == nil && reply.GetStatus() == messages.PullStatus_PULL_STATUS_FOUND,
		})
		l.cluster.mu.Unlock()
		done.Pulled(reply, err)
	}))
}

func (w *watchedCluster) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pulls = nil
}

// seen gives the pulls of a topic that an address answered.
func (w *watchedCluster) seen(topic, address string) (out []seenPull) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pulls {
		if p.key.Topic == topic && p.address == address && !p.failed {
			out = append(out, p)
		}
	}
	return out
}

// tally counts deliveries by their place.
type tally struct {
	mu     sync.Mutex
	places map[string]int
	twice  int
}

func (t *tally) handle(_ context.Context, m *troupe.Message) error {
	time.Sleep(2 * time.Millisecond) // so that there is a backlog
	t.mu.Lock()
	defer t.mu.Unlock()
	place := fmt.Sprintf("%s/%d/%d", m.GetBroker(), m.GetQueueId(), m.GetQueueOffset())
	if t.places[place]++; t.places[place] > 1 {
		t.twice++
	}
	return nil
}

func (t *tally) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.places)
}

func (t *tally) repeats() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.twice
}

func newTally() *tally { return &tally{places: make(map[string]int)} }

const failoverQueues = 4

var _ = onEveryVersion("A group on a master with a slave", func(v apachebroker.Version, _ func(context.Context) *apachebroker.Cluster) {
	It("follows the suggestion to read from the slave and leaves it, reads on when the master is killed, and brings the offsets back",
		Label("A05", "A41"), func(ctx SpecContext) {
			c, err := apachebroker.Start(ctx, apachebroker.Options{Version: v})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(c.Close)
			DeferCleanup(func() {
				if CurrentSpecReport().Failed() {
					GinkgoWriter.Println(c.Logs())
				}
			})
			master, topic, group := c.Broker(), unique("Failover"), unique("FailoverGroup")
			Expect(c.CreateTopic(ctx, topic, failoverQueues)).To(Succeed())
			slave, err := c.AddSlave(ctx, master)
			Expect(err).NotTo(HaveOccurred())

			watched := &watchedCluster{Cluster: rocketmq.Cluster{NameServers: []string{c.NameServer()}}}
			rt, err := troupe.New(watched, troupe.Config{RouteRefreshInterval: 2 * time.Second, OffsetPersistInterval: time.Second})
			Expect(err).NotTo(HaveOccurred())
			got := newTally()
			rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, Workers: 4, MaxCached: 32}).
				Handle(topic, troupe.AllTags(), got.handle)
			p := rt.Publisher(troupe.PublisherConfig{Retries: 10})
			total := 0
			publish := func(n int) {
				GinkgoHelper()
				batch := make([]*troupe.Message, 50)
				for range n / len(batch) {
					for i := range batch {
						batch[i] = troupe.NewMessage(topic, fmt.Append(nil, total+i))
					}
					_, err := p.Send(ctx, batch...)
					Expect(err).NotTo(HaveOccurred())
					total += len(batch)
				}
			}
			link := bareLink(watched.Cluster)
			committed := func(address string) func() (int64, error) {
				return func() (sum int64, err error) {
					for id := range int32(failoverQueues) {
						offset, err := link.Committed(ctx, address, group, &messages.Queue{Topic: topic, Broker: master.Name(), Id: id})
						if err != nil {
							return 0, err
						}
						sum += offset
					}
					return sum, nil
				}
			}
			Expect(rt.Start(ctx)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { _ = rt.Shutdown(ctx) }, NodeTimeout(30*time.Second))

			By("letting the master suggest the slave")
			for _, b := range c.Brokers() {
				Expect(b.Configure(ctx, map[string]string{"slaveReadEnable": "true", "accessMessageInMemoryMaxRatio": "0"})).To(Succeed())
			}
			publish(800)
			Eventually(func() []seenPull { return watched.seen(topic, slave.Addr()) }).WithContext(ctx).WithTimeout(20 * time.Second).
				ShouldNot(BeEmpty())
			for _, b := range c.Brokers() {
				Expect(b.Configure(ctx, map[string]string{"accessMessageInMemoryMaxRatio": "40"})).To(Succeed())
			}
			Expect(c.AwaitReplica(ctx, slave, master, topic, failoverQueues)).To(Succeed())
			Eventually(got.count).WithContext(ctx).WithTimeout(30 * time.Second).Should(Equal(total))
			Eventually(func(g Gomega) { // whatever still waits at the slave ends with its long poll
				publish(200)
				watched.forget()
				g.Eventually(got.count).WithTimeout(10 * time.Second).Should(Equal(total))
				g.Expect(watched.seen(topic, slave.Addr())).To(BeEmpty())
				g.Expect(watched.seen(topic, master.Addr())).NotTo(BeEmpty())
			}).WithContext(ctx).WithTimeout(45 * time.Second).Should(Succeed())
			Expect(got.repeats()).To(BeZero())

			By("killing the master with a backlog that the slave has")
			publish(2000)
			Expect(c.AwaitReplica(ctx, slave, master, topic, failoverQueues)).To(Succeed())
			watched.forget()
			killed := time.Now()
			Expect(master.Kill()).To(Succeed())
			Eventually(func() []seenPull { return watched.seen(topic, slave.Addr()) }).WithContext(ctx).WithTimeout(30 * time.Second).
				WithPolling(10 * time.Millisecond).ShouldNot(BeEmpty())
			recovery := watched.seen(topic, slave.Addr())[0].ended.Sub(killed)
			AddReportEntry("recovery", fmt.Sprintf("%s: first answer of the slave %v after the kill of the master", v, recovery.Round(time.Millisecond)))
			Expect(recovery).To(BeNumerically("<", 8*time.Second), "5 s, and a margin for a busy machine")
			Eventually(got.count).WithContext(ctx).WithTimeout(60 * time.Second).Should(Equal(total))
			Expect(got.repeats()).To(BeZero(), "the slave's older offset rewinds nothing")
			Eventually(committed(slave.Addr())).WithContext(ctx).WithTimeout(15 * time.Second).Should(BeEquivalentTo(total))

			By("starting the master again, with an older offset")
			Expect(master.Start(ctx)).To(Succeed())
			back := time.Now()
			Eventually(committed(master.Addr())).WithContext(ctx).WithTimeout(40 * time.Second).Should(BeEquivalentTo(total))
			AddReportEntry("offsets", fmt.Sprintf("%s: the master has them %v after it is back", v, time.Since(back).Round(time.Millisecond)))
			publish(200)
			Eventually(got.count).WithContext(ctx).WithTimeout(40 * time.Second).Should(Equal(total))
			Expect(got.repeats()).To(BeNumerically("<=", failoverQueues*32), "at most one batch a queue comes twice")
		}, SpecTimeout(4*time.Minute))
})

// bareLink is a Link of a client that is in no group.
func bareLink(t actors.Transport) actors.Link {
	GinkgoHelper()
	l, err := t.Open(actors.LinkConfig{
		ClientID: unique("looker"), Log: quietLog(), Jitter: func() float64 { return 0 },
		Calls:   func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply { return nil },
		Changed: func(*messages.ConnectionChanged) {},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(l.Close)
	return l
}

func quietLog() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}
