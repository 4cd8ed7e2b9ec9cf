package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// member makes a Runtime with one group on one topic; the spec starts it.
func member(b *embedded.Broker, cfg troupe.ConcurrentConfig, h troupe.Handler, opts ...troupe.Option) *troupe.Runtime {
	GinkgoHelper()
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}},
		troupe.Config{OffsetPersistInterval: 100 * time.Millisecond}, opts...)
	Expect(err).NotTo(HaveOccurred())
	if cfg.ConsumeFrom == troupe.LastOffset {
		cfg.ConsumeFrom = troupe.FirstOffset
	}
	rt.Concurrent("g", cfg).Handle("t", troupe.AllTags(), h)
	return rt
}

func start(ctx context.Context, rt *troupe.Runtime) {
	GinkgoHelper()
	Expect(rt.Start(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { _ = rt.Shutdown(ctx) }, NodeTimeout(20*time.Second))
}

func fill(b *embedded.Broker, topic string, n int, size int) {
	GinkgoHelper()
	ms := make([]*messages.Message, n)
	for i := range ms {
		ms[i] = troupe.NewMessage(topic, append(fmt.Append(nil, i, " "), bytes.Repeat([]byte("x"), size)...))
	}
	Expect(b.Publish(ms...)).To(Succeed())
}

// owned counts the queues of topic t that a Runtime pulls from.
func owned(rt *troupe.Runtime) int {
	n := 0
	for _, g := range rt.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetQueue().GetTopic() == "t" && q.GetPhase() == "running" {
				n++
			}
		}
	}
	return n
}

// watcher keeps events by kind.
type watcher struct {
	mu     sync.Mutex
	events map[messages.EventKind][]*troupe.Event
}

func newWatcher() *watcher { return &watcher{events: make(map[messages.EventKind][]*troupe.Event)} }

func (w *watcher) Observe(e *troupe.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events[e.GetKind()] = append(w.events[e.GetKind()], e)
}

func (w *watcher) of(kind messages.EventKind) []*troupe.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*troupe.Event(nil), w.events[kind]...)
}

