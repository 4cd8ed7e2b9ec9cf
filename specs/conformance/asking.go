package conformance

import (
	"context"
	"errors"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// tool asks a broker what administrators' tools ask.
type tool struct {
	client  *remoting.Client
	address string
	broker  string
}

func (b *bench) tool(ctx context.Context) *tool {
	GinkgoHelper()
	address, broker, err := b.address(ctx, b.link(), b.topic)
	Expect(err).NotTo(HaveOccurred())
	t := &tool{client: remoting.NewClient(remoting.ClientConfig{}), address: address, broker: broker}
	DeferCleanup(t.client.Close)
	return t
}

// ask gives the answer, whatever its code.
func (t *tool) ask(ctx context.Context, code wire.RequestCode, h interface{ AppendTo(*wire.Ext) }) *wire.Command {
	GinkgoHelper()
	cmd := wire.NewRequest(code)
	h.AppendTo(&cmd.Ext)
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	answer, err := t.client.Call(ctx, t.address, cmd)
	Expect(err).NotTo(HaveOccurred())
	return answer
}

// must gives the answer, which must be success.
func (t *tool) must(ctx context.Context, code wire.RequestCode, h interface{ AppendTo(*wire.Ext) }) *wire.Command {
	GinkgoHelper()
	answer := t.ask(ctx, code, h)
	Expect(answer.Code).To(BeZero(), answer.Remark)
	return answer
}

// Asking specifies what a member answers when a tool asks for it through a broker.
func Asking(cluster func(ctx context.Context) Cluster) {
	// member starts a member of a new group and waits until it has consumed what was published.
	member := func(ctx context.Context, b *bench, r *recorder, n int, h func(context.Context, *troupe.Message) error) *troupe.Runtime {
		GinkgoHelper()
		rt := b.runtime(troupe.WithObserver(r))
		// A topic may have half of the workers at once.
		cfg := troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, Workers: 100}
		rt.Concurrent(b.group, cfg).Handle(b.topic, troupe.AllTags(), r.handler("", h))
		started(ctx, rt)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), n)
		Eventually(r.count, within).Should(BeNumerically(">=", n))
		return rt
	}
	all := func(ctx context.Context, b *bench) func() (int64, error) {
		l := b.link()
		return func() (int64, error) { return b.committed(ctx, l, b.group) }
	}

	It("tells everything about a group, with and without its tree", Label("A47"), func(ctx SpecContext) {
		b, r := newBench(ctx, cluster(ctx), 4), newRecorder()
		rt := member(ctx, b, r, 40, nil)
		t := b.tool(ctx)
		Eventually(all(ctx, b), within).Should(Equal(int64(40)))
		info := func(tree bool) *wire.RunningInfo {
			begin := time.Now()
			answer := t.must(ctx, wire.GetConsumerRunningInfo, &wire.RunningInfoHeader{Group: b.group, ClientID: rt.ClientID(), JStack: tree})
			Expect(time.Since(begin)).To(BeNumerically("<", within2()))
			info, err := wire.DecodeRunningInfo(answer.Body)
			Expect(err).NotTo(HaveOccurred())
			return info
		}
		plain := info(false)
		Expect(plain.Stack).To(BeEmpty())
		Expect(plain.Properties).To(HaveKeyWithValue("PROP_CONSUME_TYPE", "CONSUME_PASSIVELY"))
		Expect(plain.Properties).To(HaveKeyWithValue("PROP_CONSUMEORDERLY", "false"))
		Expect(plain.Properties).To(HaveKeyWithValue("consumerGroup", b.group))
		topics := map[string]bool{}
		for _, s := range plain.Subscriptions {
			topics[s.Topic] = true
		}
		Expect(topics).To(Equal(map[string]bool{b.topic: true, actors.RetryTopic(b.group): true}))
		sum := int64(0)
		for q, p := range plain.Queues {
			if q.Topic == b.topic {
				sum += p.CommitOffset
			}
		}
		Expect(sum).To(Equal(int64(40)))
		Expect(plain.Status[b.topic].ConsumeOKTPS).To(BeNumerically(">", 0))
		Expect(plain.Status[b.topic].PullTPS).To(BeNumerically(">", 0))
		Expect(info(true).Stack).To(ContainSubstring("group-" + b.group + " [ConsumerGroup] running"))

		Expect(t.ask(ctx, wire.GetConsumerRunningInfo, &wire.RunningInfoHeader{Group: b.group, ClientID: "nobody"}).Code).NotTo(BeZero())
	}, SpecTimeout(3*time.Minute))

	It("tells where each member stands", Label("A47"), func(ctx SpecContext) {
		b, r := newBench(ctx, cluster(ctx), 4), newRecorder()
		rt := member(ctx, b, r, 40, nil)
		t := b.tool(ctx)
		Eventually(all(ctx, b), within).Should(Equal(int64(40)))
		answer := t.must(ctx, wire.InvokeBrokerToGetConsumerStatus, &wire.ConsumerStatusHeader{Topic: b.topic, Group: b.group})
		status, err := wire.DecodeConsumerStatus(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Clients).To(HaveLen(1))
		Expect(status.Clients[rt.ClientID()]).To(HaveLen(4))
		sum := int64(0)
		for _, offset := range status.Clients[rt.ClientID()] {
			sum += offset
		}
		Expect(sum).To(Equal(int64(40)))
	}, SpecTimeout(3*time.Minute))

	It("handles one message when asked to, once, and no offset moves", Label("A47"), func(ctx SpecContext) {
		b, r := newBench(ctx, cluster(ctx), 1), newRecorder()
		ids := make(chan string, 16)
		second := make(chan func() error, 1)
		rt := member(ctx, b, r, 3, func(_ context.Context, m *troupe.Message) error {
			if string(m.GetBody()) == "1" {
				ids <- m.OffsetID()
			}
			select {
			case verdict := <-second:
				return verdict()
			default:
				return nil
			}
		})
		t := b.tool(ctx)
		Eventually(all(ctx, b), within).Should(Equal(int64(3)))
		id := <-ids
		direct := func(verdict func() error) *wire.ConsumeDirectlyResult {
			if verdict != nil {
				second <- verdict
			}
			answer := t.must(ctx, wire.ConsumeMessageDirectly, &wire.ConsumeDirectlyHeader{
				Group: b.group, ClientID: rt.ClientID(), MessageID: id, Topic: b.topic,
			})
			result, err := wire.DecodeConsumeDirectlyResult(answer.Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(ids).To(Receive(Equal(id)))
			Expect(result.Order).To(BeFalse())
			Expect(result.AutoCommit).To(BeTrue())
			return result
		}
		Expect(direct(nil).Result).To(Equal(wire.ConsumeSuccess))
		later := direct(func() error { return errors.New("no stock") })
		Expect(later.Result).To(Equal(wire.ConsumeLater))
		Expect(later.Remark).To(Equal("no stock"))
		panicked := direct(func() error { panic("out of range") })
		Expect(panicked.Result).To(Equal(wire.ConsumeThrew))
		Expect(panicked.Remark).To(ContainSubstring("out of range"))
		Expect(r.count()).To(Equal(6))
		Consistently(all(ctx, b), "1s", "200ms").Should(Equal(int64(3)))
		Expect(r.count()).To(Equal(6), "nothing is tried again")
	}, SpecTimeout(3*time.Minute))

	It("goes on where an administrator puts the group, and what was in flight cannot undo it", Label("A07"), func(ctx SpecContext) {
		b, r := newBench(ctx, cluster(ctx), 1), newRecorder()
		first, second := make(chan struct{}), make(chan struct{})
		deliveries := newTally()
		member(ctx, b, r, 60, func(_ context.Context, m *troupe.Message) error {
			switch n := deliveries.count(m.GetQueueOffset()); {
			case n == 1 && m.GetQueueOffset() >= 30:
				<-first // whatever its context says
			case n == 2 && m.GetQueueOffset() == 5:
				<-second
			}
			return nil
		})
		releaseFirst, releaseSecond := sync.OnceFunc(func() { close(first) }), sync.OnceFunc(func() { close(second) })
		DeferCleanup(releaseFirst)
		DeferCleanup(releaseSecond)
		stored := all(ctx, b)
		Eventually(stored, within).Should(Equal(int64(30)))
		begin := time.Now()
		b.tool(ctx).must(ctx, wire.InvokeBrokerToResetOffset, &wire.ResetOffsetHeader{
			Group: b.group, Topic: b.topic, Timestamp: 0, Force: true, QueueID: -1, Offset: -1,
		})
		// A broker that keeps the reset for the next pull does not wake the one that waits: a message does.
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 1)
		reset := func() []*troupe.Event { return r.seen(moved) }
		Eventually(reset, within).ShouldNot(BeEmpty())
		Expect(reset()[0].GetOffset()).To(BeZero())
		Expect(time.UnixMilli(reset()[0].GetAt()).Sub(begin)).To(BeNumerically("<", within2()))
		releaseFirst()
		Eventually(stored, within).Should(Equal(int64(5)))
		Consistently(stored, "1500ms", "200ms").Should(Equal(int64(5)))
		releaseSecond()
		Eventually(stored, within).Should(Equal(int64(61)))
		for offset := range int64(60) {
			Expect(deliveries.of(offset)).To(Equal(2), "offset %d", offset)
		}
	}, SpecTimeout(3*time.Minute))
}

// tally counts deliveries by offset.
type tally struct {
	mu     sync.Mutex
	counts map[int64]int
}

func newTally() *tally { return &tally{counts: make(map[int64]int)} }

// count notes a delivery and tells which one of that offset it is.
func (t *tally) count(offset int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[offset]++
	return t.counts[offset]
}

func (t *tally) of(offset int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[offset]
}

// moved tells whether a queue was put at another offset, by the client's own doing or on the broker's demand.
func moved(e *troupe.Event) bool {
	return e.GetKind() == messages.EventKind_EVENT_KIND_OFFSET_RESET || e.GetKind() == messages.EventKind_EVENT_KIND_OFFSET_CORRECTED
}
