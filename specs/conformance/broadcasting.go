package conformance

import (
	"context"
	"errors"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/offsetfile"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Broadcasting specifies what a group does of which every member gets everything, on any cluster.
func Broadcasting(cluster func(ctx context.Context) Cluster) {
	It("gives every member every message, and keeps no offset at the broker", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		r := []*recorder{newRecorder(), newRecorder()}
		for _, one := range r {
			rt := b.runtime(troupe.WithObserver(one))
			rt.Broadcast(b.group, troupe.BroadcastConfig{Offsets: offsetfile.At(GinkgoT().TempDir())}).
				Handle(b.topic, troupe.AllTags(), one.handler("", nil))
			started(ctx, rt)
		}
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 100)
		for _, one := range r {
			Eventually(one.distinct, within).Should(Equal(100))
			Expect(one.count()).To(Equal(100))
		}
		l := b.link()
		Expect(b.committed(ctx, l, b.group)).To(BeZero())
	}, SpecTimeout(time.Minute))

	It("goes on where it was after a restart under another client id, also with what came meanwhile", Label("A51"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 3)
		dir := GinkgoT().TempDir()
		r := newRecorder()
		p := b.publisher(ctx, troupe.PublisherConfig{})
		ids := map[string]bool{}
		for round := range 3 {
			rt := b.runtime()
			ids[rt.ClientID()] = true
			rt.Broadcast(b.group, troupe.BroadcastConfig{Offsets: offsetfile.At(dir)}).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
			started(ctx, rt)
			b.publish(ctx, p, 30, func(_ int, m *troupe.Message) { m.Body = append([]byte{byte('a' + round)}, m.Body...) })
			Eventually(r.distinct, within).Should(Equal(60*round + 30))
			Expect(rt.Shutdown(ctx)).To(Succeed())
			b.publish(ctx, p, 30, func(_ int, m *troupe.Message) { m.Body = append([]byte{byte('A' + round)}, m.Body...) })
		}
		Expect(r.count()).To(Equal(60*2 + 30))
		Expect(ids).To(HaveLen(3))
	}, SpecTimeout(time.Minute))

	It("delivers each message that is stored once it has started", Label("A52"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		b.publish(ctx, p, 20, func(_ int, m *troupe.Message) { m.Body = []byte("old") })
		for range 5 {
			r := newRecorder()
			rt := b.runtime()
			rt.Broadcast(b.group, troupe.BroadcastConfig{Offsets: troupe.MemoryOffsets()}).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
			started(ctx, rt)
			b.publish(ctx, p, 8) // at once
			Eventually(r.distinct, within).Should(Equal(8))
			Expect(rt.Shutdown(ctx)).To(Succeed())
			Expect(r.count()).To(Equal(8), "nothing old")
		}
	}, SpecTimeout(time.Minute))

	It("warns once that a store outlives nothing", Label("A51"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		r := newRecorder()
		rt := b.runtime(troupe.WithObserver(r))
		rt.Broadcast(b.group, troupe.BroadcastConfig{Offsets: troupe.MemoryOffsets()}).Handle(b.topic, troupe.AllTags(), r.handler("", nil))
		started(ctx, rt)
		warnings := r.seen(func(e *troupe.Event) bool { return e.GetKind() == messages.EventKind_EVENT_KIND_OFFSET_STORE_WARNING })
		Expect(warnings).To(HaveLen(1))
		Expect(warnings[0].GetText()).To(ContainSubstring("memory only"))
	}, SpecTimeout(time.Minute))

	It("tries a failed message again here only, then drops it and tells: it never comes back", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		dir := GinkgoT().TempDir()
		r := newRecorder()
		var mu sync.Mutex
		tries := 0
		member := func() *troupe.Runtime {
			rt := b.runtime(troupe.WithObserver(r))
			rt.Broadcast(b.group, troupe.BroadcastConfig{
				Offsets: offsetfile.At(dir), LocalRetries: 2, RetryDelay: 50 * time.Millisecond,
			}).Handle(b.topic, troupe.AllTags(), r.handler("", func(_ context.Context, m *troupe.Message) error {
				if string(m.GetBody()) != "3" {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				tries++
				return errors.New("fails on purpose")
			}))
			return started(ctx, rt)
		}
		rt := member()
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 6)
		dropped := func() []*troupe.Event {
			return r.seen(func(e *troupe.Event) bool { return e.GetKind() == messages.EventKind_EVENT_KIND_MESSAGE_DROPPED })
		}
		Eventually(dropped, within).Should(HaveLen(1))
		Expect(dropped()[0].GetText()).To(Equal("fails on purpose"))
		Eventually(r.distinct, within).Should(Equal(5))
		Expect(rt.Shutdown(ctx)).To(Succeed())
		member()
		l := b.link()
		Consistently(func() (int64, error) { return b.stored(ctx, l, "%RETRY%"+b.group) }, "1s").Should(BeZero())
		Expect(b.stored(ctx, l, "%DLQ%"+b.group)).To(BeZero())
		mu.Lock()
		defer mu.Unlock()
		Expect(tries).To(Equal(3))
	}, SpecTimeout(time.Minute))
}
