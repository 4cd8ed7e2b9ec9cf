package rocketmq_test

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("What a broker asks", func() {
	golden := loadGolden()

	// ask lets the broker send a request over the connection of a heartbeat. It gives what the client was asked, and what the
	// broker got for reply.
	ask := func(request *wire.Command, reply *messages.BrokerCallReply) (call *messages.BrokerCall, answer *wire.Command) {
		GinkgoHelper()
		inVirtualTime(func() {
			s := newStage()
			sessions := make(chan *remoting.Session, 1)
			s.serve(brokerAddress, func(x *remoting.Session, _ *wire.Command) *wire.Command {
				sessions <- x
				return wire.NewResponse(wire.Success, "")
			})
			asked := make(chan *messages.BrokerCall, 1)
			link := s.open(func(_ *rocketmq.Cluster, cfg *actors.LinkConfig) {
				cfg.Calls = func(_ context.Context, call *messages.BrokerCall) *messages.BrokerCallReply {
					asked <- call
					return reply
				}
			})
			Expect(link.Heartbeat(ctx, brokerAddress, &messages.Heartbeat{})).To(Succeed())
			broker := <-sessions
			if request.IsOneWay() {
				Expect(broker.Send(request)).To(Succeed())
			} else {
				var err error
				answer, err = broker.Request(ctx, request)
				Expect(err).NotTo(HaveOccurred())
			}
			call = <-asked
			Expect(call.GetAddress()).To(Equal(brokerAddress))
			Expect(call.GetOneWay()).To(Equal(request.IsOneWay()))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
		return call, answer
	}
	captured := func(file string) (*wire.Command, *goldenFrame) {
		GinkgoHelper()
		g := golden[file]
		Expect(g).NotTo(BeNil(), file)
		return g.decoded(), g
	}

	It("is a change of members", func() {
		request, g := captured("5.3.3/049-NOTIFY_CONSUMER_IDS_CHANGED-request-push-oneway-from-broker.bin")
		call, _ := ask(request, nil)
		Expect(call.GetMembersChanged().GetGroup()).To(Equal(g.ExtFields["consumerGroup"]))
	})

	Describe("that offsets be reset", Label("A07"), func() {
		offsets := func(reset *messages.ResetOffsets) map[string]int64 {
			out := map[string]int64{}
			for _, to := range reset.GetOffsets() {
				out[to.GetQueue().Text()] = to.GetOffset()
			}
			return out
		}

		DescribeTable("comes as Java's broker writes it", func(file string) {
			request, _ := captured(file)
			call, _ := ask(request, nil)
			reset := call.GetResetOffsets()
			Expect(reset.GetGroup()).To(Equal("GoldPush"))
			Expect(reset.GetTopic()).To(Equal("GoldTopic"))
			Expect(offsets(reset)).To(Equal(map[string]int64{
				"GoldTopic@broker-a/0": 0, "GoldTopic@broker-a/1": 0, "GoldTopic@broker-a/2": 0, "GoldTopic@broker-a/3": 0,
			}))
		},
			Entry("5.3.3", "5.3.3/352-RESET_CONSUMER_CLIENT_OFFSET-request-push-oneway-from-broker.bin"),
			Entry("5.5.0", "5.5.0/167-RESET_CONSUMER_CLIENT_OFFSET-request-push-oneway-from-broker.bin"),
		)

		request := func(body string) *wire.Command {
			cmd := wire.NewRequest(wire.ResetConsumerClientOffset)
			for k, v := range map[string]string{"group": "g", "topic": "orders", "timestamp": "1", "isForce": "true"} {
				cmd.Ext.Set(k, v)
			}
			cmd.Body = []byte(body)
			return cmd
		}

		DescribeTable("comes in other forms, too", func(body string) {
			call, _ := ask(request(body), &messages.BrokerCallReply{})
			Expect(offsets(call.GetResetOffsets())).To(Equal(map[string]int64{"orders@a/1": 2000, "orders@a/2": 9000000000}))
		},
			Entry("with queues as raw keys", `{"offsetTable":{{"brokerName":"a","queueId":1,"topic":"orders"}:2000,{"topic":"orders","brokerName":"a","queueId":2}:9000000000}}`),
			Entry("with queues as text keys", `{"offsetTable":{"{\"brokerName\":\"a\",\"queueId\":1,\"topic\":\"orders\"}":2000,"{\"brokerName\":\"a\",\"queueId\":2,\"topic\":\"orders\"}":9000000000}}`),
			Entry("as the list for C++ clients", `{"offsetTable":[{"topic":"orders","brokerName":"a","queueId":1,"offset":2000},{"offset":9000000000,"topic":"orders","brokerName":"a","queueId":2}]}`),
		)

		DescribeTable("is refused if it cannot be read", func(body string) {
			call, answer := ask(request(body), &messages.BrokerCallReply{Code: 1, Remark: "refused"})
			Expect(call.GetMalformed()).To(HavePrefix("RESET_CONSUMER_CLIENT_OFFSET: "))
			Expect(answer.Code).To(BeEquivalentTo(1))
		},
			Entry("no body", ""),
			Entry("no JSON", "offsets"),
			Entry("cut", `{"offsetTable":{{"brokerName":"a","queueId":1,`),
			Entry("a queue without a position", `{"offsetTable":{{"brokerName":"a","queueId":1,"topic":"orders"}:"x"}}`),
			Entry("positions without queues", `{"offsetTable":{"7":7}}`),
		)

		It("is refused without a group", func() {
			call, _ := ask(wire.NewRequest(wire.ResetConsumerClientOffset), &messages.BrokerCallReply{Code: 1})
			Expect(call.GetMalformed()).To(ContainSubstring("topic"))
		})
	})

	It("is where the group stands, which is told as Java does", Label("A47"), func() {
		request, g := captured("5.3.3/385-GET_CONSUMER_STATUS_FROM_CLIENT-request-push-from-broker.bin")
		_, java := captured("5.3.3/386-GET_CONSUMER_STATUS_FROM_CLIENT-response-push-from-broker-SUCCESS.bin")
		want, err := wire.DecodeConsumerStatus([]byte(java.BodyText))
		Expect(err).NotTo(HaveOccurred())
		Expect(want.Queues).NotTo(BeEmpty())
		reply := &messages.OffsetsReply{}
		for q, offset := range want.Queues {
			reply.Offsets = append(reply.Offsets, &messages.QueueOffset{Queue: q.Key().Queue(), Offset: offset})
		}
		call, answer := ask(request, &messages.BrokerCallReply{Answer: &messages.BrokerCallReply_Offsets{Offsets: reply}})
		Expect(call.GetOffsetsQuery().GetGroup()).To(Equal(g.ExtFields["group"]))
		Expect(call.GetOffsetsQuery().GetTopic()).To(Equal(g.ExtFields["topic"]))
		Expect(answer.Code).To(BeZero())
		got, err := wire.DecodeConsumerStatus(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Queues).To(Equal(want.Queues))
	})

	DescribeTable("is everything about a group, which is told as Java does", Label("A47"), func(ask307, answer307 string, orderly bool) {
		request, g := captured(ask307)
		_, java := captured(answer307)
		want, err := wire.DecodeRunningInfo([]byte(java.BodyText))
		Expect(err).NotTo(HaveOccurred())
		info := &messages.RunningInfo{
			Group: &messages.GroupData{
				Group: g.ExtFields["consumerGroup"], Model: messages.MessageModel_MESSAGE_MODEL_CLUSTERING,
				ConsumeFrom: messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET,
			},
			Orderly: orderly, Workers: 4, StartedAt: 1796076213643, NameServers: []string{"127.0.0.1:19876"},
			Settings: map[string]string{"pullBatchSize": "32"}, Tree: "the tree",
		}
		for _, sub := range want.Subscriptions {
			info.Group.Subscriptions = append(info.Group.Subscriptions, &messages.Subscription{
				Topic: sub.Topic, Expression: sub.SubString, Tags: sub.Tags, Version: sub.SubVersion, Kind: messages.FilterKind_FILTER_KIND_TAG,
			})
		}
		for q, p := range want.Queues {
			info.Queues = append(info.Queues, &messages.QueueFacts{
				Queue: q.Key().Queue(), Phase: "running", CommittedOffset: p.CommitOffset, NextOffset: p.CommitOffset,
				LastPullAt: p.LastPull, LastConsumedAt: p.LastConsume, Locked: orderly,
			})
			p.LastLock = 0 // when it was locked is not told
			want.Queues[q] = p
		}
		for topic, r := range want.Status {
			info.Rates = append(info.Rates, &messages.TopicRates{
				Topic: topic, PulledPerSecond: r.PullTPS, PullMillis: r.PullRT, ConsumeMillis: r.ConsumeRT,
				SucceededPerSecond: r.ConsumeOKTPS, FailedPerSecond: r.ConsumeFailedTPS, FailedLastHour: r.ConsumeFailed,
			})
		}
		call, answer := ask(request, &messages.BrokerCallReply{Answer: &messages.BrokerCallReply_RunningInfo{RunningInfo: info}})
		Expect(call.GetRunningInfoQuery().GetGroup()).To(Equal(g.ExtFields["consumerGroup"]))
		Expect(call.GetRunningInfoQuery().GetTree()).To(BeFalse())
		Expect(string(answer.Body)).To(ContainSubstring(`{{"brokerName":"broker-a","queueId":0,`), "keys are written as Java does: the tools of 5.5 read no other")
		got, err := wire.DecodeRunningInfo(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Queues).To(Equal(want.Queues))
		Expect(got.Status).To(Equal(want.Status))
		Expect(got.Subscriptions).To(ConsistOf(want.Subscriptions))
		Expect(got.Stack).To(Equal("the tree"))
		Expect(got.Properties).To(HaveKeyWithValue("PROP_CONSUMER_START_TIMESTAMP", "1796076213643"))
		Expect(got.Properties).To(HaveKeyWithValue("language", "GO"))
		for _, name := range []string{
			"PROP_CONSUME_TYPE", "PROP_CONSUMEORDERLY", "PROP_THREADPOOL_CORE_SIZE", "messageModel", "consumeFromWhere", "pullBatchSize",
		} {
			Expect(got.Properties).To(HaveKeyWithValue(name, want.Properties[name]), name)
		}
		Expect(maps.Keys(got.Properties)).To(ContainElements("PROP_NAMESERVER_ADDR", "PROP_CLIENT_VERSION", "namesrvAddr"))
	},
		Entry("of a concurrent one", "5.3.3/306-GET_CONSUMER_RUNNING_INFO-request-push-from-broker.bin",
			"5.3.3/307-GET_CONSUMER_RUNNING_INFO-response-push-from-broker-SUCCESS.bin", false),
		Entry("of an orderly one", "5.3.3/310-GET_CONSUMER_RUNNING_INFO-request-orderly-from-broker.bin",
			"5.3.3/311-GET_CONSUMER_RUNNING_INFO-response-orderly-from-broker-SUCCESS.bin", true),
		Entry("of a concurrent one, by 5.5.0", "5.5.0/137-GET_CONSUMER_RUNNING_INFO-request-push-from-broker.bin",
			"5.5.0/138-GET_CONSUMER_RUNNING_INFO-response-push-from-broker-SUCCESS.bin", false),
	)

	It("may be for the tree, too", func() {
		cmd := wire.NewRequest(wire.GetConsumerRunningInfo)
		(&wire.RunningInfoHeader{Group: "g", ClientID: "c", JStack: true}).AppendTo(&cmd.Ext)
		call, _ := ask(cmd, &messages.BrokerCallReply{})
		Expect(call.GetRunningInfoQuery().GetTree()).To(BeTrue())
	})

	DescribeTable("is that a message be consumed directly", Label("A47"),
		func(result *messages.DirectResult, want wire.ConsumeDirectlyResult) {
			request, g := captured("5.3.3/322-CONSUME_MESSAGE_DIRECTLY-request-push-from-broker.bin")
			call, answer := ask(request, &messages.BrokerCallReply{Answer: &messages.BrokerCallReply_DirectResult{DirectResult: result}})
			got := call.GetConsumeDirectly()
			Expect(got.GetGroup()).To(Equal(g.ExtFields["consumerGroup"]))
			Expect(got.GetMessage().GetTopic()).To(Equal(g.ExtFields["topic"]))
			Expect(got.GetMessage().OffsetID()).To(Equal(g.ExtFields["msgId"]))
			Expect(got.GetMessage().GetBroker()).To(Equal(g.ExtFields["brokerName"]))
			Expect(got.GetMessage().GetBody()).NotTo(BeEmpty())
			read, err := wire.DecodeConsumeDirectlyResult(answer.Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(*read).To(Equal(want))
		},
		Entry("with success", &messages.DirectResult{Verdict: messages.DirectVerdict_DIRECT_VERDICT_SUCCESS, SpentMillis: 2},
			wire.ConsumeDirectlyResult{Result: "CR_SUCCESS", AutoCommit: true, SpentMillis: 2}),
		Entry("again later", &messages.DirectResult{Verdict: messages.DirectVerdict_DIRECT_VERDICT_LATER, Remark: "no stock", Orderly: true},
			wire.ConsumeDirectlyResult{Result: "CR_LATER", AutoCommit: true, Remark: "no stock", Order: true}),
		Entry("with a panic", &messages.DirectResult{Verdict: messages.DirectVerdict_DIRECT_VERDICT_PANICKED, Remark: "handler panicked"},
			wire.ConsumeDirectlyResult{Result: "CR_THROW_EXCEPTION", AutoCommit: true, Remark: "handler panicked"}),
	)

	It("is refused if the message cannot be read", func() {
		request, _ := captured("5.3.3/322-CONSUME_MESSAGE_DIRECTLY-request-push-from-broker.bin")
		whole := request.Body
		for _, body := range [][]byte{nil, whole[:len(whole)-9], append(append([]byte(nil), whole...), whole...)} {
			request.Body = body
			call, answer := ask(request, &messages.BrokerCallReply{Code: 1})
			Expect(call).To(PointTo(MatchFields(IgnoreExtras, Fields{"Question": BeAssignableToTypeOf(&messages.BrokerCall_Malformed{})})))
			Expect(answer.Code).To(BeEquivalentTo(1))
		}
	})

	It("is refused if it is not served, so that the broker does not wait", func() {
		call, answer := ask(wire.NewRequest(wire.CheckTransactionState), nil)
		Expect(call.GetCode()).To(BeEquivalentTo(39))
		Expect(answer.Code).To(BeEquivalentTo(3))
		Expect(answer.Remark).To(Equal(" request type 39 not supported"))
	})
})
