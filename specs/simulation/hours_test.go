package simulation_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

const (
	addressA   = "10.0.0.1:10911"
	addressB   = "10.0.0.2:10911"
	addressB2  = "10.0.0.3:10911"
	nameServer = "10.0.0.9:9876"
)

var fromFirst = troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}

// Minutes and hours of a group's life, with every interval as it is by default.
var _ = Describe("A group, over minutes and hours", func() {
	inTown := func(body func(t *town)) {
		GinkgoHelper()
		bubble(func() {
			t := newTown()
			defer t.close()
			body(t)
		})
	}

	It("tries a message sixteen times by the broker's schedule, then it is a dead letter", Label("A27"), func() {
		inTown(func(t *town) {
			// Each level has a delay of its own, so that the delay tells which level was asked for. Apache's own levels would do, but
			// the race detector does not stand five hours in a bubble: Go 1.26 lets two threads use the context of its timers at once.
			levels := make([]time.Duration, 18)
			for i := range levels {
				levels[i] = time.Duration(i+1) * time.Second
			}
			b := t.broker(addressA, embedded.Config{DelayLevels: levels})
			Expect(b.CreateTopic(topic, 1)).To(Succeed())
			d := &diary{}
			fails := errors.New("fails for ever")
			var topics, tags atomic.Int64
			rt := t.start(addressA, fromFirst, func(ctx context.Context, m *troupe.Message) error {
				_ = d.handle(ctx, m) // it only notes
				if m.GetTopic() == topic {
					topics.Add(1)
				}
				if m.Tag() == "paid" && m.MessageID() == "ID-1" {
					tags.Add(1)
				}
				return fails
			}, troupe.WithObserver(d))
			Expect(b.Publish(troupe.NewMessage(topic, []byte("x")).WithTag("paid").SetProperty(messages.PropertyUniqueKey, "ID-1"))).To(Succeed())
			within(5*time.Minute, "the dead letter", func() bool { return b.CountMessages("%DLQ%"+group) == 1 })
			got := d.all()
			Expect(got).To(HaveLen(17))
			Expect(topics.Load()).To(Equal(int64(17)), "the topic is the original one each time")
			Expect(tags.Load()).To(Equal(int64(17)), "so are tag and id")
			for i, a := range got {
				Expect(a.times).To(Equal(int32(i)))
				if i > 0 {
					Expect(a.at.Sub(got[i-1].at)).To(BeNumerically("~", levels[i+1], 300*time.Millisecond), "attempt %d comes by level %d", i+1, i+2)
				}
			}
			Expect(rt.Shutdown(context.Background())).To(Succeed())
			Expect(b.Lag(group, topic)).To(BeZero())
			Expect(b.Lag(group, "%RETRY%"+group)).To(BeZero())
			dead := b.MessagesIn("%DLQ%" + group)[0]
			Expect(dead.GetReconsumeTimes()).To(Equal(int32(17)))
			Expect(dead.Property("RETRY_TOPIC")).To(Equal(topic))
		})
	})

	It("does not feel it in one broker's queues that another is away for two minutes and comes back elsewhere", Label("A13"), func() {
		inTown(func(t *town) {
			n := t.nameServer(nameServer)
			a := t.broker(addressA, embedded.Config{NameServer: n, BrokerName: "a"})
			b := t.broker(addressB, embedded.Config{NameServer: n, BrokerName: "b"})
			for _, broker := range []*embedded.Broker{a, b} {
				Expect(broker.CreateTopic(topic, 4)).To(Succeed())
			}
			d := &diary{}
			rt := t.start(nameServer, fromFirst, d.handle)
			within(time.Minute, "all eight queues", func() bool { return running(rt) == 8 })
			published := 0
			turn := int32(0)
			flow := func(long time.Duration, brokers ...*embedded.Broker) {
				GinkgoHelper()
				for begin := time.Now(); time.Since(begin) < long; time.Sleep(100 * time.Millisecond) {
					for _, broker := range brokers {
						put(broker, turn%4)
						published++
					}
					turn++
				}
			}
			flow(10*time.Second, a, b)
			Expect(b.Stop()).To(Succeed())
			gone := time.Now()
			flow(2*time.Minute, a)
			Expect(b.Restart(context.Background(), t.listen(addressB2))).To(Succeed())
			back := time.Now()
			flow(time.Minute, a, b)
			old := t.network.Dials(addressB)
			flow(time.Minute, a, b)
			within(time.Second, "every message", func() bool { return len(d.all()) >= published })
			Expect(t.network.Dials(addressB)).To(Equal(old), "nobody asks at the old address any more")
			for _, x := range d.from("a") {
				Expect(x.after).To(BeNumerically("<", 2*time.Second), "a/%d at %d", x.queue, x.offset)
			}
			again := map[int32]bool{}
			for _, x := range d.from("b") {
				if x.at.Sub(back) > 0 && x.at.Sub(back) <= time.Minute {
					again[x.queue] = true
				}
			}
			Expect(again).To(HaveLen(4), "all of b's queues are pulled within a minute")
			// What b was not told before it went away comes again: no more than the offset interval of five seconds.
			first := map[string]time.Time{}
			for _, x := range d.all() {
				if before, again := first[x.place()]; again {
					Expect(x.broker).To(Equal("b"))
					Expect(gone.Sub(before)).To(BeNumerically("<=", 5*time.Second), x.place())
				}
				first[x.place()] = x.at
			}
			Expect(first).To(HaveLen(published))
		})
	})

	It("finds new queues and new brokers of its topic by itself, and shares them", func() {
		inTown(func(t *town) {
			n := t.nameServer(nameServer)
			a := t.broker(addressA, embedded.Config{NameServer: n, BrokerName: "a"})
			Expect(a.CreateTopic(topic, 4)).To(Succeed())
			d := &diary{}
			one, two := t.start(nameServer, fromFirst, d.handle), t.start(nameServer, fromFirst, d.handle)
			both := func(each int) func() bool { return func() bool { return running(one) == each && running(two) == each } }
			within(time.Minute, "four queues shared", both(2))
			Expect(a.ConfigureTopic(topic, 6, 6, true, true)).To(Succeed())
			within(50*time.Second, "a refresh and a round later: six queues", both(3))
			b := t.broker(addressB, embedded.Config{NameServer: n, BrokerName: "b"})
			Expect(b.CreateTopic(topic, 2)).To(Succeed())
			put(b, 0)
			put(b, 1)
			within(50*time.Second, "a refresh and a round later: eight queues on two brokers", both(4))
			within(5*time.Second, "what was stored before they were found", func() bool { return len(d.from("b")) == 2 })
			Expect(b.ConfigureTopic(topic, 0, 0, false, false)).To(Succeed())
			within(50*time.Second, "and fewer again", both(3))
		})
	})

	It("is told by name of a member that subscribes to something else", Label("A15"), func() {
		inTown(func(t *town) {
			b := t.broker(addressA, embedded.Config{})
			for _, name := range []string{topic, "another"} {
				Expect(b.CreateTopic(name, 2)).To(Succeed())
			}
			one, two := &diary{}, &diary{}
			t.start(addressA, fromFirst, one.handle, troupe.WithObserver(one))
			time.Sleep(time.Second)
			t.run(addressA, func(rt *troupe.Runtime) {
				g := rt.Concurrent(group, fromFirst)
				g.Handle(topic, troupe.Tags("paid"), two.handle)
				g.Handle("another", troupe.AllTags(), two.handle)
			}, troupe.WithObserver(two))
			time.Sleep(3 * time.Minute)
			told := func(d *diary) (out []string) {
				for _, e := range d.of(messages.EventKind_EVENT_KIND_SUBSCRIPTION_MISMATCH) {
					out = append(out, e.GetText())
				}
				return out
			}
			Expect(told(one)).To(HaveExactElements(
				MatchRegexp(`^10\.0\.9\.\d+ \(GO\) subscribes to ` + topic + ` with "paid" instead of "\*", subscribes to another, too$`)))
			Expect(told(two)).To(HaveExactElements(
				MatchRegexp(`^10\.0\.9\.\d+ \(GO\) does not subscribe to another, subscribes to ` + topic + ` with "\*" instead of "paid"$`)))
		})
	})

	It("gives a dead connection up and goes on within seconds of the network's return", Label("A39"), func() {
		inTown(func(t *town) {
			b := t.broker(addressA, embedded.Config{})
			Expect(b.CreateTopic(topic, 4)).To(Succeed())
			d := &diary{}
			rt := t.start(addressA, fromFirst, d.handle, troupe.WithObserver(d))
			within(time.Minute, "all queues", func() bool { return running(rt) == 4 })
			for q := range int32(4) {
				put(b, q)
			}
			within(time.Second, "the first messages", func() bool { return len(d.all()) == 4 })
			lost := time.Now()
			t.network.Blackhole("10.0.0.1")
			for q := range int32(4) {
				put(b, q)
			}
			within(2*30*time.Second, "the connection given up", func() bool {
				return len(d.of(messages.EventKind_EVENT_KIND_DISCONNECTED)) > 0
			})
			time.Sleep(10*time.Minute - time.Since(lost))
			t.network.Heal("10.0.0.1")
			within(5*time.Second, "the messages of ten minutes", func() bool { return len(d.all()) >= 8 })
			within(20*time.Second, "all offsets", func() bool { return b.Lag(group, topic) == 0 })
			Expect(d.all()).To(HaveLen(8), "nothing comes twice")
		})
	})

	It("starts without a name server and without its topic, and consumes when they are there", Label("A35"), func() {
		inTown(func(t *town) {
			other := "soon"
			d, late := &diary{}, &diary{}
			b := t.broker(addressA, embedded.Config{})
			Expect(b.CreateTopic(other, 1)).To(Succeed())
			Expect(b.Stop()).To(Succeed())
			go func() { // the cluster comes up while the start waits for it
				defer GinkgoRecover()
				time.Sleep(20 * time.Second)
				Expect(b.Restart(context.Background(), t.listen(addressA))).To(Succeed())
			}()
			rt := t.start(addressA, fromFirst, late.handle, troupe.WithObserver(d))
			Expect(b.Publish(troupe.NewMessage(other, []byte("x")))).To(Succeed())
			time.Sleep(40 * time.Second)
			Expect(running(rt)).To(BeZero())
			Expect(d.of(messages.EventKind_EVENT_KIND_ROUTE_MISSING)).NotTo(BeEmpty())
			Expect(b.CreateTopic(topic, 1)).To(Succeed())
			put(b, 0)
			within(35*time.Second, "the late topic", func() bool { return len(late.all()) == 1 })
		})
	})

	It("keeps its queues while the broker tells nothing good about the members", Label("A14"), func() {
		inTown(func(t *town) {
			b := t.broker(addressA, embedded.Config{})
			Expect(b.CreateTopic(topic, 8)).To(Succeed())
			d := &diary{}
			rt := t.start(addressA, fromFirst, d.handle, troupe.WithObserver(d))
			within(time.Minute, "all queues", func() bool { return running(rt) == 8 })
			for _, fault := range []embedded.Fault{{Answer: wire.SystemError, Remark: "scripted"}, {Silent: true}, {Drop: true}} {
				fault.Code = wire.GetConsumerListByGroup
				remove := b.Faults().Add(fault)
				before := b.Faults().Seen(wire.GetConsumerListByGroup)
				for range 90 {
					time.Sleep(time.Second)
					Expect(running(rt)).To(Equal(8))
				}
				Expect(b.Faults().Seen(wire.GetConsumerListByGroup)).To(BeNumerically(">", before+2), "it was asked")
				remove()
			}
			Expect(d.of(messages.EventKind_EVENT_KIND_QUEUE_REVOKING)).To(BeEmpty())
			two := t.start(addressA, fromFirst, d.handle)
			within(25*time.Second, "the first good answer: the right share", func() bool { return running(rt) == 4 && running(two) == 4 })
		})
	})

	It("never begins at an older offset because the broker does not tell the right one", Label("A01"), func() {
		inTown(func(t *town) {
			b := t.broker(addressA, embedded.Config{})
			Expect(b.CreateTopic(topic, 2)).To(Succeed())
			for range 100 {
				put(b, 0)
				put(b, 1)
			}
			b.Commit(group, topic, 0, 60)
			b.Commit(group, topic, 1, 60)
			queue := int32(0)
			b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.QueryConsumerOffset, Topic: topic, Queue: &queue}, Times: 1, Answer: wire.SystemError, Remark: "scripted"})
			b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.QueryConsumerOffset, Topic: topic, Queue: &queue}, Times: 1, Silent: true})
			d := &diary{}
			begin := time.Now()
			t.start(addressA, fromFirst, d.handle, troupe.WithObserver(d))
			within(time.Minute, "both queues", func() bool { return len(d.all()) >= 80 })
			for _, x := range d.all() {
				Expect(x.offset).To(BeNumerically(">=", 60))
				if x.queue == 1 {
					Expect(x.at.Sub(begin)).To(BeNumerically("<", 2*time.Second), "the other queue is not held up")
				}
			}
			Expect(d.all()).To(HaveLen(80))
			Expect(d.of(messages.EventKind_EVENT_KIND_START_OFFSET_FAILED)).To(HaveLen(2))
		})
	})

	It("holds a queue at its span while one message is stuck for a quarter of an hour, says so, and repeats no more than the span", Label("A08"), func() {
		inTown(func(t *town) {
			b := t.broker(addressA, embedded.Config{})
			Expect(b.CreateTopic(topic, 1)).To(Succeed())
			for range 4000 {
				put(b, 0)
			}
			d := &diary{}
			stuck := func(ctx context.Context, m *troupe.Message) error {
				if m.GetQueueOffset() == 11 {
					<-ctx.Done()
					return context.Cause(ctx)
				}
				return d.handle(ctx, m)
			}
			first := t.start(addressA, fromFirst, stuck, troupe.WithObserver(d))
			time.Sleep(15 * time.Minute)
			highest := int64(0)
			for _, x := range d.all() {
				highest = max(highest, x.offset)
			}
			Expect(highest).To(And(BeNumerically("<=", 11+2000), BeNumerically(">", 1900)))
			committed, _ := b.Committed(group, topic, 0)
			Expect(committed).To(Equal(int64(11)))
			told := d.of(messages.EventKind_EVENT_KIND_OLDEST_IN_FLIGHT)
			Expect(told).NotTo(BeEmpty())
			Expect(told[0].GetQueue().GetTopic()).To(Equal(topic))
			Expect(told[0].GetOffset()).To(Equal(int64(11)))
			Expect(told[0].GetDelayMillis()).To(BeNumerically(">", 60_000))
			had := len(d.all())

			Expect(first.Shutdown(context.Background())).To(Succeed(), "its handler heeds the end of its context")
			rest := &diary{}
			t.start(addressA, fromFirst, rest.handle)
			within(time.Minute, "the rest", func() bool { return b.Lag(group, topic) == 0 })
			Expect(len(rest.all()) + had - 4000).To(And(BeNumerically("<=", 2000), BeNumerically(">", 0)))
		})
	})

	DescribeTable("writes few lines", Label("A46"),
		func(lines int, body func(t *town, b *embedded.Broker)) {
			inTown(func(t *town) {
				b := t.broker(addressA, embedded.Config{})
				Expect(b.CreateTopic(topic, 64)).To(Succeed())
				var out bytes.Buffer
				log := logrus.New()
				log.SetOutput(&out)
				rt := t.start(addressA, fromFirst, (&diary{}).handle, troupe.WithLogger(log))
				within(time.Minute, "all queues", func() bool { return running(rt) == 64 })
				body(t, b)
				time.Sleep(10 * time.Minute)
				_ = rt.Shutdown(context.Background()) // an offset may be left if the broker is away
				Expect(bytes.Count(out.Bytes(), []byte("\n"))).To(And(BeNumerically("<=", lines), BeNumerically(">", 0)), out.String())
			})
		},
		Entry("in ten idle minutes on 64 queues", 20, func(*town, *embedded.Broker) {}),
		Entry("while its broker is gone for ten minutes", 100, func(_ *town, b *embedded.Broker) { Expect(b.Stop()).To(Succeed()) }),
		Entry("while its broker is silent for ten minutes", 100, func(t *town, _ *embedded.Broker) { t.network.Blackhole("10.0.0.1") }),
	)

	It("dials a closed port no more than once a second", Label("A40"), func() {
		inTown(func(t *town) {
			b := t.broker(addressA, embedded.Config{})
			Expect(b.CreateTopic(topic, 8)).To(Succeed())
			rt := t.start(addressA, fromFirst, (&diary{}).handle)
			within(time.Minute, "all queues", func() bool { return running(rt) == 8 })
			Expect(b.Stop()).To(Succeed())
			before := t.network.Dials(addressA)
			time.Sleep(10 * time.Minute)
			Expect(t.network.Dials(addressA) - before).To(And(BeNumerically("<=", 600), BeNumerically(">", 10)))
			Expect(b.Restart(context.Background(), t.listen(addressA))).To(Succeed())
			put(b, 0)
			within(40*time.Second, "it is found again", func() bool { return b.Lag(group, topic) == 0 })
		})
	})

	It("costs nothing when members come and go for long", Label("A20"), func() {
		inTown(func(t *town) {
			b := t.broker(addressA, embedded.Config{})
			Expect(b.CreateTopic(topic, 16)).To(Succeed())
			d := &diary{}
			rt := t.start(addressA, fromFirst, d.handle)
			within(time.Minute, "all queues", func() bool { return running(rt) == 16 })
			time.Sleep(time.Minute) // the retry topic's queue comes with the second round
			actors := len(rt.Topology().GetActors())
			for i := range 40 {
				other := t.start(addressA, fromFirst, d.member(i))
				time.Sleep(2 * time.Second)
				put(b, int32(i%16))
				Expect(other.Shutdown(context.Background())).To(Succeed())
				time.Sleep(2 * time.Second)
			}
			within(time.Minute, "all queues again", func() bool { return running(rt) == 16 })
			Expect(len(rt.Topology().GetActors())).To(Equal(actors))
			// One who joins may be faster than the last owner's commit; one who takes over from a member that has left never is.
			first := map[string]bool{}
			for _, x := range d.all() {
				Expect(first[x.place()] && x.member == 0).To(BeFalse(), "%s comes again to the member that stayed", x.place())
				first[x.place()] = true
			}
			Expect(first).To(HaveLen(40))
		})
	})
})
