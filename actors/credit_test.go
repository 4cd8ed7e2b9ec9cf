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

var _ = Describe("Credit", func() {
	key := linktest.Key("orders", "a", 0)

	prepare := func(limits actors.Limits) (s *stage, release func()) {
		s = newStage("orders")
		s.spec.Groups[0].Limits = limits
		s.cluster.Topic("orders", 1, "a")
		h, release := s.block()
		s.handle(h)
		return s, release
	}
	cached := func(s *stage) int64 { return s.facts(key).GetCachedMessages() }

	It("bounds the number of messages", func() {
		bubble(func() {
			s, release := prepare(actors.Limits{Messages: 100, Bytes: 1 << 30, Span: 2000})
			s.cluster.Fill(key, 1000)
			s.start()
			s.pass(10 * time.Second)
			Expect(cached(s)).To(And(BeNumerically(">", 100-32), BeNumerically("<=", 100)))
			Expect(s.facts(key).GetWaiting()).To(Equal("no credit: message count"))
			release()
			s.pass(10 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(1000)))
			s.stop(time.Second)
		})
	})

	It("bounds the bytes by one pull more than the limit", func() {
		bubble(func() {
			s, release := prepare(actors.Limits{Messages: 1000, Bytes: 100_000, Span: 2000})
			for range 500 {
				s.cluster.Put(key, strings.Repeat("x", 1000))
			}
			s.start()
			s.pass(10 * time.Second)
			Expect(s.facts(key).GetCachedBytes()).To(And(BeNumerically(">=", 100_000), BeNumerically("<", 100_000+32*1000)))
			Expect(s.facts(key).GetWaiting()).To(Equal("no credit: bytes"))
			release()
			s.pass(10 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(500)))
			s.stop(time.Second)
		})
	})

	It("bounds the span, pins the offset and warns when one message is stuck (A08)", func() {
		bubble(func() {
			s := newStage("orders")
			s.spec.Groups[0].Limits.Span = 200
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 1000)
			gate := make(chan struct{})
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 11 {
					<-gate
				}
				return nil
			})
			s.start()
			s.pass(5 * time.Minute)
			Expect(s.facts(key).GetNextOffset()).To(And(BeNumerically("<=", 11+200), BeNumerically(">", 11+200-64)))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(11)))
			Expect(s.facts(key).GetWaiting()).To(Equal("no credit: span"))
			Expect(s.facts(key).GetOldestAgeMillis()).To(BeNumerically(">", 60_000))
			stuck := s.seen(messages.EventKind_EVENT_KIND_OLDEST_IN_FLIGHT)
			Expect(stuck).NotTo(BeEmpty())
			Expect(stuck[0].GetOffset()).To(Equal(int64(11)))
			Expect(stuck[0].GetQueue().Key()).To(Equal(key))
			close(gate)
			s.pass(10 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(1000)))
			s.stop(time.Second)
		})
	})

	It("wakes the puller at once when it comes back", func() {
		bubble(func() {
			s, release := prepare(actors.Limits{Messages: 32, Bytes: 1 << 30, Span: 2000})
			s.cluster.Fill(key, 320)
			s.start()
			s.pass(100 * time.Millisecond) // not on the second, when the puller looks by itself
			at := s.cluster.Now()
			release()
			s.pass(0)
			Expect(s.bodies()).To(HaveLen(320))
			Expect(s.cluster.Now()).To(Equal(at))
			s.stop(time.Second)
		})
	})

	It("still comes at once after the puller was replaced", func() {
		bubble(func() {
			s, release := prepare(actors.Limits{Messages: 32, Bytes: 1 << 30, Span: 2000})
			s.cluster.SetOffset(group, key, 5)
			s.cluster.Bounds(key, 100)
			s.cluster.Fill(key, 320)
			s.start()
			s.pass(100 * time.Millisecond)
			release()
			s.pass(0)
			Expect(s.bodies()).To(HaveLen(320))
			s.stop(time.Second)
		})
	})

	It("is never exceeded over all queues of a client by more than one pull for each (A18)", func() {
		bubble(func() {
			s := newStage("orders")
			s.spec.MemoryLimit = 200_000
			s.cluster.Topic("orders", 16, "a")
			for id := range int32(16) {
				for range 100 {
					s.cluster.Put(linktest.Key("orders", "a", id), strings.Repeat("x", 1000))
				}
			}
			h, release := s.block()
			s.handle(h)
			s.start()
			s.pass(time.Minute)
			var held int64
			for id := range int32(16) {
				held += s.facts(linktest.Key("orders", "a", id)).GetCachedBytes()
			}
			Expect(held).To(And(BeNumerically(">=", 200_000), BeNumerically("<=", 200_000+16*32*1000)))
			release()
			s.pass(time.Minute)
			Expect(s.bodies()).To(HaveLen(1600), "every queue gets its turn")
			s.stop(time.Second)
		})
	})
})

