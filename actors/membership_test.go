package actors_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Member lists", func() {
	prepare := func() *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", 8, "a")
		return s.start()
	}

	DescribeTable("that are of no use change nothing until a good one comes (A14)", func(answer linktest.Answer, unknown bool) {
		bubble(func() {
			s := prepare()
			remove := s.cluster.On(linktest.Members, linktest.Always(answer))
			s.cluster.Forget()
			s.cluster.Notify(group)
			s.pass(5 * time.Second)
			Expect(s.owned("orders")).To(HaveLen(8))
			Expect(s.seen(messages.EventKind_EVENT_KIND_QUEUE_REVOKING)).To(BeEmpty())
			Expect(s.seen(messages.EventKind_EVENT_KIND_MEMBERS_UNUSABLE)).NotTo(BeEmpty())
			if unknown {
				beats := s.calls(linktest.Heartbeat)
				Expect(beats).NotTo(BeEmpty())
				Expect(beats[0].At - s.calls(linktest.Members)[0].At).To(BeNumerically("<", 100*time.Millisecond))
			}
			s.pass(30 * time.Second)
			Expect(len(s.calls(linktest.Members))).To(BeNumerically("<", 90), "no storm of questions")
			remove()
			s.cluster.Join(group, "you")
			s.pass(25 * time.Second)
			Expect(s.owned("orders")).To(HaveLen(4))
			s.stop(time.Second)
		})
	},
		Entry("refused", linktest.Answer{Err: linktest.Refusal(1)}, true),
		Entry("silent", linktest.Answer{Silent: true}, false),
		Entry("empty", linktest.Answer{Value: []string{}}, true),
		Entry("without this client", linktest.Answer{Value: []string{"you", "they"}}, true),
	)

	It("are asked for in one round at a time, whatever happens at once", func() {
		bubble(func() {
			s := prepare()
			s.cluster.On(linktest.Members, linktest.Always(linktest.Answer{Delay: time.Second}))
			s.cluster.Forget()
			for range 50 {
				s.cluster.Notify(group)
			}
			s.pass(500 * time.Millisecond)
			s.cluster.Notify(group)
			s.cluster.Reconnected(linktest.Address("a"))
			s.pass(5 * time.Second)
			calls := s.calls(linktest.Members)
			Expect(len(calls)).To(BeNumerically("<=", 3*2), "two topics, and a burst is one further round")
			for i, x := range calls {
				for _, y := range calls[i+1:] {
					if x.At != y.At {
						Expect(y.At).To(BeNumerically(">=", x.Ended))
					}
				}
			}
			s.stop(time.Second)
		})
	})

	It("grow and shrink while topics get queues and brokers (A12)", func() {
		bubble(func() {
			s := prepare()
			s.cluster.Topic("orders", 8, "a", "b")
			s.cluster.Fill(linktest.Key("orders", "b", 7), 3)
			s.pass(51 * time.Second)
			Expect(s.owned("orders")).To(HaveLen(16))
			Expect(s.bodies()).To(HaveLen(3))
			s.cluster.Topic("orders", 4, "a")
			s.pass(51 * time.Second)
			Expect(s.owned("orders")).To(HaveLen(4))
			s.cluster.Forget()
			s.pass(time.Minute)
			for _, p := range s.calls(linktest.Pull, about("orders")) {
				Expect(p.Queue.ID).To(BeNumerically("<", 4))
				Expect(p.Queue.Broker).To(Equal("a"))
			}
			s.stop(time.Second)
		})
	})
})

var _ = Describe("Topics without a route", func() {
	It("hold up nobody and are consumed when they appear (A35)", func() {
		bubble(func() {
			s := newStage("orders", "later")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(linktest.Key("orders", "a", 0), 3)
			s.start()
			Expect(s.bodies()).To(HaveLen(3))
			s.pass(time.Minute)
			s.cluster.Topic("later", 1, "a")
			s.cluster.Fill(linktest.Key("later", "a", 0), 3)
			s.pass(35 * time.Second)
			Expect(s.bodies()).To(HaveLen(6))
			s.stop(time.Second)
		})
	})

	It("keep their last route while name servers are silent", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.start()
			s.cluster.On(linktest.Route, linktest.Always(linktest.Answer{Silent: true}))
			s.pass(5 * time.Minute)
			s.cluster.Fill(linktest.Key("orders", "a", 0), 3)
			s.pass(time.Second)
			Expect(s.bodies()).To(HaveLen(3))
			s.stop(time.Second)
		})
	})
})

