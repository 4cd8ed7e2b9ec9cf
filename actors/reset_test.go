package actors_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

// ask lets a broker ask the client something and gives the answer.
func (s *stage) ask(call *messages.BrokerCall) *messages.BrokerCallReply {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	replies := s.cluster.Ask(ctx, call)
	Expect(replies).To(HaveLen(1))
	return replies[0]
}

// reset makes the call that resets the offset of queues, all to the same.
func reset(group, topic string, offset int64, keys ...messages.QueueKey) *messages.BrokerCall {
	r := &messages.ResetOffsets{Group: group, Topic: topic}
	for _, k := range keys {
		r.Offsets = append(r.Offsets, &messages.QueueOffset{Queue: k.Queue(), Offset: offset})
	}
	return &messages.BrokerCall{Code: 220, Address: "a:10911", Question: &messages.BrokerCall_ResetOffsets{ResetOffsets: r}}
}

var _ = Describe("A reset of offsets", Label("A07"), func() {
	key := linktest.Key("orders", "a", 0)

	// prepare makes a queue of 10,500 messages of which the group has 10,000. Handlers of the rest wait for the gate, and so
	// does the one at 2,100, so that the committed offset stays there.
	prepare := func() (s *stage, open func()) {
		s = newStage("orders")
		gate := make(chan struct{})
		open = sync.OnceFunc(func() { close(gate) })
		s.release = append(s.release, open)
		s.cluster.Topic("orders", 1, "a")
		s.cluster.Fill(key, 10_500)
		s.cluster.SetOffset(group, key, 10_000)
		held, _ := s.block()
		s.handle(func(ctx context.Context, m *messages.Message) error {
			switch {
			case m.GetQueueOffset() >= 10_000:
				<-gate
				return nil
			case m.GetQueueOffset() == 2100:
				return held(ctx, m)
			}
			return nil
		})
		s.spec.Groups[0].Workers = 1000 // half of them are the share of a topic
		return s, open
	}
	resets := func(s *stage) []*messages.Event { return s.seen(messages.EventKind_EVENT_KIND_OFFSET_RESET) }
	since := func(at time.Duration) func(linktest.Call) bool {
		return func(c linktest.Call) bool { return c.At >= at }
	}

	It("is followed at once with 500 messages in flight, whose results change nothing", func() {
		bubble(func() {
			s, open := prepare()
			s.start()
			now, _ := s.busy()
			Expect(now).To(Equal(500))
			at := s.cluster.Now()
			Expect(s.ask(reset(group, "orders", 2000, key)).GetCode()).To(BeZero())
			s.pass(time.Millisecond)
			pulls := s.calls(linktest.Pull, on(key), since(at))
			Expect(pulls).NotTo(BeEmpty())
			Expect(pulls[0].Offset).To(Equal(int64(2000)))
			Expect(pulls[0].At - at).To(BeNumerically("<=", 2*time.Second))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(2000)))
			open()
			s.pass(10 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(2100)))
			for _, c := range s.calls(linktest.Commit, on(key), since(at)) {
				Expect(c.Offset).To(And(BeNumerically(">=", 2000), BeNumerically("<=", 2100)))
			}
			for _, p := range s.calls(linktest.Pull, on(key), since(at)) {
				Expect(p.Request.(*messages.PullRequest).GetCommitOffset()).To(And(BeNumerically(">=", 2000), BeNumerically("<=", 2100)))
			}
			Expect(resets(s)).To(HaveLen(1))
			Expect(resets(s)[0].GetPreviousOffset()).To(Equal(int64(10_000)))
			Expect(resets(s)[0].GetOffset()).To(Equal(int64(2000)))
			Expect(s.bodies()).To(ContainElements("orders@a:0/2000", "orders@a:0/2101"))
			s.stop(time.Second)
		})
	})

	It("counts when it is the later one of two, however close they are", func() {
		bubble(func() {
			const queues = 64
			s := newStage("orders")
			s.cluster.Topic("orders", queues, "a")
			var keys []messages.QueueKey
			for i := range int32(queues) {
				keys = append(keys, linktest.Key("orders", "a", i))
				s.cluster.Fill(keys[i], 100)
			}
			s.start()
			s.pass(10 * time.Second)
			for _, r := range []int64{50, 100} {
				s.client.Tell(group, reset(group, "orders", r, keys...).GetResetOffsets())
			}
			s.pass(time.Second)
			for _, k := range keys {
				Expect(s.cluster.Offset(group, k)).To(Equal(int64(100)), k.String())
			}
			s.stop(time.Second)
		})
	})

	It("ends the context of the handlers that run, and counts no attempt for them", func() {
		bubble(func() {
			s, _ := prepare()
			causes := make(chan error, 500)
			s.handle(func(ctx context.Context, m *messages.Message) error {
				if m.GetQueueOffset() < 10_000 {
					return nil
				}
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return ctx.Err()
			})
			s.spec.Groups[0].Workers = 8
			s.start()
			s.ask(reset(group, "orders", 9990, key))
			s.pass(time.Second)
			Expect(causes).To(Receive(MatchError(actors.ErrOffsetCorrected)))
			Expect(s.calls(linktest.SendBack)).To(BeEmpty())
			s.stop(time.Second)
		})
	})

	It("goes forward as well", func() {
		bubble(func() {
			s, _ := prepare()
			s.cluster.SetOffset(group, key, 0)
			s.start()
			s.ask(reset(group, "orders", 10_500, key))
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10_500)))
			pulls := s.calls(linktest.Pull, on(key))
			Expect(pulls[len(pulls)-1].Offset).To(Equal(int64(10_500)))
			s.stop(time.Second)
		})
	})

	It("is overtaken by the next one", func() {
		bubble(func() {
			s, open := prepare()
			s.start()
			at := s.cluster.Now()
			for _, offset := range []int64{5000, 5000, 3000, 2000} {
				s.ask(reset(group, "orders", offset, key))
			}
			open()
			s.pass(10 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(2100)))
			pulls := offsetsOf(s.calls(linktest.Pull, on(key), since(at)))
			Expect(pulls).To(ContainElement(int64(2000)))
			Expect(pulls[len(pulls)-1]).To(BeNumerically("<", 5000))
			Expect(resets(s)).To(HaveLen(4))
			s.stop(time.Second)
		})
	})

	It("survives a pull on its way that carries the old offset: what the broker has is looked at again", func() {
		bubble(func() {
			s, _ := prepare()
			s.start()
			// The pull that was under way is worked off after the commit of the reset.
			overtaken := false
			s.cluster.On(linktest.Committed, func(linktest.Call) *linktest.Answer {
				if !overtaken {
					overtaken = true
					s.cluster.SetOffset(group, key, 10_000)
				}
				return nil
			})
			s.ask(reset(group, "orders", 2100, key))
			s.pass(time.Second)
			Expect(overtaken).To(BeTrue())
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(2100)))
			s.stop(time.Second)
		})
	})

	When("the queue's start is still looked for", func() {
		It("is where the queue starts, and an answer that comes late changes nothing", func() {
			bubble(func() {
				s, _ := prepare()
				s.cluster.On(linktest.Committed, linktest.For(on(key), linktest.Once(linktest.Answer{Delay: 4 * time.Second})))
				s.start()
				Expect(s.calls(linktest.Pull, on(key))).To(BeEmpty())
				at := s.cluster.Now()
				s.ask(reset(group, "orders", 2000, key))
				s.pass(time.Second)
				pulls := s.calls(linktest.Pull, on(key))
				Expect(pulls[0].Offset).To(Equal(int64(2000)))
				Expect(pulls[0].At - at).To(BeNumerically("<=", 2*time.Second))
				s.pass(10 * time.Second)
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(2100)))
				for _, p := range s.calls(linktest.Pull, on(key)) {
					Expect(p.Offset).To(BeNumerically("<", 10_000))
				}
				s.stop(time.Second)
			})
		})

		It("ends the tries to find it", func() {
			bubble(func() {
				s, _ := prepare()
				s.cluster.On(linktest.Committed, linktest.For(on(key), linktest.Once(linktest.Answer{Err: linktest.Refusal(1)})))
				s.start()
				s.ask(reset(group, "orders", 2000, key))
				s.pass(10 * time.Second)
				Expect(s.seen(messages.EventKind_EVENT_KIND_QUEUE_ASSIGNED)).To(HaveLen(2), "the retry queue, and once this one")
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(2100)))
				s.stop(time.Second)
			})
		})
	})

	When("the queue is paused", func() {
		It("is stored at once and followed when pulling goes on", func() {
			bubble(func() {
				s, _ := prepare()
				s.start()
				s.client.Tell(group, &messages.PauseQueues{})
				s.pass(time.Second)
				at := s.cluster.Now()
				s.ask(reset(group, "orders", 2000, key))
				s.pass(10 * time.Second)
				Expect(s.calls(linktest.Pull, on(key), since(at))).To(BeEmpty())
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(2000)))
				s.client.Tell(group, &messages.ResumeQueues{})
				s.pass(time.Second)
				Expect(s.calls(linktest.Pull, on(key), since(at))[0].Offset).To(Equal(int64(2000)))
				s.stop(time.Second)
			})
		})
	})

	When("the queue waits for credit", func() {
		It("makes room", func() {
			bubble(func() {
				s, _ := prepare()
				s.spec.Groups[0].Limits.Messages = 64
				s.start()
				Expect(s.facts(key).GetWaiting()).To(ContainSubstring("credit"))
				at := s.cluster.Now()
				s.ask(reset(group, "orders", 2000, key))
				s.pass(10 * time.Millisecond)
				Expect(s.calls(linktest.Pull, on(key), since(at))[0].Offset).To(Equal(int64(2000)))
				s.stop(time.Second)
			})
		})
	})

	When("the queue is being corrected", func() {
		It("comes after the correction", func() {
			bubble(func() {
				s, _ := prepare()
				s.cluster.SetOffset(group, key, 20_000) // beyond the end
				s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(linktest.Answer{Delay: 300 * time.Millisecond})))
				s.launch()
				s.pass(300 * time.Millisecond)
				s.ask(reset(group, "orders", 2000, key))
				s.pass(6 * time.Second)
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(2100)))
				s.stop(time.Second)
			})
		})
	})

	When("the queue moves to another member", func() {
		It("is what the new owner begins with, whatever handlers still do", func() {
			bubble(func() {
				s, open := prepare()
				s.start()
				s.cluster.Join(group, "aa") // which comes before us in the order, and gets the only queue
				s.cluster.Notify(group)
				s.pass(time.Second)
				Expect(s.facts(key).GetPhase()).To(Equal("draining"))
				s.ask(reset(group, "orders", 2000, key))
				s.pass(100 * time.Millisecond)
				open()
				s.pass(10 * time.Second)
				Expect(s.facts(key)).To(BeNil())
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(2000)))
				s.stop(time.Second)
			})
		})
	})

	When("the final offset is being stored", func() {
		It("is the final offset", func() {
			bubble(func() {
				s, open := prepare()
				s.start()
				open()
				s.pass(time.Second)
				s.cluster.On(linktest.Commit, linktest.For(on(key), linktest.Once(linktest.Answer{Delay: 2 * time.Second})))
				s.cluster.Join(group, "aa")
				s.cluster.Notify(group)
				s.pass(time.Second)
				Expect(s.facts(key).GetPhase()).To(Equal("persisting"))
				s.ask(reset(group, "orders", 2000, key))
				s.pass(10 * time.Second)
				Expect(s.facts(key)).To(BeNil())
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(2000)))
				s.stop(time.Second)
			})
		})
	})

	DescribeTable("that cannot be carried out is refused and changes nothing", func(call *messages.BrokerCall, remark string) {
		bubble(func() {
			s, open := prepare()
			open()
			s.start()
			reply := s.ask(call)
			Expect(reply.GetCode()).To(BeEquivalentTo(1))
			Expect(reply.GetRemark()).To(ContainSubstring(remark))
			refused := s.seen(messages.EventKind_EVENT_KIND_CALL_REFUSED)
			Expect(refused).To(HaveLen(1))
			Expect(refused[0].GetText()).To(Equal(reply.GetRemark()))
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10_500)))
			Expect(resets(s)).To(BeEmpty())
			s.stop(time.Second)
		})
	},
		Entry("for a group that is not here", reset("others", "orders", 2000, key), "the consumer group <others> does not exist"),
		Entry("for a topic that the group has not", reset(group, "payments", 2000), "does not subscribe to topic payments"),
		Entry("to a negative offset", reset(group, "orders", -5, key), "to -5"),
		Entry("of a queue of another topic", reset(group, "orders", 5, linktest.Key("payments", "a", 0)), "payments@a/0"),
		Entry("because it could not be read", &messages.BrokerCall{
			Code: 220, Question: &messages.BrokerCall_Malformed{Malformed: "RESET_CONSUMER_CLIENT_OFFSET: no body"},
		}, "no body"),
	)

	It("of a queue that another member owns is no business of ours", func() {
		bubble(func() {
			s, open := prepare()
			open()
			s.start()
			Expect(s.ask(reset(group, "orders", 2000, linktest.Key("orders", "a", 7))).GetCode()).To(BeZero())
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10_500)))
			s.stop(time.Second)
		})
	})
})
