package actors_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("A broker", func() {
	to := func(address string) func(linktest.Call) bool {
		return func(c linktest.Call) bool { return c.Address == address }
	}

	DescribeTable("that comes back at another address is consumed from there, and the old one is left alone (A13)",
		func(answer linktest.Answer, phase time.Duration) {
			bubble(func() {
				const moved = "b-moved:10911"
				s := newStage("orders")
				s.cluster.Topic("orders", 4, "a", "b")
				s.start()
				feed := func(broker string, seconds int) {
					for range seconds {
						for id := range int32(4) {
							s.cluster.Fill(linktest.Key("orders", broker, id), 1)
						}
						s.pass(time.Second)
					}
				}
				s.pass(phase)
				s.cluster.Down(linktest.Address("b"), &answer)
				s.cluster.Reconnected(linktest.Address("b"))
				feed("a", 120)
				for id := range int32(4) {
					key := linktest.Key("orders", "a", id)
					pulls := s.calls(linktest.Pull, on(key))
					for i := range pulls[1:] {
						Expect(pulls[i+1].At-pulls[i].Ended).To(BeNumerically("<", 2*time.Second), "a is never held up")
					}
					Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(120)))
				}
				s.cluster.Move("b", moved)
				at := s.cluster.Now()
				feed("b", 60)
				for id := range int32(4) {
					key := linktest.Key("orders", "b", id)
					pulls := s.calls(linktest.Pull, on(key), to(moved))
					Expect(pulls).NotTo(BeEmpty())
					Expect(pulls[0].At - at).To(BeNumerically("<=", 60*time.Second))
				}
				s.cluster.Forget()
				feed("b", 60)
				Expect(s.calls(linktest.Heartbeat, to(moved))).NotTo(BeEmpty())
				Expect(s.calls(linktest.Commit, to(moved))).NotTo(BeEmpty())
				for _, call := range s.cluster.Calls() {
					Expect(call.Address).NotTo(Equal(linktest.Address("b")), "%s", call.Op)
				}
				for id := range int32(4) { // one live pull loop each
					key := linktest.Key("orders", "b", id)
					Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(120)))
					pulls := s.calls(linktest.Pull, on(key))
					for i := range pulls[1:] {
						Expect(pulls[i+1].At).To(BeNumerically(">=", pulls[i].Ended))
					}
				}
				report, _ := s.stop(time.Second)
				Expect(report.GetUnpersisted()).To(BeEmpty())
			})
		},
		Entry("refusing at once", linktest.Answer{Err: linktest.Unreachable("b")}, time.Duration(0)),
		Entry("refusing after a while", linktest.Answer{Err: linktest.Unreachable("b")}, 4900*time.Millisecond),
		Entry("silent at once", linktest.Answer{Silent: true}, time.Duration(0)),
		Entry("silent at a commit", linktest.Answer{Silent: true}, 4900*time.Millisecond),
		Entry("silent at a rebalance", linktest.Answer{Silent: true}, 19900*time.Millisecond),
		Entry("silent at a heartbeat", linktest.Answer{Silent: true}, 29900*time.Millisecond),
	)

	It("whose master is gone from the route is consumed from its slave, and the master learns the offset when it is back", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 10)
			s.start()
			s.pass(6 * time.Second)
			s.cluster.Down(linktest.Address("a"), &linktest.Answer{Err: linktest.Unreachable("a")})
			slaveOnly := s.cluster.On(linktest.Route, func(c linktest.Call) *linktest.Answer {
				return &linktest.Answer{Value: &messages.TopicRoute{
					Topic:   c.Topic,
					Queues:  []*messages.QueueGroup{{Broker: "a", ReadQueues: 1, WriteQueues: 1, Perm: 6}},
					Brokers: []*messages.BrokerAddresses{{Broker: "a", Addresses: map[int64]string{1: linktest.SlaveAddress("a")}}},
				}}
			})
			s.pass(35 * time.Second)
			s.cluster.Fill(key, 10)
			s.pass(5 * time.Second)
			Expect(s.bodies()).To(HaveLen(20))
			for _, p := range s.calls(linktest.Pull, on(key), to(linktest.SlaveAddress("a"))) {
				Expect(p.Request.(*messages.PullRequest).GetCommit()).To(BeFalse())
			}
			s.cluster.SetOffset(group, key, 10) // what the master knew
			slaveOnly()
			s.cluster.Down(linktest.Address("a"), nil)
			s.pass(50 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(20)))
			Expect(s.bodies()).To(HaveLen(20))
			s.stop(time.Second)
		})
	})

	It("is answered whatever it asks", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 2, "a")
			s.start()
			s.cluster.Forget()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			changed := func(group string) *messages.BrokerCall {
				return &messages.BrokerCall{Code: 40, Question: &messages.BrokerCall_MembersChanged{
					MembersChanged: &messages.MembersChanged{Group: group},
				}}
			}
			Expect(s.cluster.Ask(ctx, changed(group))[0].GetCode()).To(BeZero())
			s.pass(100 * time.Millisecond)
			Expect(s.calls(linktest.Members)).NotTo(BeEmpty())
			Expect(s.cluster.Ask(ctx, changed("others"))[0].GetCode()).To(BeZero())
			unknown := s.cluster.Ask(ctx, &messages.BrokerCall{Code: 999, Address: "a"})[0]
			Expect(unknown.GetCode()).To(BeEquivalentTo(3))
			Expect(unknown.GetRemark()).To(ContainSubstring("999"))
			Expect(s.seen(messages.EventKind_EVENT_KIND_CALL_REFUSED)).To(HaveLen(1))
			s.stop(time.Second)
		})
	})
})

