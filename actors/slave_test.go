package actors_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("A slave", func() {
	key := linktest.Key("orders", "a", 0)
	master, slave := linktest.Address("a"), linktest.SlaveAddress("a")
	to := func(address string) func(linktest.Call) bool {
		return func(c linktest.Call) bool { return c.Address == address }
	}
	suggesting := func(id int64) linktest.Answer {
		return linktest.Answer{Value: &messages.PullReply{
			Status: messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG, NextOffset: 5, MaxOffset: 10, SuggestedBrokerId: id,
		}}
	}
	slaveOnly := func(c linktest.Call) *linktest.Answer {
		return &linktest.Answer{Value: &messages.TopicRoute{
			Topic:   c.Topic,
			Queues:  []*messages.QueueGroup{{Broker: "a", ReadQueues: 1, WriteQueues: 1, Perm: 6}},
			Brokers: []*messages.BrokerAddresses{{Broker: "a", Addresses: map[int64]string{1: slave}}},
		}}
	}
	prepare := func() *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", 1, "a")
		s.cluster.Bounds(key, 0)
		return s
	}

	It("that the master suggests is asked, and left as soon as it suggests the master", Label("A05"), func() {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 10)
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(suggesting(1), linktest.Answer{Value: &messages.PullReply{
				Status: messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG, NextOffset: 8, MaxOffset: 10,
			}})))
			s.start()
			pulls := s.calls(linktest.Pull, on(key))
			Expect(len(pulls)).To(BeNumerically(">=", 3))
			Expect(pulls[0].Address).To(Equal(master))
			Expect(pulls[1].Address).To(Equal(slave))
			Expect(pulls[1].Offset).To(Equal(int64(5)))
			Expect(pulls[1].Request.(*messages.PullRequest).GetCommit()).To(BeFalse())
			Expect(pulls[2].Address).To(Equal(master))
			Expect(pulls[2].Offset).To(Equal(int64(8)))
			Expect(s.calls(linktest.Pull, on(key), to(slave))).To(HaveLen(1))
			s.stop(time.Second)
		})
	})

	DescribeTable("that will not serve is left for the master", Label("A05"), func(answer linktest.Answer) {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 10)
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(suggesting(1))))
			s.cluster.Down(slave, &answer)
			s.start()
			s.pass(2 * time.Second)
			Expect(s.bodies()).To(HaveLen(5))
			Expect(s.calls(linktest.Pull, on(key), to(slave))).To(HaveLen(1))
			Expect(s.seen(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED)).To(BeEmpty())
			Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(10)))
			s.stop(time.Second)
		})
	},
		Entry("busy, as one of 5.x that may not serve", linktest.Answer{Err: linktest.Refusal(2)}),
		Entry("without the topic yet", linktest.Answer{Err: linktest.Refusal(17)}),
		Entry("gone", linktest.Answer{Err: linktest.Unreachable("a-slave")}),
		Entry("behind", linktest.Answer{Value: &messages.PullReply{
			Status: messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL, NextOffset: 2, MaxOffset: 2, SuggestedBrokerId: 1,
		}}),
		Entry("with a later beginning", linktest.Answer{Value: &messages.PullReply{
			Status: messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL, NextOffset: 9, MinOffset: 9, MaxOffset: 10, SuggestedBrokerId: 1,
		}}),
	)

	DescribeTable("takes over when its master is gone, within five seconds, and gives back", Label("A41"), func(dropped bool) {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 10)
			s.start()
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			masterOnRoute := func() {}
			if dropped {
				masterOnRoute = s.cluster.On(linktest.Route, slaveOnly)
			}
			s.cluster.Down(master, &linktest.Answer{Err: linktest.Unreachable("a")})
			// The pull that the master held breaks with its connection.
			broken := s.cluster.Now()
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(linktest.Answer{Err: linktest.Unreachable("a")})))
			s.cluster.Fill(key, 10)
			s.pass(5 * time.Second)
			Expect(s.bodies()).To(HaveLen(20))
			first := s.calls(linktest.Pull, on(key), to(slave))[0]
			Expect(first.At - broken).To(BeNumerically("<", 5*time.Second))
			for range 60 {
				s.cluster.Fill(key, 1)
				s.pass(time.Second)
			}
			Expect(s.bodies()).To(HaveLen(80))
			pulls := s.calls(linktest.Pull, on(key))
			for i := range pulls[1:] {
				Expect(pulls[i+1].At-pulls[i].Ended).To(BeNumerically("<", time.Second), "it is never held up")
			}
			Expect(len(s.calls(linktest.Pull, on(key), to(master)))).To(BeNumerically("<", 15), "the master is not asked all the time")
			Expect(s.calls(linktest.Commit, on(key), to(slave))).NotTo(BeEmpty())
			Expect(s.cluster.Offset(group, key)).To(BeNumerically(">=", 74))
			Expect(s.calls(linktest.Members, to(slave))).NotTo(BeEmpty())
			Expect(s.calls(linktest.Heartbeat, to(slave))).NotTo(BeEmpty())
			s.pass(6 * time.Second)

			s.cluster.SetOffset(group, key, 10) // what the master knew
			s.cluster.Down(master, nil)
			masterOnRoute()
			s.cluster.Reconnected(master)
			s.cluster.Forget()
			s.pass(36 * time.Second)
			Expect(s.calls(linktest.Commit, on(key), to(master))).NotTo(BeEmpty())
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(80)))
			Expect(s.bodies()).To(HaveLen(80), "nothing comes twice")
			s.cluster.Forget()
			s.cluster.Fill(key, 1)
			s.pass(time.Second)
			s.cluster.Fill(key, 1)
			s.pass(time.Second)
			Expect(s.bodies()).To(HaveLen(82))
			Expect(s.calls(linktest.Pull, on(key), to(master))).NotTo(BeEmpty())
			Expect(len(s.calls(linktest.Pull, on(key), to(slave)))).To(BeNumerically("<=", 2))
			s.stop(time.Second)
		})
	},
		Entry("and out of the route", true),
		Entry("but still in the route", false),
	)

	It("says where a queue starts while the master cannot be reached, but not that there is no offset", Label("A41"), func() {
		bubble(func() {
			other := linktest.Key("orders", "a", 1)
			s := newStage("orders")
			s.spec.Groups[0].Start.From = messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
			s.cluster.Topic("orders", 2, "a")
			s.cluster.Bounds(key, 0)
			s.cluster.Bounds(other, 100)
			s.cluster.Fill(key, 70)
			s.cluster.Fill(other, 20)
			s.cluster.SetOffset(group, key, 60)
			s.cluster.Down(master, &linktest.Answer{Err: linktest.Unreachable("a")})
			s.start()
			s.pass(2 * time.Second)
			Expect(s.bodies()).To(HaveLen(10))
			Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(70)))
			Expect(s.calls(linktest.Pull, on(other))).To(BeEmpty())
			s.cluster.SetOffset(group, other, 110) // the master has one
			s.cluster.Down(master, nil)
			s.pass(10 * time.Second)
			Expect(offsetsOf(s.calls(linktest.Pull, on(other)))[0]).To(Equal(int64(110)))
			s.stop(time.Second)
		})
	})
})

var _ = Describe("A broker that comes back with older offsets", func() {
	It("is told those of queues that do not move, too", Label("A41"), func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 10)
			s.start()
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			// Its pulls, which carry the offset, stay out.
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Always(linktest.Answer{Silent: true})))
			s.pass(31 * time.Second)
			s.cluster.SetOffset(group, key, 7)
			s.cluster.Forget()
			s.cluster.Reconnected(linktest.Address("a"))
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			Expect(s.calls(linktest.Commit, on(key))).To(HaveLen(1))
			s.pass(20 * time.Second)
			Expect(s.calls(linktest.Commit, on(key))).To(HaveLen(1), "once")
			s.stop(time.Second)
		})
	})
})
