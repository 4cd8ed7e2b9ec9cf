package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// Publishing specifies what a Publisher does on any cluster.
func Publishing(cluster func(ctx context.Context) Cluster) {
	It("stores single messages and batches, with tags, keys and properties, where it says", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		one, err := p.Send(ctx, troupe.NewMessage(b.topic, []byte("single")).WithTag("t").WithKeys("k1", "k2").WithProperty("colour", "grün"))
		Expect(err).NotTo(HaveOccurred())
		Expect(one.GetQueue().GetTopic()).To(Equal(b.topic))
		Expect(one.GetUniqueIds()).To(HaveLen(1))
		Expect(one.GetMessageId()).To(HaveLen(32))
		batch, err := p.Send(ctx, troupe.NewMessage(b.topic, []byte("b0")), troupe.NewMessage(b.topic, []byte("b1")), troupe.NewMessage(b.topic, []byte("b2")))
		Expect(err).NotTo(HaveOccurred())
		Expect(batch.GetUniqueIds()).To(HaveLen(3))
		got := make(chan *troupe.Message, 8)
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(b.topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error { got <- m; return nil })
		started(ctx, rt)
		bodies := map[string]*troupe.Message{}
		for range 4 {
			var m *troupe.Message
			Eventually(got, within).Should(Receive(&m))
			bodies[string(m.GetBody())] = m
		}
		single := bodies["single"]
		Expect(single).NotTo(BeNil())
		Expect(single.MessageID()).To(Equal(one.GetUniqueIds()[0]))
		Expect(single.Tag()).To(Equal("t"))
		Expect(single.Keys()).To(Equal([]string{"k1", "k2"}))
		Expect(single.Property("colour")).To(Equal("grün"))
		Expect(single.GetQueueOffset()).To(Equal(one.GetQueueOffset()))
		Expect(single.GetQueueId()).To(Equal(one.GetQueue().GetId()))
		for i := range 3 {
			m := bodies[fmt.Sprintf("b%d", i)]
			Expect(m).NotTo(BeNil())
			Expect(m.GetQueueOffset()).To(Equal(batch.GetQueueOffset() + int64(i)))
			Expect(m.MessageID()).To(Equal(batch.GetUniqueIds()[i]))
		}
	}, SpecTimeout(time.Minute))

	It("sends to the queue that is chosen", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		p := b.publisher(ctx, troupe.PublisherConfig{Select: func(_ *troupe.Message, queues []*troupe.Queue) int { return len(queues) - 1 }})
		for range 3 {
			receipt, err := p.Send(ctx, troupe.NewMessage(b.topic, []byte("x")))
			Expect(err).NotTo(HaveOccurred())
			Expect(receipt.GetQueue().GetId()).To(Equal(int32(3)))
		}
	}, SpecTimeout(time.Minute))

	It("delays a message by the level that is asked for", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		r := newRecorder()
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
		started(ctx, rt)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		begin := time.Now()
		_, err := p.Send(ctx, troupe.NewMessage(b.topic, []byte("later")).WithDelayLevel(1))
		Expect(err).NotTo(HaveOccurred())
		Eventually(r.distinct, within).Should(Equal(1))
		Expect(r.all()[0].at.Sub(begin)).To(BeNumerically(">=", min(time.Second, b.FirstRetry())-50*time.Millisecond))
	}, SpecTimeout(time.Minute))

	It("has a topic created by the broker that does not exist yet", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.topic = unique("fresh")
		p := b.publisher(ctx, troupe.PublisherConfig{NewTopicQueues: 2})
		b.publish(ctx, p, 10)
		l := b.link()
		Eventually(func() (int64, error) { return b.stored(ctx, l, b.topic) }, within).Should(Equal(int64(10)))
	}, SpecTimeout(time.Minute))

	It("refuses what cannot be sent, and says why", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		_, err := p.Send(ctx)
		Expect(err).To(MatchError(ContainSubstring("must be at least one")))
		_, err = p.Send(ctx, troupe.NewMessage("bad topic", nil))
		Expect(err).To(MatchError(ContainSubstring("may hold letters")))
		_, err = p.Send(ctx, troupe.NewMessage(b.topic, make([]byte, 4<<20+1)))
		Expect(err).To(MatchError(ContainSubstring("must not be longer than 4194304")))
		_, err = p.Send(ctx, troupe.NewMessage(b.topic, []byte("x")).WithProperty("k", strings.Repeat("v", 40000)))
		Expect(err).To(HaveOccurred())
		_, err = p.Send(ctx, troupe.NewMessage(b.topic, nil), troupe.NewMessage(b.topic+"x", nil))
		Expect(err).To(MatchError(ContainSubstring("must be the same in a batch")))
		_, err = p.Send(ctx, troupe.NewMessage(b.topic, []byte("x")).WithDelayLevel(3), troupe.NewMessage(b.topic, []byte("y")))
		Expect(err).To(MatchError(ContainSubstring("cannot be used in a batch")))
	}, SpecTimeout(time.Minute))
}
