package conformance

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// admin opens an Admin of the bench's cluster.
func (b *bench) admin() *troupe.Admin {
	GinkgoHelper()
	a, err := troupe.OpenAdmin(b.transport())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(a.Close)
	return a
}

// positions gives where a group stands in the bench's topic, by queue.
func (b *bench) positions(ctx context.Context, a *troupe.Admin, group string) map[int32]int64 {
	GinkgoHelper()
	info, err := a.DescribeGroup(ctx, group)
	Expect(err).NotTo(HaveOccurred())
	out := map[int32]int64{}
	for _, q := range info.Queues {
		if q.Queue.GetTopic() == b.topic {
			out[q.Queue.GetId()] = q.Committed
		}
	}
	return out
}

// Operating specifies what an Admin sees and does, on any cluster.
func Operating(cluster func(ctx context.Context) Cluster) {
	It("makes topics, gives them more queues, tells how far they reach and deletes them", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		a, topic := b.admin(), unique("operated")
		_, err := a.DescribeTopic(ctx, topic)
		Expect(err).To(MatchError(troupe.ErrNoRoute))
		for _, queues := range []int{2, 5} {
			Expect(a.CreateTopic(ctx, topic, queues)).To(Succeed())
			info, err := a.DescribeTopic(ctx, topic)
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Queues).To(HaveLen(queues))
			Expect(info.Routes).To(HaveExactElements(And(HaveField("ReadQueues", int32(queues)), HaveField("WriteQueues", int32(queues)))))
		}
		p := b.publisher(ctx, troupe.PublisherConfig{Select: func(*troupe.Message, []*troupe.Queue) int { return 3 }})
		begin := time.Now().Truncate(time.Millisecond)
		for range 4 {
			_, err := p.Send(ctx, troupe.NewMessage(topic, []byte("x")))
			Expect(err).NotTo(HaveOccurred())
		}
		info, err := a.DescribeTopic(ctx, topic)
		Expect(err).NotTo(HaveOccurred())
		for i, q := range info.Queues {
			if i != 3 {
				Expect([]any{q.MinOffset, q.MaxOffset, q.LastStored.IsZero()}).To(Equal([]any{int64(0), int64(0), true}))
				continue
			}
			Expect([]int64{q.MinOffset, q.MaxOffset}).To(Equal([]int64{0, 4}))
			Expect(q.LastStored).To(BeTemporally(">=", begin))
		}
		Expect(a.Topics(ctx, false)).To(ContainElement(topic))
		Expect(a.DeleteTopic(ctx, topic)).To(Succeed())
		Expect(a.Topics(ctx, true)).NotTo(ContainElement(topic))
		Expect(a.DeleteTopic(ctx, topic)).To(MatchError(troupe.ErrNoRoute))
	}, SpecTimeout(time.Minute))

	It("puts a group that nobody is in where it is told to, and another one beside it", Label("A07"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 12)
		a, twin := b.admin(), unique("twin")
		_, err := a.ResetOffsets(ctx, b.group, b.topic, troupe.ResetToFirst())
		Expect(err).To(MatchError(troupe.ErrNoGroup))
		rt := b.runtime()
		g := rt.Pull(b.group, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset})
		Expect(g.Subscribe(b.topic, troupe.AllTags())).To(Succeed())
		started(ctx, rt)
		info, err := a.DescribeGroup(ctx, b.group)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Members).To(HaveExactElements(HaveField("ClientId", rt.ClientID())))
		Expect(info.Subscriptions).To(ContainElement(And(HaveField("Topic", b.topic), HaveField("Expression", "*"))))
		err = a.DeleteGroup(ctx, b.group)
		Expect(err).To(MatchError(troupe.ErrMembersOnline))
		Expect(err).To(MatchError(ContainSubstring(rt.ClientID())))
		Expect(rt.Shutdown(ctx)).To(Succeed())

		for _, step := range []struct {
			to   troupe.ResetTo
			want int64
		}{
			{troupe.ResetToLast(), 6}, {troupe.ResetToOffset(2), 2}, {troupe.ResetToTime(time.Now().Add(-time.Hour)), 0}, {troupe.ResetToOffset(5), 5},
		} {
			moved, err := a.ResetOffsets(ctx, b.group, b.topic, step.to)
			Expect(err).NotTo(HaveOccurred())
			Expect(moved).To(HaveExactElements(HaveField("To", step.want), HaveField("To", step.want)))
			Expect(b.positions(ctx, a, b.group)).To(Equal(map[int32]int64{0: step.want, 1: step.want}))
		}
		_, err = a.ResetOffsets(ctx, b.group, b.topic, troupe.ResetToOffset(7))
		Expect(err).To(MatchError(ContainSubstring("must be from 0 to 6")))
		_, err = a.CloneOffsets(ctx, b.group, twin, b.topic)
		Expect(err).NotTo(HaveOccurred())
		Expect(b.positions(ctx, a, twin)).To(Equal(map[int32]int64{0: 5, 1: 5}))

		// Both go on there.
		for _, group := range []string{b.group, twin} {
			rt, r := b.runtime(), newRecorder()
			rt.Concurrent(group, troupe.ConcurrentConfig{}).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
			started(ctx, rt)
			Eventually(r.count, within).Should(Equal(2))
			Expect(rt.Shutdown(ctx)).To(Succeed())
		}
	}, SpecTimeout(2*time.Minute))

	It("finds messages by offset id, unique id, key and time", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		a, key := b.admin(), unique("key")
		p := b.publisher(ctx, troupe.PublisherConfig{})
		var receipts []*troupe.Receipt
		send := func(n int) {
			GinkgoHelper()
			for i := range n {
				r, err := p.Send(ctx, troupe.NewMessage(b.topic, fmt.Append(nil, i)).WithKeys(key, fmt.Sprint(key, "-", i)))
				Expect(err).NotTo(HaveOccurred())
				receipts = append(receipts, r)
			}
		}
		send(6)
		for i, r := range receipts {
			m, err := a.Message(ctx, r.GetMessageId(), "")
			Expect(err).NotTo(HaveOccurred())
			Expect([]any{m.GetTopic(), m.GetBroker(), m.GetQueueId(), m.GetQueueOffset(), string(m.GetBody())}).To(Equal(
				[]any{b.topic, r.GetQueue().GetBroker(), r.GetQueue().GetId(), r.GetQueueOffset(), fmt.Sprint(i)}))
		}
		ids := func(found []*troupe.Message, err error) (out []string) {
			Expect(err).NotTo(HaveOccurred())
			for _, m := range found {
				out = append(out, m.OffsetID())
			}
			return out
		}
		// The index follows the log.
		Eventually(func() []string { return ids(a.MessagesByKey(ctx, b.topic, key, 64)) }, within).Should(HaveLen(6))
		Expect(ids(a.MessagesByKey(ctx, b.topic, key+"-3", 64))).To(Equal([]string{receipts[3].GetMessageId()}))
		Expect(ids(a.MessagesByKey(ctx, b.topic, key+"-", 64))).To(BeEmpty())
		m, err := a.Message(ctx, receipts[4].GetUniqueIds()[0], b.topic)
		Expect(err).NotTo(HaveOccurred())
		Expect(m.OffsetID()).To(Equal(receipts[4].GetMessageId()))

		last, err := a.Message(ctx, receipts[5].GetMessageId(), "")
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() bool { return time.Now().After(last.StoreTime().Add(2 * time.Millisecond)) }, within).Should(BeTrue())
		between := time.Now().Truncate(time.Millisecond)
		send(3)
		inTime := func(from, to time.Time) (n int) {
			GinkgoHelper()
			for m, err := range a.MessagesByTime(ctx, b.topic, from, to) {
				Expect(err).NotTo(HaveOccurred())
				Expect(m.Keys()[0]).To(Equal(key))
				n++
			}
			return n
		}
		later := time.Now().Add(time.Hour)
		Expect(inTime(between.Add(-time.Hour), between)).To(Equal(6))
		Expect(inTime(between, later)).To(Equal(3))
		Expect(inTime(between.Add(-time.Hour), later)).To(Equal(9))
		Expect(inTime(between.Add(-time.Hour), between.Add(-time.Minute))).To(BeZero())
	}, SpecTimeout(time.Minute))

	It("leaves nothing at the brokers when it reads", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		a := b.admin()
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 3)
		tailing, stop := context.WithCancel(ctx)
		defer stop()
		got := make(chan string, 100)
		go func() {
			defer close(got)
			for m, err := range a.Tail(tailing, b.topic) {
				if err == nil {
					got <- string(m.GetBody())
				}
			}
		}()
		p := b.publisher(ctx, troupe.PublisherConfig{})
		Eventually(func() int {
			_, err := p.Send(ctx, troupe.NewMessage(b.topic, []byte("late")))
			Expect(err).NotTo(HaveOccurred())
			return len(got)
		}, within, "300ms").Should(BeNumerically(">", 0))
		for _, err := range a.MessagesByTime(ctx, b.topic, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)) {
			Expect(err).NotTo(HaveOccurred())
		}
		stop()
		for body := range got {
			Expect(body).To(Equal("late"), "from the end")
		}
		info, err := a.DescribeTopic(ctx, b.topic)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Groups).To(BeEmpty())
		tools, err := a.DescribeGroup(ctx, "TOOLS_CONSUMER")
		Expect(err).NotTo(HaveOccurred())
		Expect(tools.Queues).To(BeEmpty())
		Expect(tools.Members).To(BeEmpty())
		l := b.link()
		addr, broker, err := b.address(ctx, l, b.topic)
		Expect(err).NotTo(HaveOccurred())
		_, err = l.Route(ctx, actors.RetryTopic("TOOLS_CONSUMER"))
		Expect(err).To(MatchError(messages.ErrNoRoute), "%s at %s", broker, addr)
	}, SpecTimeout(time.Minute))
}