var _ = Describe("A group in trouble", func() {
	var b *embedded.Broker
	BeforeEach(func(ctx SpecContext) {
		b = broker(ctx, embedded.Config{DelayLevels: levels()})
		Expect(b.CreateTopic("t", 4)).To(Succeed())
	})

	It("keeps a topic going while another one's handlers all hang", Label("A16"), func(ctx SpecContext) {
		Expect(b.CreateTopic("hanging", 4)).To(Succeed())
		fill(b, "hanging", 400, 10)
		fill(b, "t", 2000, 10)
		release := make(chan struct{})
		var done, hanging atomic.Int64
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		g := rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
		g.Handle("hanging", troupe.AllTags(), func(context.Context, *troupe.Message) error {
			hanging.Add(1)
			<-release
			return nil
		})
		g.Handle("t", troupe.AllTags(), func(context.Context, *troupe.Message) error { done.Add(1); return nil })
		start(ctx, rt)
		DeferCleanup(func() { close(release) })
		Eventually(hanging.Load, "10s").Should(BeNumerically(">", 1))
		Eventually(done.Load, "20s").Should(Equal(int64(2000)))
		Eventually(func() int64 { return b.Lag("g", "t") }, "10s").Should(BeZero())
	}, SpecTimeout(time.Minute))

	It("holds no more bytes than the Runtime may, and every queue gets its turn", Label("A18"), func(ctx SpecContext) {
		fill(b, "t", 400, 64<<10)
		release := make(chan struct{})
		var done atomic.Int64
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{MemoryLimit: 4 << 20})
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle("t", troupe.AllTags(), func(context.Context, *troupe.Message) error { <-release; done.Add(1); return nil })
		start(ctx, rt)
		held := func() int64 {
			var sum int64
			for _, g := range rt.Topology().GetGroups() {
				for _, q := range g.GetQueues() {
					sum += q.GetCachedBytes()
				}
			}
			return sum
		}
		Eventually(held, "10s").Should(BeNumerically(">=", 4<<20))
		// One pull of at most 256 KiB for each queue may come on top.
		Consistently(held, "1s").Should(BeNumerically("<=", 4<<20+5*(320<<10)))
		close(release)
		Eventually(done.Load, "30s").Should(Equal(int64(400)))
	}, SpecTimeout(time.Minute))

	DescribeTable("runs as many handlers at once as it may, and never more", Label("A19"),
		func(ctx SpecContext, workers int) {
			fill(b, "t", 1000, 1)
			var running, most, done atomic.Int64
			start(ctx, member(b, troupe.ConcurrentConfig{Workers: workers}, func(context.Context, *troupe.Message) error {
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if done.Load() < 300 {
					time.Sleep(time.Millisecond)
				}
				running.Add(-1)
				done.Add(1)
				return nil
			}))
			Eventually(done.Load, "30s").Should(Equal(int64(1000)))
			Expect(most.Load()).To(BeNumerically("<=", workers))
			Expect(most.Load()).To(BeNumerically(">=", min(workers, 32)))
		},
		Entry("one", 1, SpecTimeout(time.Minute)),
		Entry("sixty-four", 64, SpecTimeout(time.Minute)),
	)

	It("leaves no goroutine behind after thirty changes of the membership", Label("A20"), func(ctx SpecContext) {
		one := member(b, troupe.ConcurrentConfig{}, ignore)
		start(ctx, one)
		settle := func() int { return len(one.Topology().GetActors()) }
		Eventually(settle, "10s").Should(BeNumerically(">=", 8+3*4))
		before := runtime.NumGoroutine()
		for range 30 {
			two := member(b, troupe.ConcurrentConfig{}, ignore)
			Expect(two.Start(ctx)).To(Succeed())
			Expect(two.Shutdown(ctx)).To(Succeed())
		}
		Eventually(settle, "20s").Should(BeNumerically(">=", 8+3*4))
		Eventually(runtime.NumGoroutine, "20s").Should(BeNumerically("<=", before+10))
	}, SpecTimeout(2*time.Minute))

	It("tries a message again here while the broker takes neither hand-back nor copy, and holds up nothing else", Label("A26"), func(ctx SpecContext) {
		remove := b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.ConsumerSendMsgBack}, Answer: wire.SystemError, Remark: "scripted"})
		b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.SendMessageV2}, Answer: wire.SystemError, Remark: "scripted"})
		fill(b, "t", 40, 1)
		var tries, others atomic.Int64
		w := newWatcher()
		rt := member(b, troupe.ConcurrentConfig{RedeliverAfter: 200 * time.Millisecond}, func(_ context.Context, m *troupe.Message) error {
			if m.GetQueueId() == 0 && m.GetQueueOffset() == 3 {
				if tries.Add(1) < 4 {
					return errors.New("not yet")
				}
				return nil
			}
			others.Add(1)
			return nil
		}, troupe.WithObserver(w))
		start(ctx, rt)
		Eventually(others.Load, "10s").Should(Equal(int64(39)))
		Eventually(tries.Load, "10s").Should(BeNumerically(">=", 2))
		offset, _ := b.Committed("g", "t", 0)
		Expect(offset).To(BeNumerically("<=", 3))
		Eventually(func() int64 { return b.Lag("g", "t") }, "10s").Should(BeZero())
		Expect(tries.Load()).To(Equal(int64(4)))
		Expect(w.of(messages.EventKind_EVENT_KIND_HAND_BACK_FAILED)).To(HaveLen(3))
		remove()
	}, SpecTimeout(time.Minute))

	It("publishes a copy to the retry topic if the broker does not take the hand-back", Label("A26"), func(ctx SpecContext) {
		b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.ConsumerSendMsgBack}, Answer: wire.SystemError, Remark: "scripted"})
		got := make(chan *troupe.Message, 4)
		rt := member(b, troupe.ConcurrentConfig{}, func(_ context.Context, m *troupe.Message) error {
			got <- m
			if m.GetReconsumeTimes() == 0 {
				return errors.New("once")
			}
			return nil
		})
		start(ctx, rt)
		// A copy needs the retry topic, which the broker makes at the first heartbeat.
		Eventually(func() []*messages.QueueFacts { return rt.Topology().GetGroups()[0].GetQueues() }, "10s").
			Should(ContainElement(And(HaveField("Queue.Topic", "%RETRY%g"), HaveField("Phase", "running"))))
		Expect(b.Publish(troupe.NewMessage("t", []byte("x")).WithTag("tag").WithKeys("key"))).To(Succeed())
		var first, second *troupe.Message
		Eventually(got, "10s").Should(Receive(&first))
		Eventually(got, "10s").Should(Receive(&second))
		Expect(second.GetReconsumeTimes()).To(Equal(int32(1)))
		Expect(second.GetTopic()).To(Equal("t"))
		Expect(second.Tag()).To(Equal("tag"))
		Expect(second.MessageID()).To(Equal(first.MessageID()))
	}, SpecTimeout(time.Minute))

	It("hands each failure back once, however many members the process has", Label("A28"), func(ctx SpecContext) {
		var attempts atomic.Int64
		fails := func(context.Context, *troupe.Message) error { attempts.Add(1); return errors.New("always") }
		cfg := troupe.ConcurrentConfig{MaxRetries: 3}
		both := []*troupe.Runtime{member(b, cfg, fails), member(b, cfg, fails)}
		for _, rt := range both {
			start(ctx, rt)
		}
		// While a queue moves, what is in flight may be delivered twice: wait until both have their share.
		for _, rt := range both {
			Eventually(func() int { return owned(rt) }, "10s").Should(Equal(2))
		}
		fill(b, "t", 1, 1)
		Eventually(func() int64 { return b.CountMessages("%DLQ%g") }, "20s").Should(Equal(int64(1)))
		Expect(attempts.Load()).To(Equal(int64(4)))
		Expect(b.Faults().Seen(wire.ConsumerSendMsgBack)).To(Equal(int64(4)))
	}, SpecTimeout(time.Minute))

	It("consumes a new group's retries from their beginning, whatever it was told about new messages", Label("A30"), func(ctx SpecContext) {
		Expect(b.CreateTopic("%RETRY%g", 1)).To(Succeed())
		fill(b, "%RETRY%g", 3, 1)
		w := newWatcher()
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{}, troupe.WithObserver(w))
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent("g", troupe.ConcurrentConfig{StrictLast: true}).Handle("t", troupe.AllTags(), ignore)
		start(ctx, rt)
		assigned := func() (offsets []int64) {
			for _, e := range w.of(messages.EventKind_EVENT_KIND_QUEUE_ASSIGNED) {
				if e.GetQueue().GetTopic() == "%RETRY%g" {
					offsets = append(offsets, e.GetOffset())
				}
			}
			return offsets
		}
		Eventually(assigned, "10s").Should(Equal([]int64{0}))
	}, SpecTimeout(time.Minute))

	It("starts and stops a hundred times, also against a dead name server, and leaves nothing behind", Label("A33"), func(ctx SpecContext) {
		fill(b, "t", 10, 1)
		before := runtime.NumGoroutine()
		for i := range 50 {
			rt := member(b, troupe.ConcurrentConfig{}, ignore)
			Expect(rt.Start(ctx)).To(Succeed(), "round %d", i)
			Expect(rt.Shutdown(ctx)).To(Succeed(), "round %d", i)
			dead, err := troupe.New(rocketmq.Cluster{NameServers: []string{"127.0.0.1:1"}}, troupe.Config{})
			Expect(err).NotTo(HaveOccurred())
			dead.Concurrent("g", troupe.ConcurrentConfig{}).Handle("t", troupe.AllTags(), ignore)
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			err = dead.Start(short)
			cancel()
			var failed *troupe.StartError
			Expect(errors.As(err, &failed)).To(BeTrue(), "%v", err)
			Expect(dead.Shutdown(ctx)).To(Succeed())
		}
		Eventually(runtime.NumGoroutine, "10s").Should(BeNumerically("<=", before+2))
		Eventually(b.Connections, "10s").Should(BeZero())
	}, SpecTimeout(2*time.Minute))

	It("says what was in the way of a start, and can be started again", func(ctx SpecContext) {
		addr := b.Addr()
		Expect(b.Stop()).To(Succeed())
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{addr}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent("g", troupe.ConcurrentConfig{}).Handle("t", troupe.AllTags(), ignore)
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		err = rt.Start(short)
		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(err).To(MatchError(And(ContainSubstring("group g"), ContainSubstring(addr))))
		Expect(b.Restart(ctx, nil)).To(Succeed())
		start(ctx, rt)
		Eventually(func() []string { return b.Members("g") }, "5s").Should(HaveLen(1))
	}, SpecTimeout(time.Minute))

	It("is not touched by the end of another Runtime of the process, and its successor takes over", Label("A34"), func(ctx SpecContext) {
		var done atomic.Int64
		keeps := member(b, troupe.ConcurrentConfig{}, func(context.Context, *troupe.Message) error { done.Add(1); return nil })
		start(ctx, keeps)
		other, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		other.Concurrent("other", troupe.ConcurrentConfig{}).Handle("t", troupe.AllTags(), ignore)
		Expect(other.Start(ctx)).To(Succeed())
		Expect(other.Shutdown(ctx)).To(Succeed())
		fill(b, "t", 20, 1)
		Eventually(done.Load, "5s").Should(Equal(int64(20)))
		Expect(keeps.Shutdown(ctx)).To(Succeed())
		again := member(b, troupe.ConcurrentConfig{}, func(context.Context, *troupe.Message) error { done.Add(1); return nil })
		start(ctx, again)
		fill(b, "t", 20, 1)
		Eventually(done.Load, "5s").Should(Equal(int64(40)))
	}, SpecTimeout(time.Minute))

	It("keeps two clusters with equal names apart", Label("A43"), func(ctx SpecContext) {
		b2 := broker(ctx, embedded.Config{})
		Expect(b2.CreateTopic("t", 4)).To(Succeed())
		var here, there atomic.Int64
		start(ctx, member(b, troupe.ConcurrentConfig{}, func(context.Context, *troupe.Message) error { here.Add(1); return nil }))
		start(ctx, member(b2, troupe.ConcurrentConfig{}, func(context.Context, *troupe.Message) error { there.Add(1); return nil }))
		fill(b, "t", 30, 1)
		fill(b2, "t", 50, 1)
		Eventually(here.Load, "5s").Should(Equal(int64(30)))
		Eventually(there.Load, "5s").Should(Equal(int64(50)))
		Consistently(func() int64 { return here.Load() + there.Load() }, "300ms").Should(Equal(int64(80)))
	}, SpecTimeout(time.Minute))

	It("corrects an offset below the minimum at once", Label("A06"), func(ctx SpecContext) {
		fill(b, "t", 400, 1)
		b.Commit("g", "t", 0, 10)
		b.Trim("t", 0, 60)
		w := newWatcher()
		var least atomic.Int64
		least.Store(1 << 40)
		start(ctx, member(b, troupe.ConcurrentConfig{Workers: 1}, func(_ context.Context, m *troupe.Message) error {
			if m.GetQueueId() == 0 {
				least.Store(min(least.Load(), m.GetQueueOffset()))
			}
			return nil
		}, troupe.WithObserver(w)))
		Eventually(func() []*troupe.Event { return w.of(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED) }, "5s").Should(HaveLen(1))
		Expect(w.of(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED)[0].GetOffset()).To(Equal(int64(60)))
		Eventually(func() int64 { n, _ := b.Committed("g", "t", 0); return n }, "5s").Should(Equal(int64(100)))
		Expect(least.Load()).To(Equal(int64(60)))
	}, SpecTimeout(time.Minute))

	It("never mistakes a failed offset read for none", Label("A01"), func(ctx SpecContext) {
		fill(b, "t", 400, 1)
		for q := range int32(4) {
			b.Commit("g", "t", q, 90)
		}
		queue := int32(2)
		b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.QueryConsumerOffset, Topic: "t", Queue: &queue}, Times: 2, Answer: wire.SystemError, Remark: "scripted"})
		var done atomic.Int64
		w := newWatcher()
		start(ctx, member(b, troupe.ConcurrentConfig{}, func(_ context.Context, m *troupe.Message) error {
			if m.GetQueueOffset() < 90 {
				return errors.New("re-read history")
			}
			done.Add(1)
			return nil
		}, troupe.WithObserver(w)))
		Eventually(done.Load, "20s").Should(Equal(int64(40)))
		Expect(w.of(messages.EventKind_EVENT_KIND_START_OFFSET_FAILED)).To(HaveLen(2))
		Expect(w.of(messages.EventKind_EVENT_KIND_HANDLER_FAILED)).To(BeEmpty())
	}, SpecTimeout(time.Minute))

	It("skips a message that cannot be read, tells which, and goes on", func(ctx SpecContext) {
		broken := troupe.NewMessage("t", []byte("this is no zlib stream"))
		broken.Broker, broken.QueueId, broken.SysFlag = b.Name(), 0, 0x301 // compressed, by zlib
		good := func() *troupe.Message {
			m := troupe.NewMessage("t", []byte("good"))
			m.Broker, m.QueueId = b.Name(), 0
			return m
		}
		Expect(b.Publish(good(), broken, good())).To(Succeed())
		var done atomic.Int64
		w := newWatcher()
		start(ctx, member(b, troupe.ConcurrentConfig{}, func(context.Context, *troupe.Message) error { done.Add(1); return nil }, troupe.WithObserver(w)))
		Eventually(done.Load, "5s").Should(Equal(int64(2)))
		Eventually(func() int64 { return b.Lag("g", "t") }, "5s").Should(BeZero())
		corrupt := w.of(messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT)
		Expect(corrupt).To(HaveLen(1))
		Expect(corrupt[0].GetQueue().GetId()).To(BeZero())
		Expect(corrupt[0].GetOffset()).To(Equal(int64(1)))
	}, SpecTimeout(time.Minute))

	It("writes few lines while it is idle or the broker is away", Label("A46"), func(ctx SpecContext) {
		lines := gbytes.NewBuffer()
		log := logrus.New()
		log.SetOutput(lines)
		Expect(b.CreateTopic("wide", 64)).To(Succeed())
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{}, troupe.WithLogger(log))
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent("g", troupe.ConcurrentConfig{}).Handle("wide", troupe.AllTags(), ignore)
		start(ctx, rt)
		Eventually(func() int { return len(rt.Topology().GetGroups()[0].GetQueues()) }, "10s").Should(Equal(65))
		Expect(b.Stop()).To(Succeed())
		Consistently(func() int { return bytes.Count(lines.Contents(), []byte("\n")) }, "3s").Should(BeNumerically("<=", 20))
		Expect(rt.Shutdown(ctx)).To(Or(Succeed(), HaveOccurred()))
	}, SpecTimeout(time.Minute))

	It("survives chaos: members, broker restarts, dropped connections, failures and refusals", Label("A37"), func(ctx SpecContext) {
		seed := GinkgoRandomSeed()
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		var mu sync.Mutex
		handled := map[string]int{}
		handler := func(_ context.Context, m *troupe.Message) error {
			mu.Lock()
			defer mu.Unlock()
			if m.GetReconsumeTimes() == 0 && len(m.GetBody())%7 == 0 {
				return errors.New("first time fails")
			}
			handled[m.MessageID()]++
			return nil
		}
		members := []*troupe.Runtime{member(b, troupe.ConcurrentConfig{}, handler)}
		start(ctx, members[0])
		published := 0
		for range 25 {
			switch rng.IntN(5) {
			case 0:
				if len(members) < 4 {
					rt := member(b, troupe.ConcurrentConfig{}, handler)
					start(ctx, rt)
					members = append(members, rt)
				}
			case 1:
				if len(members) > 1 {
					_ = members[0].Shutdown(ctx)
					members = members[1:]
				}
			case 2:
				b.Faults().DropConnections()
			case 3:
				Expect(b.Stop()).To(Succeed())
				Expect(b.Restart(ctx, nil)).To(Succeed())
			case 4:
				b.Faults().Add(embedded.Fault{Times: 1 + rng.IntN(4), Match: embedded.Match{Code: wire.PullMessage}, Answer: wire.SystemBusy, Remark: "scripted"})
			}
			ms := make([]*messages.Message, 8)
			for i := range ms {
				ms[i] = troupe.NewMessage("t", bytes.Repeat([]byte("x"), 1+rng.IntN(20)))
			}
			Expect(b.Publish(ms...)).To(Succeed())
			published += len(ms)
		}
		Eventually(func() int { mu.Lock(); defer mu.Unlock(); return len(handled) }, "60s").Should(Equal(published), "seed %d", seed)
		Eventually(func() int64 { return b.Lag("g", "t") }, "20s").Should(BeZero())
	}, SpecTimeout(2*time.Minute))
})
