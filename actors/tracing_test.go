package actors_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

// traceTopic is where the specs' traces go; its broker has nothing else to do.
const traceTopic = "RMQ_SYS_TRACE_TOPIC"

// traceable is a message that wants a trace, from a broker that notes its region.
func traceable(body string) *messages.Message {
	return (&messages.Message{Topic: "orders", Body: []byte(body)}).
		SetProperty(messages.PropertyUniqueKey, "ID-"+body).SetProperty(messages.PropertyKeys, "key-"+body).
		SetProperty(messages.PropertyRegion, "DefaultRegion").SetProperty(messages.PropertyTraceOn, "true")
}

// toTraces holds for calls about the trace topic.
func toTraces(call linktest.Call) bool { return call.Topic == traceTopic }

var _ = Describe("Tracing", Label("A48"), func() {
	key := linktest.Key("orders", "a", 0)

	// traced is a client that traces, on a cluster with a broker for messages and one for traces.
	traced := func() *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", 1, "a")
		s.cluster.Topic(traceTopic, 1, "tracer")
		s.spec.Trace = &actors.TraceSpec{Topic: traceTopic, Batch: 10}
		return s
	}
	// records gives the traces that arrived, as fields.
	records := func(s *stage) (out [][]string) {
		for _, call := range s.calls(linktest.Send, toTraces) {
			if call.Err != nil || call.Pending {
				continue
			}
			body := string(call.Request.(*messages.SendRequest).GetBody())
			Expect(len(body)).To(BeNumerically("<=", 128_000))
			for record := range strings.SplitSeq(strings.TrimSuffix(body, "\x02"), "\x02") {
				out = append(out, strings.Split(record, "\x01"))
			}
		}
		return out
	}
	fill := func(s *stage, from, to int) {
		for i := from; i < to; i++ {
			s.cluster.Store(key, traceable(fmt.Sprint(i)))
		}
	}

	It("tells the beginning and the end of a call within 5 s, found by id and keys", func() {
		bubble(func() {
			s := traced()
			s.handle(func(context.Context, *messages.Message) error {
				time.Sleep(20 * time.Millisecond)
				return nil
			})
			fill(s, 0, 1)
			s.start()
			s.pass(5 * time.Second)
			got := records(s)
			Expect(got).To(HaveLen(2))
			before, after := got[0], got[1]
			Expect(before).To(HaveLen(8))
			Expect(before[0]).To(Equal("SubBefore"))
			Expect(before[2:4]).To(Equal([]string{"DefaultRegion", group}))
			Expect(before[5:]).To(Equal([]string{"ID-0", "0", "key-0"}))
			Expect(after).To(HaveLen(9))
			Expect(after[:3]).To(Equal([]string{"SubAfter", before[4], "ID-0"}))
			Expect(after[3:7]).To(Equal([]string{"20", "true", "key-0", "0"}))
			Expect(after[8]).To(Equal(group))
			calls := s.calls(linktest.Send, toTraces)
			Expect(calls).To(HaveLen(1))
			req := calls[0].Request.(*messages.SendRequest)
			Expect(req.GetProducerGroup()).To(Equal("_INNER_TRACE_PRODUCER-" + group + "-CONSUME-1"))
			Expect(string(req.GetProperties())).To(HavePrefix("KEYS\x01ID-0 key-0\x02"))
			s.stop(time.Second)
		})
	})

	DescribeTable("says how a call ended",
		func(code, success string, h func(context.Context, *messages.Message) error) {
			bubble(func() {
				s := traced()
				s.spec.Groups[0].HandlerTimeout = time.Second
				s.handle(h)
				fill(s, 0, 1)
				s.start()
				s.pass(8 * time.Second)
				got := records(s)
				Expect(len(got)).To(BeNumerically(">=", 2))
				Expect(got[1][0]).To(Equal("SubAfter"))
				Expect(got[1][6]).To(Equal(code))
				Expect(got[1][4]).To(Equal(success))
				s.stop(time.Second)
			})
		},
		Entry("well", "0", "true", func(context.Context, *messages.Message) error { return nil }),
		Entry("too late", "1", "false", func(ctx context.Context, _ *messages.Message) error {
			<-ctx.Done()
			return ctx.Err()
		}),
		Entry("in a panic", "2", "false", func(context.Context, *messages.Message) error { panic("no") }),
		Entry("with an error", "4", "false", func(context.Context, *messages.Message) error { return errNot }),
	)

	It("divides a batch's time by its messages, also if it took none", func() {
		bubble(func() {
			s := traced()
			sub := s.spec.Groups[0].Subscriptions[0]
			sub.One, sub.BatchMax = nil, 8
			sub.Batch = func(_ context.Context, ms []*messages.Message) error {
				if len(ms) > 1 {
					time.Sleep(80 * time.Millisecond)
				}
				return nil
			}
			fill(s, 0, 9) // eight and one
			s.start()
			s.pass(6 * time.Second)
			costs := make(map[string]string)
			for _, r := range records(s) {
				if r[0] == "SubAfter" {
					costs[r[2]] = r[3]
				}
			}
			Expect(costs).To(HaveLen(9))
			Expect(costs).To(And(HaveKeyWithValue("ID-0", "10"), HaveKeyWithValue("ID-7", "10"), HaveKeyWithValue("ID-8", "0")))
			s.stop(time.Second)
		})
	})

	It("tells each attempt at a message of an orderly group, in order", func() {
		bubble(func() {
			s := traced()
			s.ordered()
			tries := 0
			s.handle(func(_ context.Context, m *messages.Message) error {
				if tries++; tries == 1 {
					return errNot
				}
				return nil
			})
			fill(s, 0, 2)
			s.start()
			s.pass(8 * time.Second)
			var got []string
			for _, r := range records(s) {
				if r[0] == "SubBefore" {
					got = append(got, "before "+r[5]+" try "+r[6])
				} else {
					got = append(got, "after "+r[2]+" "+r[4]+" "+r[6])
				}
			}
			Expect(got).To(Equal([]string{
				"before ID-0 try 0", "after ID-0 false 4", "before ID-0 try 1", "after ID-0 true 0", "before ID-1 try 0", "after ID-1 true 0",
			}))
			s.stop(time.Second)
		})
	})

	It("leaves out messages that want none and those of brokers that note no region", func() {
		bubble(func() {
			s := traced()
			s.cluster.Store(key, traceable("no").SetProperty(messages.PropertyTraceOn, "false"))
			s.cluster.Put(key, "without region")
			fill(s, 0, 1)
			s.start()
			s.pass(6 * time.Second)
			Expect(s.bodies()).To(HaveLen(3))
			Expect(records(s)).To(HaveLen(2))
			s.stop(time.Second)
		})
	})

	It("asks for nothing and has no actor while it is off", func() {
		bubble(func() {
			s := traced()
			s.spec.Trace = nil
			fill(s, 0, 5)
			s.start()
			s.pass(time.Minute)
			Expect(s.calls(linktest.Route, toTraces)).To(BeEmpty())
			Expect(s.calls(linktest.Send)).To(BeEmpty())
			Expect(s.client.Topology().String()).NotTo(ContainSubstring("TraceSender"))
			s.stop(time.Second)
		})
	})

	// consumed is how many messages are handled in 3 s by 20 workers, 10 ms a message.
	consumed := func(s *stage) int {
		s.handle(func(context.Context, *messages.Message) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		fill(s, 0, 7_000)
		s.start()
		s.pass(3 * time.Second)
		return len(s.bodies())
	}

	DescribeTable("costs no throughput and bounded memory, whatever the trace broker does",
		func(trouble func(*stage), drops bool) {
			var without, with int
			bubble(func() {
				s := traced()
				s.spec.Trace = nil
				without = consumed(s)
				s.stop(time.Second)
			})
			bubble(func() {
				s := traced()
				trouble(s)
				with = consumed(s)
				Expect(s.seen(messages.EventKind_EVENT_KIND_ACTOR_RESTARTED)).To(BeEmpty())
				s.stop(time.Second)
				dropped := int64(0)
				for _, e := range s.seen(messages.EventKind_EVENT_KIND_TRACE_DROPPED) {
					dropped += e.GetCount()
				}
				if drops {
					Expect(int(dropped) + len(records(s))).To(BeNumerically(">=", 2*with))
				} else {
					Expect(dropped).To(BeZero())
				}
			})
			Expect(without).To(BeNumerically(">", 4_500))
			Expect(with).To(BeNumerically(">", float64(without)*0.95))
		},
		Entry("works", func(*stage) {}, false),
		Entry("absent", func(s *stage) { s.cluster.DropTopic(traceTopic) }, true),
		Entry("down", func(s *stage) {
			s.cluster.Down(linktest.Address("tracer"), &linktest.Answer{Err: linktest.Refusal(1)})
		}, true),
		Entry("slow, 5 s an answer", func(s *stage) {
			s.cluster.Down(linktest.Address("tracer"), &linktest.Answer{Delay: 5 * time.Second})
		}, true),
		Entry("silent", func(s *stage) { s.cluster.Down(linktest.Address("tracer"), &linktest.Answer{Silent: true}) }, true),
		Entry("failing in the port", func(s *stage) {
			s.cluster.On(linktest.Send, linktest.Always(linktest.Answer{Panic: "no"}))
		}, true),
	)

	It("goes on within 35 s after the trace broker has moved", func() {
		bubble(func() {
			s := traced()
			fill(s, 0, 10)
			s.start()
			s.pass(6 * time.Second)
			Expect(records(s)).To(HaveLen(20))
			s.cluster.Move("tracer", "elsewhere:10911")
			s.cluster.Down(linktest.Address("tracer"), &linktest.Answer{Err: linktest.Refusal(1)})
			moved := s.cluster.Now()
			for i := range 35 {
				fill(s, 10+i, 11+i)
				s.pass(time.Second)
			}
			var first time.Duration
			for _, call := range s.calls(linktest.Send, toTraces) {
				if call.Address == "elsewhere:10911" && first == 0 {
					first = call.At
				}
			}
			Expect(first).To(BeNumerically(">", moved))
			Expect(first - moved).To(BeNumerically("<=", 35*time.Second))
			s.stop(time.Second)
		})
	})

	It("begins within 35 s after the topic was made, with what its queue held", func() {
		bubble(func() {
			s := traced()
			s.cluster.DropTopic(traceTopic)
			fill(s, 0, 10)
			s.start()
			s.pass(time.Minute)
			Expect(records(s)).To(BeEmpty())
			s.cluster.Topic(traceTopic, 1, "tracer")
			s.pass(35 * time.Second)
			Expect(records(s)).To(HaveLen(20))
			s.stop(time.Second)
		})
	})

	It("sends to brokers that make topics by themselves", func() {
		bubble(func() {
			s := traced()
			s.cluster.DropTopic(traceTopic)
			s.cluster.Topic("TBW102", 8, "a")
			fill(s, 0, 10)
			s.start()
			s.pass(6 * time.Second)
			Expect(records(s)).To(HaveLen(20))
			for _, call := range s.calls(linktest.Send, toTraces) {
				Expect(call.Queue.ID).To(BeNumerically("<", 4))
				Expect(call.Request.(*messages.SendRequest).GetDefaultQueues()).To(Equal(int32(4)))
			}
			s.stop(time.Second)
		})
	})

	It("sends what is waiting when the client stops", func() {
		bubble(func() {
			s := traced()
			fill(s, 0, 3)
			s.start()
			Expect(s.bodies()).To(HaveLen(3))
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<=", time.Second))
			Expect(records(s)).To(HaveLen(6))
		})
	})

	It("holds a stop up for no more than 1 s", func() {
		bubble(func() {
			s := traced()
			s.cluster.On(linktest.Send, linktest.For(toTraces, linktest.Always(linktest.Answer{Silent: true})))
			fill(s, 0, 300)
			s.start()
			s.pass(time.Second)
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<=", 1100*time.Millisecond))
			dropped := s.seen(messages.EventKind_EVENT_KIND_TRACE_DROPPED)
			Expect(dropped).NotTo(BeEmpty())
			Expect(dropped[len(dropped)-1].GetCount()).To(BeNumerically(">", 500))
		})
	})
})
