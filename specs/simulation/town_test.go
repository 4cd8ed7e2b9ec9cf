package simulation_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// town is an in-memory network with brokers and Runtimes on it, all with their default settings. Its close must run inside the bubble.
type town struct {
	network *memnet.Network
	closers []func()
}

func newTown() *town { return &town{network: memnet.New()} }

// close takes everything down, what came last first.
func (t *town) close() {
	for i := len(t.closers) - 1; i >= 0; i-- {
		t.closers[i]()
	}
}

func (t *town) listen(addr string) *memnet.Listener {
	GinkgoHelper()
	l, err := t.network.Listen(addr)
	Expect(err).NotTo(HaveOccurred())
	return l
}

func (t *town) nameServer(addr string) *embedded.NameServer {
	GinkgoHelper()
	n, err := embedded.StartNameServer(context.Background(), embedded.NameServerConfig{Listener: t.listen(addr)})
	Expect(err).NotTo(HaveOccurred())
	t.closers = append(t.closers, func() { _ = n.Close() })
	return n
}

func (t *town) broker(addr string, cfg embedded.Config) *embedded.Broker {
	GinkgoHelper()
	cfg.Listener = t.listen(addr)
	b, err := embedded.Start(context.Background(), cfg)
	Expect(err).NotTo(HaveOccurred())
	t.closers = append(t.closers, func() { _ = b.Close() })
	return b
}

// start starts a member of the group on the topics; each Runtime has a host of its own.
func (t *town) start(nameServer string, cfg troupe.ConcurrentConfig, h troupe.Handler, opts ...troupe.Option) *troupe.Runtime {
	GinkgoHelper()
	return t.run(nameServer, func(rt *troupe.Runtime) { rt.Concurrent(group, cfg).Handle(topic, troupe.AllTags(), h) }, opts...)
}

// run starts a Runtime with the groups that configure gives it.
func (t *town) run(nameServer string, configure func(*troupe.Runtime), opts ...troupe.Option) *troupe.Runtime {
	GinkgoHelper()
	host := fmt.Sprintf("10.0.9.%d", len(t.closers)+1)
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{nameServer}, Dialer: t.network.Dialer(host)}, troupe.Config{ClientID: host}, opts...)
	Expect(err).NotTo(HaveOccurred())
	configure(rt)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	Expect(rt.Start(ctx)).To(Succeed())
	t.closers = append(t.closers, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = rt.Shutdown(ctx) // what a spec wants to know of a shutdown it asks itself
	})
	return rt
}

// put stores one message in a queue of the topic, its body the time.
func put(b *embedded.Broker, queue int32) {
	GinkgoHelper()
	m := troupe.NewMessage(topic, fmt.Append(nil, time.Now().UnixMilli()))
	m.Broker, m.QueueId = b.Name(), queue
	Expect(b.Publish(m)).To(Succeed())
}

// arrival is one call of a handler.
type arrival struct {
	broker string
	queue  int32
	offset int64
	times  int32
	after  time.Duration // since it was stored
	at     time.Time
	member int
}

// diary notes arrivals and events.
type diary struct {
	mu       sync.Mutex
	arrivals []arrival
	events   []*troupe.Event
}

func (d *diary) handle(ctx context.Context, m *troupe.Message) error { return d.member(0)(ctx, m) }

// member gives a handler that notes who it was.
func (d *diary) member(number int) troupe.Handler {
	return func(_ context.Context, m *troupe.Message) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.arrivals = append(d.arrivals, arrival{
			broker: m.GetBroker(), queue: m.GetQueueId(), offset: m.GetQueueOffset(), times: m.GetReconsumeTimes(),
			after: time.Since(m.StoreTime()), at: time.Now(), member: number,
		})
		return nil
	}
}

// place names the stored message.
func (a arrival) place() string { return fmt.Sprintf("%s/%d at %d", a.broker, a.queue, a.offset) }

func (d *diary) Observe(e *troupe.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

func (d *diary) all() []arrival {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]arrival(nil), d.arrivals...)
}

func (d *diary) of(kind messages.EventKind) (out []*troupe.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		if e.GetKind() == kind {
			out = append(out, e)
		}
	}
	return out
}

// from gives the arrivals of one broker's messages.
func (d *diary) from(broker string) (out []arrival) {
	for _, a := range d.all() {
		if a.broker == broker {
			out = append(out, a)
		}
	}
	return out
}

// within lets virtual time pass until a condition holds, and fails when the time is over.
func within(limit time.Duration, what string, ok func() bool) {
	GinkgoHelper()
	step := min(max(limit/5000, 50*time.Millisecond), 5*time.Second)
	for begin := time.Now(); !ok(); time.Sleep(step) {
		Expect(time.Since(begin)).To(BeNumerically("<=", limit), what)
	}
}

// running counts the queues of the topic that a Runtime pulls.
func running(rt *troupe.Runtime) (n int) {
	for _, g := range rt.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetQueue().GetTopic() == topic && q.GetPhase() == "running" {
				n++
			}
		}
	}
	return n
}