var _ = Describe("Heartbeats", func() {
	It("go out at once on a new connection, carry every group, and never two at a time", func() {
		bubble(func() {
			s := newStage("orders")
			s.spec.Groups = append(s.spec.Groups, s.groupOf("shipping", "orders"))
			s.cluster.Topic("orders", 1, "a")
			s.start()
			s.cluster.On(linktest.Heartbeat, linktest.Always(linktest.Answer{Delay: time.Second}))
			s.cluster.Forget()
			s.cluster.Reconnected(linktest.Address("a"))
			s.pass(500 * time.Millisecond)
			Expect(s.calls(linktest.Heartbeat)).To(HaveLen(1))
			s.pass(5 * time.Minute)
			beats := s.calls(linktest.Heartbeat, func(c linktest.Call) bool { return c.Address == linktest.Address("a") })
			Expect(len(beats)).To(BeNumerically(">=", 10))
			for i, b := range beats {
				Expect(b.Request.(*messages.Heartbeat).GetGroups()).To(HaveLen(2))
				if i > 0 {
					Expect(b.At).To(BeNumerically(">=", beats[i-1].Ended))
				}
			}
			s.stop(time.Second)
		})
	})
})

var _ = Describe("Commits", func() {
	It("go to one broker one after the other, rise, and rest when nothing moves", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 8, "a")
			s.cluster.On(linktest.Commit, linktest.Always(linktest.Answer{Delay: 300 * time.Millisecond}))
			s.start()
			for range 60 {
				for id := range int32(8) {
					s.cluster.Fill(linktest.Key("orders", "a", id), 1)
				}
				s.pass(time.Second)
			}
			commits := s.calls(linktest.Commit)
			last := map[messages.QueueKey]int64{}
			for i, c := range commits {
				if i > 0 {
					Expect(c.At).To(BeNumerically(">=", commits[i-1].Ended))
				}
				Expect(c.Offset).To(BeNumerically(">=", last[c.Queue]))
				last[c.Queue] = c.Offset
			}
			s.pass(10 * time.Second)
			s.cluster.Forget()
			s.pass(10 * time.Minute)
			Expect(s.calls(linktest.Commit)).To(BeEmpty())
			s.stop(time.Second)
		})
	})

	It("go on for a queue that came back while its last commit was still under way", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 1)
			s := newStage("orders")
			s.cluster.Topic("orders", 2, "a")
			s.cluster.Fill(key, 3)
			s.start()
			remove := s.cluster.On(linktest.Commit, linktest.Always(linktest.Answer{Silent: true}))
			s.cluster.Fill(linktest.Key("orders", "a", 0), 3)
			s.pass(4800 * time.Millisecond) // a tick is under way for the other queue
			s.cluster.Join(group, "you")
			s.cluster.Notify(group)
			s.pass(5 * time.Second)
			s.cluster.Leave(group, "you")
			s.cluster.Notify(group)
			s.pass(100 * time.Millisecond)
			s.pass(15 * time.Second)
			remove()
			s.cluster.Fill(key, 5)
			s.pass(30 * time.Second)
			Expect(s.calls(linktest.Commit, on(key), func(c linktest.Call) bool { return c.Err == nil })).NotTo(BeEmpty())
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(8)))
			s.stop(time.Second)
		})
	})
})

var _ = Describe("The log", func() {
	It("says at most 20 lines in ten idle minutes on 64 queues", Label("A46"), func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 64, "a")
			s.start()
			s.pass(10 * time.Minute)
			Expect(len(s.lines())).To(BeNumerically("<=", 20), strings.Join(s.lines(), "\n"))
			Expect(s.lines()).NotTo(BeEmpty())
			s.stop(time.Second)
		})
	})

	DescribeTable("says at most 100 lines while a broker is down for ten minutes", Label("A46"), func(answer linktest.Answer) {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 32, "a", "b")
			s.start()
			s.cluster.Down(linktest.Address("b"), &answer)
			for id := range int32(32) {
				s.cluster.Fill(linktest.Key("orders", "a", id), 10)
			}
			n := len(s.lines())
			s.pass(10 * time.Minute)
			Expect(len(s.lines())-n).To(BeNumerically("<=", 100), strings.Join(s.lines(), "\n"))
			Expect(len(s.lines())).To(BeNumerically(">", n))
			Expect(s.bodies()).To(HaveLen(320), "the other broker is not held up (A13, A16)")
			s.stop(time.Second)
		})
	},
		Entry("refusing connections", linktest.Answer{Err: linktest.Unreachable("b")}),
		Entry("silent", linktest.Answer{Silent: true}),
	)
})
