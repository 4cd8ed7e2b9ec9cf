package actors_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var errNot = errors.New("not yet")

var _ = Describe("A message whose handler fails", func() {
	key := linktest.Key("orders", "a", 0)

	// failing lets message 7 fail for the first times; count is how often it was tried.
	prepare := func(verdict func(try int) error) (s *stage, tries func() int) {
		s = newStage("orders")
		s.cluster.Topic("orders", 1, "a")
		s.cluster.Fill(key, 20)
		n := 0
		s.handle(func(_ context.Context, m *messages.Message) error {
			if string(m.GetBody()) != fmt.Sprintf("%s/7", key) {
				return nil
			}
			s.mu.Lock()
			n++
			try := n
			s.mu.Unlock()
			return verdict(try)
		})
		return s, func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return n
		}
	}
	always := func(err error) func(int) error { return func(int) error { return err } }
	once := func(try int) error {
		if try == 1 {
			return errNot
		}
		return nil
	}

	It("is handed back once for each try, with its count and topic, until it is a dead letter (A27, A28)", func() {
		bubble(func() {
			s, tries := prepare(always(errNot))
			s.spec.Groups[0].MaxReconsumes = 3
			s.start()
			s.pass(10 * time.Minute)
			Expect(tries()).To(Equal(4))
			backs := s.calls(linktest.SendBack)
			Expect(backs).To(HaveLen(4))
			for _, b := range backs {
				Expect(b.Topic).To(Equal("orders"))
				Expect(b.Request.(*messages.SendBack).GetMaxReconsumeTimes()).To(Equal(int32(3)))
				Expect(b.Request.(*messages.SendBack).GetDelayLevel()).To(BeZero(), "the broker chooses level 3 + count")
			}
			Expect(s.cluster.DeadLetters(group)).To(Equal([]string{fmt.Sprintf("%s/7", key)}))
			Expect(s.seen(messages.EventKind_EVENT_KIND_DEAD_LETTERED)).To(HaveLen(1))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(20)))
			s.stop(time.Second)
		})
	})

	DescribeTable("asks for the delay level of its verdict", Label("A31"), func(verdict error, level int32) {
		bubble(func() {
			s, _ := prepare(always(verdict))
			s.start()
			Expect(s.calls(linktest.SendBack)[0].Request.(*messages.SendBack).GetDelayLevel()).To(Equal(level))
			s.stop(time.Second)
		})
	},
		Entry("a plain error leaves it to the broker", errNot, int32(0)),
		Entry("RetryAfter takes the first level not below", actors.RetryAfter(20*time.Second, errNot), int32(4)),
		Entry("RetryAfter beyond all levels takes the last", actors.RetryAfter(9*time.Hour, errNot), int32(18)),
		Entry("DeadLetter", actors.DeadLetter(errNot), int32(-1)),
		Entry("a wrapped DeadLetter", fmt.Errorf("more: %w", actors.DeadLetter(errNot)), int32(-1)),
	)

	It("asks for no delay on the way to the dead letter topic, and for its own in the copy that stands in for a hand-back", Label("A31"), func() {
		bubble(func() {
			s, _ := prepare(always(actors.RetryAfter(20*time.Second, errNot)))
			s.spec.Groups[0].MaxReconsumes = 2
			s.start()
			s.pass(10 * time.Minute)
			var levels []int32
			for _, b := range s.calls(linktest.SendBack) {
				levels = append(levels, b.Request.(*messages.SendBack).GetDelayLevel())
			}
			Expect(levels).To(Equal([]int32{4, 4, 0}))
			Expect(s.cluster.DeadLetters(group)).To(HaveLen(1))
			s.stop(time.Second)
		})
		bubble(func() {
			s, _ := prepare(always(actors.RetryAfter(20*time.Second, errNot)))
			s.spec.Groups[0].MaxReconsumes = 1
			s.cluster.On(linktest.SendBack, linktest.Always(linktest.Answer{Err: linktest.Refusal(1)}))
			s.start()
			s.pass(10 * time.Minute)
			var copies []string
			for _, b := range s.calls(linktest.Send) {
				req := b.Request.(*messages.SendRequest)
				_, rest, _ := strings.Cut(string(req.GetProperties()), "\x02DELAY\x01")
				level, _, _ := strings.Cut(rest, "\x02")
				copies = append(copies, fmt.Sprintf("try %d of %d, level %s", req.GetReconsumeTimes(), req.GetMaxReconsumeTimes(), level))
			}
			Expect(copies).To(Equal([]string{"try 1 of 1, level 4", "try 2 of 1, level 0"}))
			s.stop(time.Second)
		})
	})

	It("is published to the retry topic if the hand-back is refused", func() {
		bubble(func() {
			s, tries := prepare(once)
			s.cluster.On(linktest.SendBack, linktest.Always(linktest.Answer{Delay: 100 * time.Millisecond, Err: linktest.Refusal(1)}))
			s.start()
			sends := s.calls(linktest.Send)
			Expect(sends).To(HaveLen(1))
			Expect(sends[0].Topic).To(Equal("%RETRY%" + group))
			s.pass(30 * time.Second)
			Expect(tries()).To(Equal(2))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(20)))
			s.stop(time.Second)
		})
	})

	It("is tried again here if nobody takes it, holding the offset and no worker (A26)", func() {
		bubble(func() {
			s, tries := prepare(once)
			s.spec.Groups[0].Workers = 1
			s.cluster.On(linktest.SendBack, linktest.Always(linktest.Answer{Silent: true}))
			s.cluster.On(linktest.Send, linktest.Always(linktest.Answer{Err: linktest.Refusal(14)}))
			s.start()
			Expect(s.bodies()).To(HaveLen(20), "one worker did all others meanwhile")
			s.pass(9 * time.Second) // 5 s of silence, then the wait of 5 s
			Expect(tries()).To(Equal(1))
			Expect(s.cluster.Offset(group, key)).To(BeNumerically("<=", 7))
			s.pass(2 * time.Second)
			Expect(tries()).To(Equal(2))
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(20)))
			Expect(s.seen(messages.EventKind_EVENT_KIND_HAND_BACK_FAILED)).To(HaveLen(1))
			s.stop(time.Second)
		})
	})

	It("arrives again after a restart if the client ends before anybody took it (A26)", func() {
		bubble(func() {
			s, _ := prepare(always(errNot))
			s.cluster.On(linktest.SendBack, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.On(linktest.Send, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.start()
			s.pass(time.Second)
			report, took := s.stop(10 * time.Second)
			Expect(took).To(BeNumerically("<", time.Second), "a message that waits for another try holds up nothing")
			Expect(report.GetAbandoned()).To(BeZero())
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(7)))
			again := newStageOn(s.cluster, "me", "orders").start()
			Expect(again.bodies()).To(HaveLen(13))
			again.stop(time.Second)
		})
	})

	It("keeps at most 64 hand-backs in flight when everything fails (A28)", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 1000)
			s.handle(func(context.Context, *messages.Message) error { return errNot })
			flying, most := 0, 0
			s.cluster.On(linktest.SendBack, func(linktest.Call) *linktest.Answer {
				flying = 0
				for _, c := range s.cluster.Calls(linktest.SendBack) {
					if c.Pending {
						flying++
					}
				}
				most = max(most, flying)
				return &linktest.Answer{Delay: 10 * time.Millisecond}
			})
			s.start()
			s.pass(2 * time.Second)
			Expect(most).To(Equal(64))
			Expect(s.calls(linktest.SendBack)).To(HaveLen(1000))
			s.stop(time.Second)
		})
	})

	It("may panic: every tenth of a thousand is a failed attempt and nothing else (A36)", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 1000)
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset()%10 == 0 && m.GetReconsumeTimes() == 0 {
					panic("scripted")
				}
				return nil
			})
			s.start()
			s.pass(6 * time.Second)
			Expect(s.calls(linktest.SendBack)).To(HaveLen(100))
			panicked := s.seen(messages.EventKind_EVENT_KIND_HANDLER_PANICKED)
			Expect(panicked).To(HaveLen(100))
			Expect(panicked[0].GetStack()).To(ContainSubstring("hand_back_test.go"))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(1000)))
			s.stop(time.Second)
		})
	})

	It("is the only one of its batch that is handed back if FailedAt says so", func() {
		bubble(func() {
			s := newStage("orders")
			sub := s.spec.Groups[0].Subscriptions[0]
			sizes := map[int]int{}
			sub.One, sub.BatchMax = nil, 8
			sub.Batch = func(_ context.Context, ms []*messages.Message) error {
				s.mu.Lock()
				sizes[len(ms)]++
				s.mu.Unlock()
				for i, m := range ms {
					if m.GetQueueOffset() == 7 && m.GetReconsumeTimes() == 0 {
						return actors.FailedAt(map[int]error{i: errNot})
					}
				}
				return nil
			}
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 20)
			s.start()
			Expect(s.calls(linktest.SendBack)).To(HaveLen(1))
			known := func() map[int]int {
				s.mu.Lock()
				defer s.mu.Unlock()
				return maps.Clone(sizes)
			}
			Expect(known()).To(Equal(map[int]int{8: 2, 4: 1}))
			s.pass(time.Minute)
			Expect(known()).To(HaveKeyWithValue(1, 1), "the retry comes alone")
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(20)))
			s.stop(time.Second)
		})
	})
})
