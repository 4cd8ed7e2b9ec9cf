package actors_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Flow control", func() {
	key := linktest.Key("orders", "a", 0)

	// heldBack gives what was told of lack of room.
	heldBack := func(s *stage) (out []*messages.Event) {
		for _, e := range s.seen(messages.EventKind_EVENT_KIND_PULL_DELAYED) {
			if strings.HasPrefix(e.GetText(), "no credit") {
				out = append(out, e)
			}
		}
		return out
	}
	resumed := func(s *stage) []*messages.Event { return s.seen(messages.EventKind_EVENT_KIND_PULL_RESUMED) }

	DescribeTable("is told when it begins and when it has ended for a second",
		func(limits actors.Limits, cause string) {
			bubble(func() {
				s := newStage("orders")
				s.cluster.Topic("orders", 1, "a")
				s.cluster.Fill(key, 100)
				s.spec.Groups[0].Limits = limits
				h, release := s.block()
				s.handle(h)
				s.start()
				s.pass(time.Minute)
				told := heldBack(s)
				Expect(told).To(HaveLen(1))
				Expect(told[0].GetText()).To(Equal(cause))
				Expect(told[0].GetGroup()).To(Equal(group))
				Expect(told[0].GetQueue().Key()).To(Equal(key))
				Expect(resumed(s)).To(BeEmpty())
				release()
				s.pass(900 * time.Millisecond)
				Expect(s.bodies()).To(HaveLen(100))
				Expect(resumed(s)).To(BeEmpty())
				s.pass(200 * time.Millisecond)
				ended := resumed(s)
				Expect(ended).To(HaveLen(1))
				Expect(ended[0].GetGroup()).To(Equal(group))
				Expect(ended[0].GetQueue().Key()).To(Equal(key))
				Expect(ended[0].GetOffset()).To(Equal(int64(100)))
				Expect(ended[0].GetDelayMillis()).To(BeNumerically("~", 60_200, 10))
				Expect(heldBack(s)).To(HaveLen(1))
				s.stop(time.Second)
			})
		},
		Entry("for messages", actors.Limits{Messages: 64, Bytes: 1 << 30, Span: 2000}, "no credit: message count"),
		Entry("for bytes", actors.Limits{Messages: 1000, Bytes: 100, Span: 2000}, "no credit: bytes"),
		Entry("for span", actors.Limits{Messages: 1000, Bytes: 1 << 30, Span: 64}, "no credit: span"),
	)

	It("of a queue that is held back before nearly every pull is told once, not per pull", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 3200)
			s.spec.Groups[0].Limits.Messages = 32
			s.handle(func(context.Context, *messages.Message) error {
				time.Sleep(50 * time.Millisecond)
				return nil
			})
			s.start()
			s.pass(5 * time.Minute)
			Expect(s.bodies()).To(HaveLen(3200))
			Expect(heldBack(s)).To(HaveLen(1))
			ended := resumed(s)
			Expect(ended).To(HaveLen(1))
			Expect(ended[0].GetCount()).To(BeNumerically(">=", 90), "as many pulls were held back")
			Expect(ended[0].GetDelayMillis()).To(BeNumerically(">=", 7_000))
			s.stop(time.Second)
		})
	})

	It("is told again when it comes again", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.spec.Groups[0].Limits.Messages = 32
			s.handle(func(context.Context, *messages.Message) error {
				time.Sleep(time.Second)
				return nil
			})
			s.start()
			for n := range 3 {
				s.cluster.Fill(key, 64)
				s.pass(time.Minute)
				Expect(heldBack(s)).To(HaveLen(n + 1))
				Expect(resumed(s)).To(HaveLen(n + 1))
			}
			s.stop(time.Second)
		})
	})

	It("is told of its end also after the Puller was replaced", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 100)
			s.spec.Groups[0].Limits.Messages = 32
			h, release := s.block()
			s.handle(h)
			s.cluster.On(linktest.Pull, linktest.For(func(c linktest.Call) bool { return c.Queue == key && c.Offset == 64 },
				linktest.Once(linktest.Answer{Panic: "scripted"})))
			s.start()
			s.pass(10 * time.Second)
			Expect(heldBack(s)).To(HaveLen(1))
			release()
			s.pass(20 * time.Second)
			Expect(s.seen(messages.EventKind_EVENT_KIND_ACTOR_RESTARTED)).To(HaveLen(1))
			Expect(s.bodies()).To(HaveLen(100))
			Expect(heldBack(s)).To(HaveLen(len(resumed(s))))
			s.stop(time.Second)
		})
	})
})
