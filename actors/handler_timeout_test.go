package actors_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("A handler that runs longer than its group allows", Label("A08"), func() {
	key := linktest.Key("orders", "a", 0)
	var s *stage
	overdue := func(late error) {
		s = newStage("orders")
		s.cluster.Topic("orders", 1, "a")
		s.cluster.Fill(key, 3)
		s.spec.Groups[0].HandlerTimeout = 15 * time.Minute
		s.handle(func(ctx context.Context, m *messages.Message) error {
			if m.GetQueueOffset() != 1 || m.GetReconsumeTimes() > 0 {
				return nil
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), actors.ErrHandlerTimeout) {
				return errors.New("another cause")
			}
			time.Sleep(time.Minute)
			return late
		})
		s.start()
	}

	DescribeTable("is told by its context; its message goes back once, and what it says later changes nothing", func(late error) {
		bubble(func() {
			overdue(late)
			s.pass(14 * time.Minute)
			Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(1)), "one stuck message holds the offset")
			Expect(s.calls(linktest.SendBack)).To(BeEmpty())
			s.pass(4 * time.Minute)
			Expect(s.seen(messages.EventKind_EVENT_KIND_HANDLER_OVERDUE)).To(HaveLen(1))
			back := s.calls(linktest.SendBack)
			Expect(back).To(HaveLen(1))
			// As in Java: level 3 (protocol.md 5.7).
			Expect(back[0].Request.(*messages.SendBack).GetDelayLevel()).To(Equal(int32(3)))
			Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(3)))
			s.pass(10 * time.Minute)
			Expect(s.calls(linktest.SendBack)).To(HaveLen(1))
			Expect(s.bodies()).To(HaveLen(4), "three, and one of them again")
			report, _ := s.stop(time.Second)
			Expect(report.GetAbandoned()).To(BeZero())
		})
	},
		Entry("a late success", nil),
		Entry("a late failure", errors.New("late")),
	)

	It("leaves the contexts of others alone", func() {
		bubble(func() {
			s = newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 2)
			s.spec.Groups[0].HandlerTimeout = time.Minute
			causes := make(map[int64]error)
			s.handle(func(ctx context.Context, m *messages.Message) error {
				wait := 5 * time.Minute
				if m.GetQueueOffset() == 0 {
					time.Sleep(50 * time.Second)
					wait = 30 * time.Second
				}
				if m.GetReconsumeTimes() > 0 {
					return nil
				}
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				causes[m.GetQueueOffset()] = context.Cause(ctx)
				return nil
			})
			s.spec.Groups[0].HandlerTimeout = 85 * time.Second
			s.start()
			s.pass(20 * time.Minute)
			Expect(causes).To(HaveKeyWithValue(int64(0), BeNil()))
			Expect(causes).To(HaveKeyWithValue(int64(1), MatchError(actors.ErrHandlerTimeout)))
			s.stop(time.Second)
		})
	})

	It("may take its time in a group without a limit", func() {
		bubble(func() {
			overdue(nil)
			s.stop(0)
			s = newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 1)
			s.handle(func(ctx context.Context, _ *messages.Message) error {
				select {
				case <-time.After(10 * time.Hour):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			s.start()
			s.pass(11 * time.Hour)
			Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(1)))
			s.stop(time.Second)
		})
	})
})
