package actors_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

func consumeDirectly(group string, m *messages.Message) *messages.BrokerCall {
	return &messages.BrokerCall{Code: 309, Question: &messages.BrokerCall_ConsumeDirectly{
		ConsumeDirectly: &messages.ConsumeDirectly{Group: group, Message: m},
	}}
}

var _ = Describe("A message that a tool wants to be consumed directly", Label("A47"), func() {
	key := linktest.Key("orders", "a", 0)
	message := func() *messages.Message {
		return &messages.Message{Topic: "orders", Broker: "a", QueueOffset: 3, Body: []byte("again")}
	}

	prepare := func(h func(context.Context, *messages.Message) error) *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", 1, "a")
		s.cluster.Fill(key, 5)
		s.start()
		s.pass(6 * time.Second)
		s.cluster.Forget()
		h = s.handler(h)
		s.spec.Groups[0].Subscriptions[0].One = h
		return s
	}

	DescribeTable("is handled once, and the answer says what came of it",
		func(h func(context.Context, *messages.Message) error, verdict messages.DirectVerdict, remark string) {
			bubble(func() {
				s := prepare(func(ctx context.Context, m *messages.Message) error {
					time.Sleep(30 * time.Millisecond)
					return h(ctx, m)
				})
				reply := s.ask(consumeDirectly(group, message()))
				Expect(reply.GetCode()).To(BeZero())
				Expect(reply.GetDirectResult().GetVerdict()).To(Equal(verdict))
				Expect(reply.GetDirectResult().GetRemark()).To(Equal(remark))
				Expect(reply.GetDirectResult().GetSpentMillis()).To(BeEquivalentTo(30))
				Expect(s.bodies()[5:]).To(Equal([]string{"again"}))
				s.pass(20 * time.Second)
				Expect(s.bodies()).To(HaveLen(6), "nothing is tried again")
				Expect(s.calls(linktest.SendBack)).To(BeEmpty())
				Expect(s.calls(linktest.Commit)).To(BeEmpty())
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(5)))
				Expect(s.facts(key).GetFailed()).To(BeZero())
				s.stop(time.Second)
			})
		},
		Entry("success", func(context.Context, *messages.Message) error { return nil },
			messages.DirectVerdict_DIRECT_VERDICT_SUCCESS, ""),
		Entry("an error", func(context.Context, *messages.Message) error { return errors.New("no stock") },
			messages.DirectVerdict_DIRECT_VERDICT_LATER, "no stock"),
		Entry("an error with a verdict of its own", func(context.Context, *messages.Message) error {
			return actors.RetryAfter(time.Minute, errors.New("no stock"))
		}, messages.DirectVerdict_DIRECT_VERDICT_LATER, "no stock (again in 1m0s)"),
		Entry("a panic", func(context.Context, *messages.Message) error { panic("out of range") },
			messages.DirectVerdict_DIRECT_VERDICT_PANICKED, "handler panicked: out of range"),
	)

	It("ends its goroutine without harm", func() {
		bubble(func() {
			s := prepare(func(context.Context, *messages.Message) error {
				runtime.Goexit()
				return nil
			})
			reply := s.ask(consumeDirectly(group, message()))
			Expect(reply.GetDirectResult().GetVerdict()).To(Equal(messages.DirectVerdict_DIRECT_VERDICT_PANICKED))
			Expect(reply.GetDirectResult().GetRemark()).To(ContainSubstring("ended its goroutine"))
			s.stop(time.Second)
		})
	})

	It("is given to a batch handler as a batch of one", func() {
		bubble(func() {
			s := prepare(nil)
			sizes := []int{}
			sub := s.spec.Groups[0].Subscriptions[0]
			sub.One, sub.BatchMax = nil, 16
			sub.Batch = func(_ context.Context, ms []*messages.Message) error {
				sizes = append(sizes, len(ms))
				return actors.FailedAt(map[int]error{0: errors.New("the first")})
			}
			reply := s.ask(consumeDirectly(group, message()))
			Expect(sizes).To(Equal([]int{1}))
			Expect(reply.GetDirectResult().GetVerdict()).To(Equal(messages.DirectVerdict_DIRECT_VERDICT_LATER))
			Expect(reply.GetDirectResult().GetRemark()).To(Equal("the first"))
			s.stop(time.Second)
		})
	})

	It("does not keep the client from anything else while it takes long", func() {
		bubble(func() {
			held, release := make(chan struct{}), false
			s := prepare(func(_ context.Context, m *messages.Message) error {
				if string(m.GetBody()) == "again" {
					<-held
				}
				return nil
			})
			s.release = append(s.release, func() {
				if !release {
					close(held)
				}
			})
			answered := make(chan *messages.BrokerCallReply, 1)
			go func() { answered <- s.ask(consumeDirectly(group, message())) }()
			s.pass(time.Second)
			Expect(s.ask(runningInfoQuery(group, false)).GetCode()).To(BeZero())
			s.cluster.Fill(key, 5)
			s.pass(time.Second)
			Expect(s.bodies()).To(HaveLen(11))
			release = true
			close(held)
			Expect((<-answered).GetDirectResult().GetSpentMillis()).To(BeEquivalentTo(2000))
			s.stop(time.Second)
		})
	})

	It("is given up before the broker gives it up, and the handler's context says so", func() {
		bubble(func() {
			causes := make(chan error, 1)
			s := prepare(func(ctx context.Context, _ *messages.Message) error {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return ctx.Err()
			})
			at := time.Now()
			reply := s.ask(consumeDirectly(group, message()))
			Expect(time.Since(at)).To(And(BeNumerically(">=", 8*time.Second), BeNumerically("<", 10*time.Second)))
			Expect(reply.GetCode()).To(BeEquivalentTo(1))
			Expect(reply.GetRemark()).To(ContainSubstring(actors.ErrHandlerTimeout.Error()))
			Expect(<-causes).To(MatchError(actors.ErrHandlerTimeout))
			s.stop(time.Second)
		})
	})

	It("is not handled at all if no worker becomes free in time", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.spec.Groups[0].Workers = 2
			held, release := s.block()
			s.handle(held)
			s.cluster.Fill(key, 5)
			s.start()
			reply := s.ask(consumeDirectly(group, message()))
			Expect(reply.GetCode()).To(BeEquivalentTo(1))
			release()
			s.pass(5 * time.Second)
			Expect(s.bodies()).To(HaveLen(5))
			Expect(s.bodies()).NotTo(ContainElement("again"))
			s.stop(time.Second)
		})
	})

	It("ends with the client", func() {
		bubble(func() {
			causes := make(chan error, 1)
			s := prepare(func(ctx context.Context, _ *messages.Message) error {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return ctx.Err()
			})
			answered := make(chan *messages.BrokerCallReply, 1)
			go func() { answered <- s.ask(consumeDirectly(group, message())) }()
			s.pass(time.Second)
			_, took := s.stop(5 * time.Second)
			Expect(took).To(BeNumerically("<", 50*time.Millisecond), "it ends before the pool has to wait for it")
			Expect(<-causes).To(MatchError(actors.ErrDraining))
			Expect((<-answered).GetCode()).To(BeEquivalentTo(1))
		})
	})

	DescribeTable("is refused without a handler for it", func(call *messages.BrokerCall, remark string) {
		bubble(func() {
			s := prepare(func(context.Context, *messages.Message) error { return fmt.Errorf("never called") })
			reply := s.ask(call)
			Expect(reply.GetCode()).To(BeEquivalentTo(1))
			Expect(reply.GetRemark()).To(ContainSubstring(remark))
			Expect(s.bodies()).To(HaveLen(5))
			s.stop(time.Second)
		})
	},
		Entry("in another group", consumeDirectly("others", message()), "the consumer group <others> does not exist"),
		Entry("of another topic", consumeDirectly(group, &messages.Message{Topic: "payments"}), "does not subscribe to topic payments"),
		Entry("of the retry topic without a topic of its own", consumeDirectly(group, &messages.Message{Topic: actors.RetryTopic(group)}),
			"no handler for topic %RETRY%"+group),
	)
})
