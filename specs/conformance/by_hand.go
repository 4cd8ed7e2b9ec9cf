package conformance

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// byHand starts a member that pulls by hand, and gives the topic's queues.
func (b *bench) byHand(ctx context.Context, cfg troupe.PullConfig, declare ...func(*troupe.PullGroup)) (*caller, []*troupe.Queue) {
	GinkgoHelper()
	if len(declare) == 0 {
		declare = append(declare, func(*troupe.PullGroup) {})
	}
	c := b.caller(ctx, cfg, declare...)
	queues, err := c.group.Queues(ctx, b.topic)
	Expect(err).NotTo(HaveOccurred())
	Expect(queues).To(HaveLen(b.queues))
	return c, queues
}

// PullingByHand specifies what a pull group does with queues by hand, as the classic pull consumer, on any cluster.
func PullingByHand(cluster func(ctx context.Context) Cluster) {
	It("gives the broker's four answers with the offset to go on at, and the queue's bounds", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 40, func(_ int, m *troupe.Message) { m.WithTag("A") })
		c, queues := b.byHand(ctx, troupe.PullConfig{})
		pull := func(filter troupe.Filter, offset int64, n int) troupe.PullResult {
			GinkgoHelper()
			r, err := c.group.Pull(ctx, queues[0], filter, offset, n)
			Expect(err).NotTo(HaveOccurred())
			return r
		}
		r := pull(troupe.AllTags(), 5, 10)
		Expect(r.Status).To(Equal(troupe.Found))
		Expect(r.Messages).To(HaveLen(10))
		Expect(r.Messages[0].GetQueueOffset()).To(Equal(int64(5)))
		Expect([]int64{r.NextOffset, r.MinOffset, r.MaxOffset}).To(Equal([]int64{15, 0, 40}))

		r = pull(troupe.AllTags(), 40, 10)
		Expect([]any{r.Status, r.NextOffset, r.MaxOffset}).To(Equal([]any{troupe.NoNewMessage, int64(40), int64(40)}))
		Expect(r.Messages).To(BeEmpty())
		r = pull(troupe.Tags("B"), 0, 10)
		Expect(r.Status).To(Equal(troupe.NoMatchedMessage))
		Expect(r.NextOffset).To(BeNumerically(">", 0))
		r = pull(troupe.AllTags(), 1000, 10)
		Expect([]any{r.Status, r.NextOffset, r.MinOffset, r.MaxOffset}).To(Equal([]any{troupe.OffsetIllegal, int64(40), int64(0), int64(40)}))

		_, err := c.group.Pull(ctx, queues[0], troupe.AllTags(), -1, 0)
		Expect(err).To(MatchError(And(ContainSubstring("must be from 1 to 1024"), ContainSubstring("must not be negative"))))
		_, err = c.group.Pull(ctx, &troupe.Queue{Topic: unique("nowhere"), Broker: "b"}, troupe.AllTags(), 0, 1)
		Expect(err).To(MatchError(troupe.ErrNoRoute))
		Expect(c.group.MinOffset(ctx, queues[0])).To(BeZero())
		Expect(c.group.MaxOffset(ctx, queues[0])).To(Equal(int64(40)))
		Expect(c.group.OffsetAt(ctx, queues[0], time.Now().Add(-time.Hour))).To(BeZero())
	}, SpecTimeout(time.Minute))

	It("waits for the next message in PullBlock, and not beyond its context", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		c, queues := b.byHand(ctx, troupe.PullConfig{})
		p := b.publisher(ctx, troupe.PublisherConfig{})
		got := make(chan troupe.PullResult, 1)
		go func() {
			defer GinkgoRecover()
			r, err := c.group.PullBlock(ctx, queues[0], troupe.AllTags(), 0, 32)
			Expect(err).NotTo(HaveOccurred())
			got <- r
		}()
		Consistently(got, "500ms").ShouldNot(Receive())
		b.publish(ctx, p, 1)
		Eventually(got, within).Should(Receive(HaveField("Status", troupe.Found)))
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, err := c.group.PullBlock(short, queues[0], troupe.AllTags(), 1, 32)
		Expect(err).To(MatchError(context.DeadlineExceeded))
	}, SpecTimeout(time.Minute))

	It("keeps offsets as the program says, here and in the store", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 40)
		rt, err := troupe.New(b.transport(), troupe.Config{OffsetPersistInterval: time.Hour})
		Expect(err).NotTo(HaveOccurred())
		g := rt.Pull(b.group, troupe.PullConfig{})
		started(ctx, rt)
		queues, err := g.Queues(ctx, b.topic)
		Expect(err).NotTo(HaveOccurred())
		// A broker that still has a queue's first message in memory answers 0 for a group that it does not know (protocol.md 7.5).
		Expect(g.UpdateCommitted(ctx, queues[0], 7)).To(Succeed())
		Expect(g.FetchCommitted(ctx, queues[0], troupe.FromMemory)).To(Equal(int64(7)))
		Expect(g.FetchCommitted(ctx, queues[0], troupe.MemoryThenStore)).To(Equal(int64(7)))
		Expect(g.FetchCommitted(ctx, queues[0], troupe.FromStore)).To(BeZero(), "not stored yet")
		_, err = g.FetchCommitted(ctx, queues[1], troupe.FromMemory)
		Expect(err).To(MatchError(troupe.ErrNoOffset))
		Expect(g.StoreCommitted(ctx, queues[0])).To(Succeed())
		Expect(g.FetchCommitted(ctx, queues[0], troupe.FromStore)).To(Equal(int64(7)))
		Expect(g.StoreCommitted(ctx, queues[1])).To(MatchError(troupe.ErrNotAssigned))
		Expect(g.UpdateCommitted(ctx, queues[0], -1)).To(MatchError(ContainSubstring("must not be negative")))
		Expect(g.Lag(ctx, queues[0])).To(Equal(int64(13)))
		Expect(g.UpdateCommitted(ctx, queues[1], 20)).To(Succeed())
		Expect(rt.Shutdown(ctx)).To(Succeed())
		Expect(b.committed(ctx, b.link(), b.group)).To(Equal(int64(27)), "stored at the shutdown")
	}, SpecTimeout(time.Minute))

	It("stores what is committed by and by", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 10)
		c, queues := b.byHand(ctx, troupe.PullConfig{})
		Expect(c.group.UpdateCommitted(ctx, queues[0], 3)).To(Succeed())
		Eventually(func() int64 { return c.stored(ctx) }, within).Should(Equal(int64(3)))
		Expect(c.group.UpdateCommitted(ctx, queues[0], 9)).To(Succeed())
		Eventually(func() int64 { return c.stored(ctx) }, within).Should(Equal(int64(9)))
	}, SpecTimeout(time.Minute))

	It("keeps the offsets of a broadcasting group with the member", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 10)
		store := troupe.MemoryOffsets()
		c, queues := b.byHand(ctx, troupe.PullConfig{Offsets: store})
		Expect(c.group.UpdateCommitted(ctx, queues[0], 6)).To(Succeed())
		Expect(c.group.StoreCommitted(ctx, queues[0])).To(Succeed())
		Expect(c.group.FetchCommitted(ctx, queues[0], troupe.FromStore)).To(Equal(int64(6)))
		Expect(c.stored(ctx)).To(BeZero(), "the cluster knows nothing of it")
		Expect(c.rt.Shutdown(ctx)).To(Succeed())

		polls := b.caller(ctx, troupe.PullConfig{Offsets: troupe.MemoryOffsets(), ConsumeFrom: troupe.FirstOffset})
		twin := b.caller(ctx, troupe.PullConfig{Offsets: troupe.MemoryOffsets(), ConsumeFrom: troupe.FirstOffset})
		Expect(polls.until(ctx, 10, nil)).To(Equal(numbers(0, 10)))
		Expect(twin.until(ctx, 10, nil)).To(Equal(numbers(0, 10)), "each member gets everything")
	}, SpecTimeout(time.Minute))

	It("sends a message back, for another try or as a dead letter", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 2)
		retry := "%RETRY%" + b.group
		c, queues := b.byHand(ctx, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset})
		r, err := c.group.Pull(ctx, queues[0], troupe.AllTags(), 0, 2)
		Expect(err).NotTo(HaveOccurred())
		seen, err := c.group.View(ctx, r.Messages[1].OffsetID(), "")
		Expect(err).NotTo(HaveOccurred())
		Expect(seen.GetBody()).To(Equal(r.Messages[1].GetBody()))
		Expect(c.group.SendBack(ctx, r.Messages[0], time.Second)).To(Succeed())
		Expect(c.group.SendBack(ctx, r.Messages[1], -1)).To(Succeed())
		l := b.link()
		Eventually(func() (int64, error) { return b.stored(ctx, l, "%DLQ%"+b.group) }, within).Should(Equal(int64(1)))
		Eventually(func() (int64, error) { return b.stored(ctx, l, retry) }, within).Should(Equal(int64(1)))
		Expect(c.group.Subscribe(retry, troupe.AllTags())).To(Succeed())
		again := c.next(ctx)
		Expect(again.Messages).To(HaveLen(1))
		Expect(again.Messages[0].GetReconsumeTimes()).To(Equal(int32(1)))
		Expect(string(again.Messages[0].GetBody())).To(Equal("0"))
	}, SpecTimeout(time.Minute))

	It("shares queues out without pulling them, and calls the tasks that are scheduled for them", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 80)
		r := newRecorder()
		member := func(name string) *caller {
			var mu sync.Mutex
			at := map[int32]int64{}
			c, _ := b.byHand(ctx, troupe.PullConfig{}, func(g *troupe.PullGroup) {
				Expect(g.Schedule(b.topic, func(ctx context.Context, q *troupe.Queue) time.Duration {
					mu.Lock()
					defer mu.Unlock()
					offset, ok := at[q.GetId()]
					if !ok {
						var err error
						if offset, err = g.FetchCommitted(ctx, q, troupe.MemoryThenStore); err != nil {
							return 10 * time.Millisecond
						}
					}
					got, err := g.Pull(ctx, q, troupe.AllTags(), offset, 5)
					if err != nil {
						return 100 * time.Millisecond
					}
					for _, m := range got.Messages {
						_ = r.handler(name, nil)(ctx, m)
					}
					at[q.GetId()] = got.NextOffset
					_ = g.UpdateCommitted(ctx, q, got.NextOffset)
					return 10 * time.Millisecond
				})).To(Succeed())
			})
			return c
		}
		one := member("one")
		Eventually(r.distinct, within).Should(Equal(80))
		Expect(one.group.Assignment()).To(BeEmpty(), "nothing is pulled in the background")
		_, err := one.group.Poll(ctx)
		Expect(err).To(MatchError(troupe.ErrNotSubscribed))
		Expect(one.rt.Shutdown(ctx)).To(Succeed())
		Expect(b.committed(ctx, b.link(), b.group)).To(Equal(int64(80)))
		n := r.count()
		two := member("two")
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 8, func(i int, m *troupe.Message) { m.Body = fmt.Append(nil, "late ", i) })
		Eventually(r.distinct, within).Should(Equal(88))
		Expect(r.count()).To(Equal(n+8), "goes on where the first member stood")
		Expect(two.rt.Shutdown(ctx)).To(Succeed())
	}, SpecTimeout(time.Minute))

	It("leaves nothing at the brokers but what it did", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		c, _ := b.byHand(ctx, troupe.PullConfig{}, func(g *troupe.PullGroup) { Expect(g.Listen(b.topic)).To(Succeed()) })
		l := b.link()
		addr, _, err := b.address(ctx, l, b.topic)
		Expect(err).NotTo(HaveOccurred())
		group, err := l.Connections(ctx, addr, b.group)
		Expect(err).NotTo(HaveOccurred())
		Expect(group.GetMembers()).To(HaveLen(1))
		Expect(group.GetSubscriptions()).To(ConsistOf(HaveField("Topic", b.topic)), "no retry topic")
		Expect(c.rt.Shutdown(ctx)).To(Succeed())
		_, err = l.Members(ctx, addr, b.group)
		Expect(err).To(BeAssignableToTypeOf(&messages.BrokerError{}), "unregistered")
	}, SpecTimeout(time.Minute))
}
