package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// kindOfGroup declares a group with one handler.
type kindOfGroup struct {
	name    string
	declare func(rt *troupe.Runtime, group, topic string, h troupe.Handler)
}

// How long a member may need to give a queue up on a machine that does other things, too.
const patientHandOff = 30 * time.Second

var kindsOfGroups = []kindOfGroup{
	{"a concurrent group", func(rt *troupe.Runtime, group, topic string, h troupe.Handler) {
		rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, HandOff: patientHandOff}).Handle(topic, troupe.AllTags(), h)
	}},
	{"an orderly group", func(rt *troupe.Runtime, group, topic string, h troupe.Handler) {
		rt.Orderly(group, troupe.OrderlyConfig{ConsumeFrom: troupe.FirstOffset}).Handle(topic, troupe.AllTags(), h)
	}},
}

// HandingOver specifies queues that move between members: so often members join and leave under load.
func HandingOver(cluster func(ctx context.Context) Cluster, rounds int) {
	for _, kind := range kindsOfGroups {
		It(fmt.Sprintf("delivers nothing twice and nothing out of order while members of %s join and leave under load, %d times", kind.name, rounds),
			func(ctx SpecContext) {
				b := newBench(ctx, cluster(ctx), 8)
				r := newRecorder()
				member := func(name string) *troupe.Runtime {
					rt := b.runtime()
					kind.declare(rt, b.group, b.topic, r.handler(name, nil))
					return started(ctx, rt)
				}
				stays := member("stays")
				sent := b.load(ctx)
				for i := range rounds {
					before := r.count()
					comes := member(fmt.Sprint("comes-", i))
					Eventually(func() int { return len(running(comes)) }, within).Should(BeNumerically(">=", 4))
					Eventually(r.count, within).Should(BeNumerically(">", before+50))
					Expect(comes.Shutdown(ctx)).To(Succeed())
					Eventually(func() int { return len(running(stays)) }, within).Should(BeNumerically(">=", 8))
				}
				total := sent()
				Eventually(r.distinct, "60s").Should(Equal(total))
				Expect(r.redelivered()).To(BeEmpty())
				for id := range b.queues {
					var offsets []int64
					for _, d := range r.all() {
						if d.queue == int32(id) {
							offsets = append(offsets, d.offset)
						}
					}
					if kind.name == "an orderly group" {
						Expect(slices.IsSorted(offsets)).To(BeTrue(), "queue %d", id)
					}
				}
				AddReportEntry("longest pause of a queue", r.longestPause().String())
			}, SpecTimeout(time.Minute+time.Duration(rounds)*20*time.Second))
	}
}

// load publishes a message every 2 ms, one queue after the other, until the returned function is called; that gives the number.
func (b *bench) load(ctx context.Context) (stop func() int) {
	GinkgoHelper()
	p := b.publisher(ctx, byQueue)
	var ended atomic.Bool
	done := make(chan int, 1)
	go func() {
		defer GinkgoRecover()
		n := 0
		for ; !ended.Load(); n++ {
			_, err := p.Send(ctx, troupe.NewMessage(b.topic, fmt.Appendf(nil, "%d/%d", n%b.queues, n)))
			Expect(err).NotTo(HaveOccurred())
			time.Sleep(2 * time.Millisecond)
		}
		done <- n
	}()
	return func() int {
		ended.Store(true)
		return <-done
	}
}

// longestPause is the longest time between two deliveries of one queue.
func (r *recorder) longestPause() (longest time.Duration) {
	last := make(map[int32]time.Time)
	for _, d := range r.all() {
		if at, ok := last[d.queue]; ok {
			longest = max(longest, d.at.Sub(at))
		}
		last[d.queue] = d.at
	}
	return longest
}
