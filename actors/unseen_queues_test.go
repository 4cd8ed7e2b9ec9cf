package actors_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Queues that a group has never seen", Label("A03"), func() {
	key := func(id int32) messages.QueueKey { return linktest.Key("orders", "a", id) }
	skipped := messages.EventKind_EVENT_KIND_QUEUES_SKIPPED

	// grown is a topic of eight queues, 100 messages on each of the last four; the group may stand at 60 on the first four.
	grown := func(known bool) *stage {
		s := newStage("orders")
		s.spec.Groups[0].Start.From = messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
		s.cluster.Topic("orders", 8, "a")
		for id := range int32(8) {
			s.cluster.Fill(key(id), 100)
			if id < 4 && known {
				s.cluster.SetOffset(group, key(id), 100)
			}
		}
		return s
	}
	firstPull := func(s *stage, id int32) int64 {
		GinkgoHelper()
		pulls := s.calls(linktest.Pull, on(key(id)))
		Expect(pulls).NotTo(BeEmpty())
		return pulls[0].Offset
	}

	It("begin at their minimum if the group asks for it", func() {
		bubble(func() {
			s := grown(true)
			s.spec.Groups[0].Start.UnseenFromFirst = true
			s.start()
			s.pass(10 * time.Second)
			Expect(s.bodies()).To(HaveLen(400))
			Expect(s.seen(skipped)).To(BeEmpty())
			s.stop(time.Second)
		})
	})

	It("begin by the rule otherwise, and one warning names those with messages", func() {
		bubble(func() {
			s := grown(true)
			s.cluster.Bounds(key(7), 100) // its messages are gone: nothing is skipped there
			s.start()
			s.pass(time.Minute)
			Expect(s.bodies()).To(BeEmpty())
			told := s.seen(skipped)
			Expect(told).To(HaveLen(1))
			Expect(told[0].GetTopic()).To(Equal("orders"))
			Expect(told[0].GetText()).To(Equal("orders@a:4, orders@a:5, orders@a:6"))
			s.stop(time.Second)
		})
	})

	It("are told of also by a member that owns none of the others", func() {
		bubble(func() {
			s := grown(true)
			s.cluster.Join(group, "a-neighbour") // comes before this one and gets the first four
			s.start()
			s.pass(time.Minute)
			Expect(s.owned("orders")).To(ConsistOf("orders@a:4", "orders@a:5", "orders@a:6", "orders@a:7"))
			Expect(s.seen(skipped)).To(HaveLen(1))
			Expect(s.seen(skipped)[0].GetCount()).To(Equal(int64(4)))
			s.stop(time.Second)
		})
	})

	DescribeTable("are those of a new group if nothing is stored that proves otherwise", func(optIn bool, zeros bool) {
		bubble(func() {
			s := grown(false)
			s.spec.Groups[0].Start.UnseenFromFirst = optIn
			for id := range int32(2) {
				if zeros { // what a broker says of young queues for anybody (protocol.md 7.5)
					s.cluster.SetOffset(group, key(id), 0)
				}
			}
			s.start()
			s.pass(time.Minute)
			Expect(firstPull(s, 5)).To(Equal(int64(100)))
			Expect(s.seen(skipped)).To(BeEmpty())
			s.stop(time.Second)
		})
	},
		Entry("by default", false, false),
		Entry("if the group asks for it", true, false),
		Entry("with zeros stored, by default", false, true),
		Entry("with zeros stored, if the group asks for it", true, true),
	)

	It("do not begin before it is known whether the group is new", func() {
		bubble(func() {
			s := grown(false)
			s.spec.Groups[0].Start.UnseenFromFirst = true
			s.cluster.SetOffset(group, key(0), 100)
			remove := s.cluster.On(linktest.Committed, linktest.For(on(key(0)), linktest.Always(linktest.Answer{Err: linktest.Refusal(1)})))
			s.start()
			s.pass(30 * time.Second)
			Expect(s.calls(linktest.Pull, on(key(5)))).To(BeEmpty())
			remove()
			s.pass(time.Minute)
			Expect(firstPull(s, 5)).To(BeZero())
			s.stop(time.Second)
		})
	})

	It("begin at their minimum, whatever the rule, when they come while the group is there", func() {
		bubble(func() {
			s := newStage("orders")
			s.spec.Groups[0].Start.From = messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
			s.spec.Groups[0].Start.StrictLast = true
			s.cluster.Topic("orders", 4, "a")
			s.cluster.Fill(key(0), 100)
			s.start()
			Expect(firstPull(s, 0)).To(Equal(int64(100)))
			s.cluster.Topic("orders", 8, "a")
			for id := int32(4); id < 8; id++ {
				s.cluster.Fill(key(id), 100)
			}
			s.pass(time.Minute)
			Expect(s.bodies()).To(HaveLen(400))
			Expect(s.seen(skipped)).To(BeEmpty())
			s.stop(time.Second)
		})
	})
})
