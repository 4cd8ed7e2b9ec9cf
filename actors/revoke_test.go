package actors_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("A queue that moves to another member", func() {
	kept, lost := linktest.Key("orders", "a", 0), linktest.Key("orders", "a", 1)

	// With "me" and "you", sorted, the second of two queues goes to "you".
	move := func(s *stage) {
		s.cluster.Join(group, "you")
		s.cluster.Notify(group)
	}
	prepare := func() *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", 2, "a")
		return s
	}
	revoked := func(s *stage) (out []*messages.Event) {
		for _, e := range s.seen(messages.EventKind_EVENT_KIND_QUEUE_REVOKED) {
			if e.GetQueue().Key() == lost {
				out = append(out, e)
			}
		}
		return out
	}

	When("its start offset is still being looked for", func() {
		It("is given up once and nothing is stored for it", func() {
			bubble(func() {
				s := prepare()
				s.cluster.On(linktest.Committed, linktest.For(on(lost), linktest.Always(linktest.Answer{Silent: true})))
				s.start()
				move(s)
				s.pass(time.Second)
				Expect(revoked(s)).To(HaveLen(1))
				s.pass(time.Minute)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(s.calls(linktest.Commit, on(lost))).To(BeEmpty())
				Expect(s.calls(linktest.Pull, on(lost))).To(BeEmpty())
				Expect(s.owned("orders")).To(Equal([]string{kept.String()}))
				s.stop(time.Second)
			})
		})
	})

	When("it is running and idle", func() {
		It("is given up at once, its offset stored, its long poll cancelled", func() {
			bubble(func() {
				s := prepare()
				s.cluster.Fill(lost, 10)
				s.start()
				move(s)
				s.pass(100 * time.Millisecond)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(revoked(s)[0].GetOffset()).To(Equal(int64(10)))
				Expect(s.cluster.Offset(group, lost)).To(Equal(int64(10)))
				for _, p := range s.calls(linktest.Pull, on(lost)) {
					Expect(p.Pending).To(BeFalse())
				}
				Expect(s.owned("orders")).To(Equal([]string{kept.String()}))
				n := len(s.calls(linktest.Pull, on(lost)))
				s.pass(time.Minute)
				Expect(s.calls(linktest.Pull, on(lost))).To(HaveLen(n))
				s.stop(time.Second)
			})
		})
	})

	When("handlers run for it", func() {
		It("waits for them and stores what they settled", func() {
			bubble(func() {
				s := prepare()
				h, release := s.block()
				s.handle(h)
				s.cluster.Fill(lost, 5)
				s.start()
				move(s)
				s.pass(time.Second)
				Expect(revoked(s)).To(BeEmpty())
				Expect(s.facts(lost).GetPhase()).To(Equal("draining"))
				release()
				s.pass(0)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(s.cluster.Offset(group, lost)).To(Equal(int64(5)))
				s.stop(time.Second)
			})
		})

		It("cancels them after the grace and stores the lowest offset that is not settled", func() {
			bubble(func() {
				s := prepare()
				h, _ := s.block()
				s.handle(h)
				s.spec.Groups[0].Workers = 4
				s.cluster.Fill(lost, 10)
				s.start()
				move(s)
				s.pass(4 * time.Second)
				Expect(revoked(s)).To(BeEmpty())
				s.pass(1200 * time.Millisecond)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(s.cluster.Offset(group, lost)).To(Equal(int64(0)))
				Expect(s.calls(linktest.SendBack)).To(BeEmpty(), "no attempt is counted for a message that moves")
				Expect(s.bodies()).To(HaveLen(2), "half the workers are the share of a topic; nothing new starts in a drain")
				s.stop(time.Second)
			})
		})

		It("gives handlers up that ignore their context, and ignores their results", func() {
			bubble(func() {
				s := prepare()
				gate := make(chan struct{})
				s.handle(ignoring(gate))
				s.cluster.Fill(lost, 2)
				s.start()
				move(s)
				s.pass(6 * time.Second)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(revoked(s)[0].GetCount()).To(Equal(int64(2)))
				close(gate)
				s.pass(10 * time.Second)
				Expect(s.cluster.Offset(group, lost)).To(Equal(int64(0)))
				Expect(revoked(s)).To(HaveLen(1))
				s.stop(time.Second)
			})
		})
	})

	When("its offset is being corrected", func() {
		It("is given up once and keeps the corrected offset", func() {
			bubble(func() {
				s := prepare()
				s.cluster.SetOffset(group, lost, 100)
				s.cluster.Bounds(lost, 1000)
				remove := s.cluster.On(linktest.Commit, linktest.For(on(lost), linktest.Always(linktest.Answer{Delay: 2 * time.Second})))
				s.cluster.On(linktest.Pull, linktest.For(on(lost), linktest.Once(linktest.Answer{Delay: 250 * time.Millisecond})))
				s.start()
				move(s)
				s.pass(300 * time.Millisecond)
				remove()
				s.pass(10 * time.Second)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(s.cluster.Offset(group, lost)).To(BeElementOf(int64(100), int64(1000)))
				Expect(s.owned("orders")).To(Equal([]string{kept.String()}))
				s.stop(time.Second)
			})
		})

		DescribeTable("ends whenever the two meet", func(after time.Duration) {
			bubble(func() {
				s := prepare()
				s.cluster.SetOffset(group, lost, 100)
				s.cluster.Bounds(lost, 1000)
				s.cluster.On(linktest.Pull, linktest.For(on(lost), linktest.Once(linktest.Answer{Delay: time.Second})))
				s.cluster.On(linktest.Commit, linktest.For(on(lost), linktest.Once(linktest.Answer{Delay: time.Second})))
				s.start()
				s.pass(after)
				move(s)
				s.pass(10 * time.Second)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(s.owned("orders")).To(Equal([]string{kept.String()}))
				Expect(revoked(s)[0].GetOffset()).To(Equal(s.cluster.Offset(group, lost)))
				s.stop(time.Second)
			})
		},
			Entry("just before the answer", 790*time.Millisecond),
			Entry("with the answer", 800*time.Millisecond),
			Entry("just after it", 801*time.Millisecond),
			Entry("while the correction is stored", 1500*time.Millisecond),
		)
	})

	When("the final offset cannot be stored", func() {
		It("is given up within bounds and says so", func() {
			bubble(func() {
				s := prepare()
				s.cluster.Fill(lost, 3)
				s.cluster.On(linktest.Commit, linktest.For(on(lost), linktest.Always(linktest.Answer{Silent: true})))
				s.start()
				move(s)
				s.pass(15 * time.Second)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(revoked(s)[0].GetFailure()).NotTo(BeNil())
				Expect(s.owned("orders")).To(Equal([]string{kept.String()}))
				s.stop(time.Second)
			})
		})

		It("tries a refused one again", func() {
			bubble(func() {
				s := prepare()
				s.cluster.Fill(lost, 3)
				s.cluster.On(linktest.Commit, linktest.For(on(lost), linktest.Once(linktest.Answer{Err: linktest.Refusal(1)})))
				s.start()
				move(s)
				s.pass(time.Second)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(revoked(s)[0].GetFailure()).To(BeNil())
				Expect(s.cluster.Offset(group, lost)).To(Equal(int64(3)))
				s.stop(time.Second)
			})
		})
	})

	When("it comes back while it is being drained", func() {
		It("ends first and starts anew, with the rest delivered again", func() {
			bubble(func() {
				s := prepare()
				gate := make(chan struct{})
				s.handle(ignoring(gate))
				s.cluster.Fill(lost, 4)
				s.start()
				move(s)
				s.pass(time.Second)
				s.cluster.Leave(group, "you")
				s.cluster.Notify(group)
				s.pass(time.Second)
				Expect(s.facts(lost).GetPhase()).To(Equal("draining"))
				close(gate)
				s.pass(time.Second)
				Expect(revoked(s)).To(HaveLen(1))
				Expect(s.owned("orders")).To(ConsistOf(kept.String(), lost.String()))
				Expect(s.facts(lost).GetPhase()).To(Equal("running"))
				s.cluster.Fill(lost, 1)
				s.pass(10 * time.Second)
				Expect(s.cluster.Offset(group, lost)).To(Equal(int64(5)))
				Expect(s.bodies()).To(HaveLen(5))
				s.stop(time.Second)
			})
		})
	})

	When("membership flips 200 times (A20)", func() {
		It("keeps as many actors as before", func() {
			bubble(func() {
				s := newStage("orders")
				s.cluster.Topic("orders", 16, "a")
				s.start()
				actors := len(s.client.Topology().GetActors())
				for range 100 {
					move(s)
					s.pass(2 * time.Second)
					s.cluster.Leave(group, "you")
					s.cluster.Notify(group)
					s.pass(2 * time.Second)
				}
				Expect(s.client.Topology().GetActors()).To(HaveLen(actors))
				Expect(s.owned("orders")).To(HaveLen(16))
				pending := 0
				for _, p := range s.calls(linktest.Pull) {
					if p.Pending {
						pending++
					}
				}
				Expect(pending).To(Equal(17), "one long poll for each queue and the retry queue")
				s.stop(time.Second)
			})
		})
	})
})
