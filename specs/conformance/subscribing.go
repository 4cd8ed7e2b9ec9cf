package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Subscribing specifies how a running group changes what it consumes.
func Subscribing(cluster func(ctx context.Context) Cluster) {
	It("takes a topic on and gives it up while it runs, and loses nothing in between", Label("A38"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		second := unique("second")
		Expect(b.CreateTopic(ctx, second, 2)).To(Succeed())
		p := b.publisher(ctx, troupe.PublisherConfig{})
		r, other := newRecorder(), newRecorder()
		rt := b.runtime()
		g := rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
		g.Handle(b.topic, troupe.AllTags(), r.handler("", nil))
		Expect(g.Subscribe(second, troupe.AllTags(), other.handler("", nil))).To(MatchError(troupe.ErrNotStarted))
		Expect(g.Unsubscribe(b.topic)).To(MatchError(troupe.ErrNotStarted))
		started(ctx, rt)
		send := func(topic string, from, to int) {
			for i := from; i < to; i++ {
				_, err := p.Send(ctx, troupe.NewMessage(topic, fmt.Append(nil, i)))
				Expect(err).NotTo(HaveOccurred())
			}
		}
		send(second, 0, 20)
		Expect(g.Subscribe(second, troupe.AllTags(), other.handler("", nil))).To(Succeed())
		Eventually(other.distinct, within).Should(Equal(20))

		Expect(g.Unsubscribe(second)).To(Succeed())
		Eventually(func() []string { return topicsOf(rt) }, within).ShouldNot(ContainElement(second))
		send(second, 20, 40)
		send(b.topic, 0, 20)
		Eventually(r.distinct, within).Should(Equal(20))
		Expect(other.count()).To(Equal(20))

		Expect(g.Subscribe(second, troupe.AllTags(), other.handler("", nil))).To(Succeed())
		Eventually(other.distinct, within).Should(Equal(40))
		Expect(other.count()).To(Equal(40))
		var wrong *troupe.ConfigError
		Expect(errors.As(g.Unsubscribe("never"), &wrong)).To(BeTrue())
		Expect(errors.As(g.Subscribe(second, troupe.SQL92("a >"), other.handler("", nil)), &wrong)).To(BeTrue())
		Expect(rt.Shutdown(ctx)).To(Succeed())
		Expect(g.Subscribe(second, troupe.AllTags(), other.handler("", nil))).To(MatchError(troupe.ErrClosed))
		Expect(g.Unsubscribe(b.topic)).To(MatchError(troupe.ErrClosed))
	}, SpecTimeout(3*time.Minute))

	It("changes the filter of a topic while it runs, without a refused pull", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		r := newRecorder()
		rt := b.runtime(troupe.WithObserver(r))
		g := rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
		g.Handle(b.topic, troupe.Tags("A"), r.handler("", nil))
		started(ctx, rt)
		tags := func(i int, m *troupe.Message) { m.WithTag([]string{"A", "B"}[i%2]) }
		b.publish(ctx, p, 20, tags)
		Eventually(r.distinct, within).Should(Equal(10))
		l := b.link()
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(20)))
		refusals := len(r.seen(refused))
		Expect(g.Subscribe(b.topic, troupe.Tags("B"), r.handler("", nil))).To(Succeed())
		Eventually(func() int { return len(r.seen(resubscribed)) }, within).Should(Equal(2))
		b.publish(ctx, p, 20, tags)
		Eventually(func() int { return len(r.all()) }, within).Should(Equal(20))
		for _, d := range r.all()[10:] {
			Expect(d.tag).To(Equal("B"))
		}
		Expect(r.seen(refused)).To(HaveLen(refusals))
	}, SpecTimeout(3*time.Minute))
}

// NotFiltering specifies what becomes of a filter that brokers must evaluate; the cluster's has enablePropertyFilter=false.
func NotFiltering(cluster func(ctx context.Context) Cluster) {
	It("says clearly that a broker takes no SQL92 filter, at once", Label("A38"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{}).Handle(b.topic, troupe.SQL92("price > 5"), newRecorder().handler("", nil))
		err := rt.Start(ctx)
		Expect(err).To(MatchError(troupe.ErrRejected))
		var rejected *troupe.SubscriptionError
		Expect(errors.As(err, &rejected)).To(BeTrue())
		Expect(rejected.GetTopic()).To(Equal(b.topic))
		Expect(err).To(MatchError(And(ContainSubstring("price > 5"), ContainSubstring("does not support consumer to filter message by SQL92"))))
	}, SpecTimeout(3*time.Minute))
}

// Filtering specifies filters that brokers evaluate; the cluster's broker has enablePropertyFilter=true.
func Filtering(cluster func(ctx context.Context) Cluster) {
	It("delivers what fulfils an SQL92 condition, and commits what does not", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		r := newRecorder()
		rt := b.runtime()
		g := rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
		g.Handle(b.topic, troupe.SQL92("(price > 5 AND region = 'eu') OR note IS NOT NULL AND NOT (price BETWEEN 0 AND 8)"), r.handler("", nil))
		started(ctx, rt)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		dress := func(i int, m *troupe.Message) {
			m.WithProperty("price", fmt.Sprint(i%10)).WithProperty("region", []string{"eu", "us"}[i%2])
			if i%5 == 4 {
				m.WithProperty("note", "x")
			}
		}
		b.publish(ctx, p, 40, dress)
		// Of 0…9: 6 and 8 are eu and above 5; 9 has a note and is above 8.
		l := b.link()
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(40)))
		Expect(r.distinct()).To(Equal(12))
		for _, d := range r.all() {
			Expect(d.body[len(d.body)-1:]).To(BeElementOf("6", "8", "9"))
		}

		By("and by another one while it runs")
		Expect(g.Subscribe(b.topic, troupe.SQL92("region IN ('us', 'xx') AND price < 4"), r.handler("", nil))).To(Succeed())
		b.publish(ctx, p, 40, dress) // some of which the old filter may still take
		Eventually(func() (int64, error) { return b.committed(ctx, l, b.group) }, within).Should(Equal(int64(80)))
	}, SpecTimeout(3*time.Minute))

	It("refuses what a broker cannot parse, with its remark", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		l := b.link()
		addr, _, err := b.address(ctx, l, b.topic)
		Expect(err).NotTo(HaveOccurred())
		sub := &messages.Subscription{Topic: b.topic, Kind: messages.FilterKind_FILTER_KIND_SQL92, Expression: "price >", Version: 1}
		var refusal *messages.BrokerError
		Expect(errors.As(l.CheckSubscription(ctx, addr, b.group, sub), &refusal)).To(BeTrue())
		Expect(refusal.GetCode()).To(Equal(int32(23)))
		sub.Expression = "price > 5"
		Expect(l.CheckSubscription(ctx, addr, b.group, sub)).To(Succeed())
	}, SpecTimeout(3*time.Minute))
}

// refused finds pulls that were put off because the broker refused them.
func refused(e *troupe.Event) bool {
	return e.GetKind() == messages.EventKind_EVENT_KIND_PULL_DELAYED && e.GetFailure() != nil
}

// resubscribed finds queues that were begun again by another subscription.
func resubscribed(e *troupe.Event) bool {
	return e.GetKind() == messages.EventKind_EVENT_KIND_QUEUE_REVOKED && e.GetText() == "subscription changed"
}

func topicsOf(rt *troupe.Runtime) (out []string) {
	for _, g := range rt.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			out = append(out, q.GetQueue().GetTopic())
		}
	}
	return out
}