var _ = Describe("Delayed pulls", func() {
	key := linktest.Key("orders", "a", 0)

	DescribeTable("are repeated with the back-off of their cause", func(err error, cause string, most int) {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			remove := s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Always(linktest.Answer{Err: err})))
			s.start()
			s.cluster.Forget()
			s.pass(time.Minute)
			n := len(s.calls(linktest.Pull, on(key)))
			Expect(n).To(And(BeNumerically(">=", 8), BeNumerically("<=", most)))
			Expect(s.facts(key).GetWaiting()).To(Equal(cause))
			remove()
			s.cluster.Fill(key, 3)
			s.pass(6 * time.Second)
			Expect(s.bodies()).To(HaveLen(3))
			s.stop(time.Second)
		})
	},
		Entry("network", linktest.Unreachable("a"), "back-off: network", 25),
		Entry("flow control", linktest.Refusal(215), "back-off: broker busy", 65),
		Entry("busy", linktest.Refusal(2), "back-off: broker busy", 65),
		Entry("group unknown", linktest.Refusal(26), "back-off: group not known to the broker yet", 25),
		Entry("subscription unknown", linktest.Refusal(24), "back-off: group not known to the broker yet", 25),
		Entry("subscription not latest", linktest.Refusal(25), "back-off: group not known to the broker yet", 15),
		Entry("anything else", linktest.Refusal(1), "back-off: refused by the broker", 15),
	)

	It("does not spin when NOT_FOUND is answered at once", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Always(linktest.Answer{Value: &messages.PullReply{
				Status: messages.PullStatus_PULL_STATUS_NO_NEW_MSG,
			}})))
			s.start()
			s.pass(time.Minute)
			Expect(len(s.calls(linktest.Pull, on(key)))).To(BeNumerically("<=", 70))
			s.stop(time.Second)
		})
	})

	It("follows the broker to a slave and back (A05)", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(
				linktest.Answer{Value: &messages.PullReply{Status: messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG, NextOffset: 10, SuggestedBrokerId: 1}},
				linktest.Answer{Value: &messages.PullReply{Status: messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG, NextOffset: 5000}},
			)))
			s.cluster.Bounds(key, 0)
			s.start()
			pulls := s.calls(linktest.Pull, on(key))
			Expect(pulls[0].Address).To(Equal(linktest.Address("a")))
			Expect(pulls[1].Address).To(Equal(linktest.SlaveAddress("a")))
			Expect(pulls[1].Request.(*messages.PullRequest).GetCommit()).To(BeFalse(), "a slave keeps no offsets")
			Expect(pulls[2].Address).To(Equal(linktest.Address("a")))
			Expect(pulls[2].Offset).To(Equal(int64(5000)))
			s.stop(time.Second)
		})
	})

	It("commits stretches that a filter left out, but never past a message in a handler (A04)", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			h, release := s.block()
			s.handle(h)
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(
				linktest.Answer{Value: &messages.PullReply{Status: messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG, NextOffset: 50}},
			)))
			s.cluster.Bounds(key, 50)
			s.cluster.Fill(key, 1)
			s.cluster.On(linktest.Pull, linktest.For(func(c linktest.Call) bool { return c.Queue == key && c.Offset == 51 }, linktest.Once(
				linktest.Answer{Value: &messages.PullReply{Status: messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG, NextOffset: 400}},
			)))
			s.cluster.On(linktest.Pull, linktest.For(func(c linktest.Call) bool { return c.Queue == key && c.Offset == 400 },
				linktest.Always(linktest.Answer{Silent: true})))
			s.cluster.SetOffset(group, key, 0)
			s.start()
			s.pass(6 * time.Second)
			Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(50)))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(50)))
			release()
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(400)))
			s.stop(time.Second)
		})
	})
})