var _ = Describe("A retry topic", func() {
	It("that name servers learn of late is consumed as soon as they do, and nothing else waits for it (A35)", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 10)
			unknown := s.cluster.On(linktest.Route, linktest.For(about(actors.RetryTopic(group)),
				linktest.Always(linktest.Answer{Err: &messages.NoRouteError{Topic: actors.RetryTopic(group)}})))
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 3 && m.GetReconsumeTimes() == 0 {
					return errNot
				}
				return nil
			})
			s.start()
			Expect(s.bodies()).To(HaveLen(10))
			Expect(s.seen(messages.EventKind_EVENT_KIND_GROUP_READY)).To(HaveLen(1))
			Expect(s.seen(messages.EventKind_EVENT_KIND_ROUTE_MISSING)).To(BeEmpty(), "its absence is no news")
			s.pass(25 * time.Second)
			unknown()
			s.pass(31 * time.Second)
			Expect(s.bodies()).To(HaveLen(11))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			s.stop(time.Second)
		})
	})
})

var _ = Describe("A pull whose messages are out of order", func() {
	DescribeTable("is delivered as far as it belongs to the queue's stretch, each message once", func(order []int64, extra int) {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 10)
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(linktest.Answer{Value: &messages.PullReply{
				Status: messages.PullStatus_PULL_STATUS_FOUND, NextOffset: 5, Records: s.cluster.Records(key, order...),
			}})))
			s.start()
			s.pass(6 * time.Second)
			Expect(s.bodies()).To(ConsistOf("orders@a:0/0", "orders@a:0/1", "orders@a:0/2", "orders@a:0/3", "orders@a:0/4",
				"orders@a:0/5", "orders@a:0/6", "orders@a:0/7", "orders@a:0/8", "orders@a:0/9"))
			Expect(s.seen(messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT)).To(HaveLen(extra))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			s.stop(time.Second)
		})
	},
		Entry("in order", []int64{0, 1, 2, 3, 4}, 0),
		Entry("shuffled", []int64{3, 0, 4, 2, 1}, 0),
		Entry("one of them twice", []int64{0, 1, 2, 2, 3, 4}, 1),
		Entry("one beyond its end", []int64{0, 1, 2, 3, 4, 7}, 1),
	)

	It("begins where the group stands, if that is within an inner batch", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 6)
			s.cluster.SetOffset(group, key, 4)
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(linktest.Answer{Value: &messages.PullReply{
				Status: messages.PullStatus_PULL_STATUS_FOUND, NextOffset: 6, Records: s.cluster.Records(key, 3, 4, 5),
			}})))
			s.start()
			s.pass(6 * time.Second)
			Expect(s.bodies()).To(ConsistOf("orders@a:0/4", "orders@a:0/5"))
			Expect(s.seen(messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT)).To(BeEmpty())
			s.stop(time.Second)
		})
	})
})
