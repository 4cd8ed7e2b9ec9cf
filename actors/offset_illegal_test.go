package actors_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("OFFSET_ILLEGAL", func() {
	key := linktest.Key("orders", "a", 0)

	prepare := func(stored, minimum int64) *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", 1, "a")
		s.cluster.SetOffset(group, key, stored)
		s.cluster.Bounds(key, minimum)
		return s
	}

	DescribeTable("goes on where the broker says within a second, and stores that (A06)", func(stored int64) {
		bubble(func() {
			s := prepare(stored, 1000)
			s.start()
			pulls := s.calls(linktest.Pull, on(key))
			Expect(offsetsOf(pulls)).To(Equal([]int64{stored, 1000}))
			Expect(pulls[1].At - pulls[0].Ended).To(BeNumerically("<=", time.Second))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(1000)))
			corrected := s.seen(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED)
			Expect(corrected).To(HaveLen(1))
			Expect(corrected[0].GetPreviousOffset()).To(Equal(stored))
			Expect(corrected[0].GetOffset()).To(Equal(int64(1000)))
			s.cluster.Fill(key, 3)
			s.pass(6 * time.Second)
			Expect(s.bodies()).To(HaveLen(3))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(1003)))
			s.stop(time.Second)
		})
	},
		Entry("below the minimum", int64(100)),
		Entry("beyond the maximum", int64(5000)),
	)

	When("handlers are running", func() {
		It("discards what was cached, and late results change nothing", func() {
			bubble(func() {
				s := prepare(0, 0)
				gate := make(chan struct{})
				s.handle(ignoring(gate))
				s.spec.Groups[0].Workers = 4
				s.cluster.Fill(key, 40)
				s.start()
				at := s.cluster.Now()
				s.cluster.Bounds(key, 20) // the tail is lost at the broker: max is 20, we are at 40
				s.pass(15 * time.Second)  // the long poll runs out and the next is refused
				corrected := s.seen(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED)
				Expect(corrected).To(HaveLen(1))
				Expect(s.cluster.Now() - at).To(BeNumerically("<=", 16*time.Second))
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(20)))
				s.cluster.Fill(key, 2)
				close(gate)
				s.pass(10 * time.Second)
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(22)))
				Expect(s.bodies()).To(HaveLen(2+2), "half the workers are the share of a topic")
				for _, c := range s.calls(linktest.Commit, on(key)) {
					Expect(c.Offset).To(BeElementOf(int64(0), int64(20), int64(22)))
				}
				s.stop(time.Second)
			})
		})
	})

	When("it comes twice in a row", func() {
		It("is followed twice, with one puller", func() {
			bubble(func() {
				s := prepare(100, 1000)
				s.cluster.On(linktest.Pull, linktest.For(func(c linktest.Call) bool { return c.Queue == key && c.Offset == 1000 },
					func(linktest.Call) *linktest.Answer {
						s.cluster.Bounds(key, 3000)
						return &linktest.Answer{}
					}))
				s.start()
				Expect(offsetsOf(s.calls(linktest.Pull, on(key)))).To(Equal([]int64{100, 1000, 3000}))
				Expect(s.seen(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED)).To(HaveLen(2))
				Expect(s.cluster.Offset(group, key)).To(Equal(int64(3000)))
				s.stop(time.Second)
			})
		})
	})

	When("the broker insists for ever", func() {
		It("does not spin", func() {
			bubble(func() {
				s := prepare(0, 0)
				s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Always(linktest.Answer{Value: &messages.PullReply{
					Status: messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL, NextOffset: 0,
				}, Delay: time.Millisecond})))
				s.start()
				s.pass(10 * time.Second)
				Expect(len(s.calls(linktest.Pull, on(key)))).To(BeNumerically("<", 100))
				s.stop(time.Second)
			})
		})
	})
})
