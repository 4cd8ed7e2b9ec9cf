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

func offsetsQuery(group, topic string) *messages.BrokerCall {
	return &messages.BrokerCall{Code: 221, Question: &messages.BrokerCall_OffsetsQuery{
		OffsetsQuery: &messages.OffsetsQuery{Group: group, Topic: topic},
	}}
}

func runningInfoQuery(group string, tree bool) *messages.BrokerCall {
	return &messages.BrokerCall{Code: 307, Question: &messages.BrokerCall_RunningInfoQuery{
		RunningInfoQuery: &messages.RunningInfoQuery{Group: group, Tree: tree},
	}}
}

var _ = Describe("What tools ask about a group", Label("A47"), func() {
	retry := actors.RetryTopic(group)

	It("is answered with the offsets of its queues, at once", func() {
		bubble(func() {
			s := newStage("orders", "payments")
			s.cluster.Topic("orders", 2, "a", "b")
			s.cluster.Topic("payments", 1, "a")
			s.cluster.Fill(linktest.Key("orders", "a", 1), 7)
			s.cluster.Fill(linktest.Key("orders", "b", 0), 3)
			s.start()
			at := s.cluster.Now()
			reply := s.ask(offsetsQuery(group, "orders"))
			Expect(s.cluster.Now() - at).To(BeNumerically("<=", time.Second))
			Expect(reply.GetCode()).To(BeZero())
			got := map[string]int64{}
			for _, o := range reply.GetOffsets().GetOffsets() {
				got[o.GetQueue().Text()] = o.GetOffset()
			}
			Expect(got).To(Equal(map[string]int64{"orders@a/0": 0, "orders@a/1": 7, "orders@b/0": 3, "orders@b/1": 0}))
			s.pass(time.Minute) // the retry topic is made at each broker by its own first heartbeat
			Expect(s.ask(offsetsQuery(group, retry)).GetOffsets().GetOffsets()).To(HaveLen(2))
			s.stop(time.Second)
		})
	})

	It("is answered with everything about it, with and without the tree", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 20)
			s.spec.Groups[0].Workers = 4
			held, release := s.block()
			s.handle(func(ctx context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 12 {
					return held(ctx, m)
				}
				return nil
			})
			begin := time.Now()
			s.start()
			at := s.cluster.Now()
			plain := s.ask(runningInfoQuery(group, false))
			Expect(s.cluster.Now() - at).To(BeNumerically("<=", time.Second))
			Expect(plain.GetCode()).To(BeZero())
			info := plain.GetRunningInfo()
			Expect(info.GetTree()).To(BeEmpty())
			Expect(info.GetGroup().GetGroup()).To(Equal(group))
			Expect(info.GetGroup().GetModel()).To(Equal(messages.MessageModel_MESSAGE_MODEL_CLUSTERING))
			topics := []string{}
			for _, sub := range info.GetGroup().GetSubscriptions() {
				topics = append(topics, sub.GetTopic())
			}
			Expect(topics).To(ConsistOf("orders", retry))
			Expect(info.GetStartedAt()).To(Equal(begin.UnixMilli()))
			Expect(info.GetWorkers()).To(BeEquivalentTo(4))
			Expect(info.GetNameServers()).To(Equal([]string{"names:9876"}))
			Expect(info.GetSettings()).To(HaveKeyWithValue("pullBatchSize", "32"))
			Expect(info.GetSettings()).To(HaveKeyWithValue("pullThresholdForQueue", "1000"))
			Expect(info.GetSettings()).To(HaveKeyWithValue("pullThresholdSizeForQueue", "100"))
			Expect(info.GetSettings()).To(HaveKeyWithValue("consumeThreadMax", "4"))
			Expect(info.GetSettings()).To(HaveKeyWithValue("allocateMessageQueueStrategy", "AVG"))
			var q *messages.QueueFacts
			for _, f := range info.GetQueues() {
				if f.GetQueue().Key() == key {
					q = f
				}
			}
			Expect(q.GetCommittedOffset()).To(Equal(int64(12)))
			Expect(q.GetNextOffset()).To(Equal(int64(20)))
			Expect(q.GetCachedMessages()).To(BeNumerically(">", 0))
			Expect(q.GetLastConsumedAt()).To(BeNumerically(">=", begin.UnixMilli()))
			Expect(q.GetLastPullAt()).To(BeNumerically(">=", begin.UnixMilli()))

			tree := s.ask(runningInfoQuery(group, true)).GetRunningInfo().GetTree()
			Expect(tree).To(HavePrefix("me at "))
			Expect(tree).To(ContainSubstring("orders@a:0 [AssignedQueue] running"))
			Expect(tree).To(ContainSubstring("group " + group + ": running"))
			release()
			s.stop(time.Second)
		})
	})

	It("is answered with the speed of the last minute", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders", "payments")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Topic("payments", 1, "a")
			s.handle(func(_ context.Context, m *messages.Message) error {
				time.Sleep(20 * time.Millisecond)
				if m.GetQueueOffset()%10 == 9 && m.GetReconsumeTimes() == 0 {
					return errors.New("one in ten fails")
				}
				return nil
			})
			s.start()
			s.cluster.On(linktest.Pull, linktest.For(on(key), func(c linktest.Call) *linktest.Answer {
				return &linktest.Answer{Delay: 5 * time.Millisecond}
			}))
			rates := func(topic string) *messages.TopicRates {
				for _, r := range s.ask(runningInfoQuery(group, false)).GetRunningInfo().GetRates() {
					if r.GetTopic() == topic {
						return r
					}
				}
				return nil
			}
			for range 120 {
				s.cluster.Fill(key, 10)
				s.pass(time.Second)
			}
			r := rates("orders")
			Expect(r.GetPulledPerSecond()).To(BeNumerically("~", 10, 1))
			Expect(r.GetSucceededPerSecond()).To(BeNumerically("~", 9, 1))
			Expect(r.GetFailedPerSecond()).To(BeNumerically("~", 1, 0.1))
			Expect(r.GetFailedLastHour()).To(Equal(int64(120)))
			Expect(r.GetConsumeMillis()).To(BeNumerically("~", 20, 0.1))
			Expect(r.GetPullMillis()).To(And(BeNumerically(">", 0), BeNumerically("<=", 1000)))
			Expect(rates(retry).GetSucceededPerSecond()).To(BeNumerically("~", 1, 0.2))
			idle := rates("payments")
			Expect(idle.GetSucceededPerSecond()).To(BeZero())
			Expect(idle.GetConsumeMillis()).To(BeZero())
			s.pass(2 * time.Minute)
			r = rates("orders")
			Expect(r.GetPulledPerSecond()).To(BeZero())
			Expect(r.GetSucceededPerSecond()).To(BeZero())
			Expect(r.GetConsumeMillis()).To(BeZero())
			Expect(r.GetFailedLastHour()).To(Equal(int64(120)))
			s.stop(time.Second)
		})
	})

	It("counts no success for what a filter left out", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			sub := s.spec.Groups[0].Subscriptions[0].Subscription
			sub.Expression, sub.Tags = "paid", []string{"paid"}
			s.cluster.Fill(key, 60)
			s.start()
			info := s.ask(runningInfoQuery(group, false)).GetRunningInfo()
			Expect(info.GetRates()[0].GetTopic()).To(Equal("orders"))
			Expect(info.GetRates()[0].GetPulledPerSecond()).To(BeNumerically(">", 0))
			Expect(info.GetRates()[0].GetSucceededPerSecond()).To(BeZero())
			s.stop(time.Second)
		})
	})

	DescribeTable("is refused for what is not here", func(call *messages.BrokerCall, remark string) {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.start()
			reply := s.ask(call)
			Expect(reply.GetCode()).To(BeEquivalentTo(1))
			Expect(reply.GetRemark()).To(ContainSubstring(remark))
			Expect(reply.GetAnswer()).To(BeNil())
			s.stop(time.Second)
		})
	},
		Entry("offsets of another group", offsetsQuery("others", "orders"), "the consumer group <others> does not exist"),
		Entry("offsets of another topic", offsetsQuery(group, "payments"), "does not subscribe to topic payments"),
		Entry("another group", runningInfoQuery("others", true), "the consumer group <others> does not exist"),
	)
})
