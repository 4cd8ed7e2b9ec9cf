package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
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
	{"a pull group", func(rt *troupe.Runtime, group, topic string, h troupe.Handler) {
		g := rt.Pull(group, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, HandOff: patientHandOff})
		Expect(g.Subscribe(topic, troupe.AllTags())).To(Succeed())
		go poll(g, h)
	}},
}

// poll is the loop of a pull group's program: it ends with the Runtime.
func poll(g *troupe.PullGroup, h troupe.Handler) {
	ctx := context.Background()
	for {
		batch, err := g.Poll(ctx)
		switch {
		case errors.Is(err, troupe.ErrNotStarted):
			timer := time.NewTimer(time.Millisecond)
			<-timer.C
		case err != nil:
			return
		}
		for _, m := range batch.Messages {
			_ = h(ctx, m)
		}
	}
}

// HandingOver specifies queues that move between members: so often one or two join a third under load and leave again.
func HandingOver(cluster func(ctx context.Context) Cluster, rounds int) {
	for _, kind := range kindsOfGroups {
		It(fmt.Sprintf("delivers nothing twice and nothing out of order while members of %s join and leave under load, %d times", kind.name, rounds),
			func(ctx SpecContext) {
				h := newHandOver(ctx, cluster(ctx), kind)
				for i := range rounds {
					h.round(ctx, 1+i%2)
				}
				h.judge()
			}, SpecTimeout(time.Minute+time.Duration(rounds)*20*time.Second))
	}
}

// HandingOverAroundRestarts is HandingOver on a broker that is restarted between the rounds.
func HandingOverAroundRestarts(cluster func(ctx context.Context) Cluster, rounds int) {
	for _, kind := range kindsOfGroups {
		It(fmt.Sprintf("delivers nothing twice and nothing out of order while members of %s come and go and the broker restarts in between, %d times", kind.name, rounds),
			func(ctx SpecContext) {
				h := newHandOver(ctx, cluster(ctx), kind)
				l := h.link()
				for i := range rounds {
					h.round(ctx, 1+i%2)
					Expect(h.Bounce(ctx)).To(Succeed())
					// A broker that is back knows neither locks nor members, nor what was handled last, until a member has told it.
					handled := h.handled()
					Eventually(func() (map[int32]int64, error) { return h.behind(ctx, l, handled) }, within).Should(BeEmpty())
				}
				h.round(ctx, 2)
				h.judge()
			}, SpecTimeout(time.Minute+time.Duration(rounds)*50*time.Second))
	}
}

// handled is how far each queue was handled.
func (h *handOver) handled() map[int32]int64 {
	next := make(map[int32]int64)
	for _, d := range h.all() {
		next[d.queue] = max(next[d.queue], d.offset+1)
	}
	return next
}

// behind gives the queues of which the broker has less than was handled, with what it has.
func (h *handOver) behind(ctx context.Context, l actors.Link, handled map[int32]int64) (map[int32]int64, error) {
	addr, broker, err := h.address(ctx, l, h.topic)
	if err != nil {
		return nil, err
	}
	out := make(map[int32]int64)
	for id, next := range handled {
		at, err := l.Committed(ctx, addr, h.group, &messages.Queue{Topic: h.topic, Broker: broker, Id: id})
		if err != nil && !errors.Is(err, messages.ErrNoOffset) {
			return nil, err
		}
		if at < next {
			out[id] = at
		}
	}
	return out, nil
}

// handOver is a group under load, of which one member stays while others come and go.
type handOver struct {
	*bench
	*recorder
	kind  kindOfGroup
	stays *troupe.Runtime
	sent  func() int
	come  int
}

func newHandOver(ctx context.Context, c Cluster, kind kindOfGroup) *handOver {
	GinkgoHelper()
	h := &handOver{bench: newBench(ctx, c, 8), recorder: newRecorder(), kind: kind}
	h.stays = h.member(ctx, "stays")
	h.sent = h.load(ctx)
	return h
}

func (h *handOver) member(ctx context.Context, name string) *troupe.Runtime {
	GinkgoHelper()
	rt := h.runtime()
	h.kind.declare(rt, h.group, h.topic, h.handler(name, nil))
	return started(ctx, rt)
}

// round lets members come, consume and leave.
func (h *handOver) round(ctx context.Context, members int) {
	GinkgoHelper()
	before := h.count()
	var comers []*troupe.Runtime
	for range members {
		h.come++
		comers = append(comers, h.member(ctx, fmt.Sprint("comes-", h.come)))
	}
	for _, rt := range comers {
		Eventually(func() int { return len(running(rt)) }, within).Should(BeNumerically(">=", h.queues/(members+1)))
	}
	Eventually(h.count, within).Should(BeNumerically(">", before+50))
	for _, rt := range comers {
		Expect(rt.Shutdown(ctx)).To(Succeed())
	}
	Eventually(func() int { return len(running(h.stays)) }, within).Should(BeNumerically(">=", h.queues))
}

func (h *handOver) judge() {
	GinkgoHelper()
	total := h.sent()
	Eventually(h.distinct, "60s").Should(Equal(total))
	Expect(h.redelivered()).To(BeEmpty())
	for id := range h.queues {
		var offsets []int64
		for _, d := range h.all() {
			if d.queue == int32(id) {
				offsets = append(offsets, d.offset)
			}
		}
		if h.kind.name != "a concurrent group" {
			Expect(slices.IsSorted(offsets)).To(BeTrue(), "queue %d", id)
		}
	}
	AddReportEntry("longest pause of a queue", h.longestPause().String())
}

// load publishes a message every 2 ms, one queue after the other, until the returned function is called; that gives the number. What
// cannot be sent is sent again.
func (b *bench) load(ctx context.Context) (stop func() int) {
	GinkgoHelper()
	p := b.publisher(ctx, byQueue)
	var ended atomic.Bool
	done := make(chan int, 1)
	go func() {
		defer GinkgoRecover()
		n := 0
		for ; !ended.Load(); n++ {
			m := troupe.NewMessage(b.topic, fmt.Appendf(nil, "%d/%d", n%b.queues, n))
			for _, err := p.Send(ctx, m); err != nil; _, err = p.Send(ctx, m) {
				Expect(ctx.Err()).NotTo(HaveOccurred())
				time.Sleep(20 * time.Millisecond)
			}
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
