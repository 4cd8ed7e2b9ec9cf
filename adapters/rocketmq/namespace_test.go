package rocketmq_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// inNamespace opens a link in a namespace.
func inNamespace(name string) func(*rocketmq.Cluster, *actors.LinkConfig) {
	return func(c *rocketmq.Cluster, _ *actors.LinkConfig) { c.Namespace = name }
}

var _ = Describe("A namespace", Label("A44"), func() {
	DescribeTable("names topics on the wire as Java's NamespaceUtil does", func(name, onWire string) {
		inVirtualTime(func() {
			s := newStage()
			asked := make(chan string, 1)
			s.serve(nameServer, func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
				asked <- cmd.Ext.Text("topic")
				return wire.NewResponse(wire.TopicNotExist, "")
			})
			link := s.open(inNamespace("N"))
			_, err := link.Route(ctx, name)
			Expect(err).To(Equal(&messages.NoRouteError{Topic: name}), "the program's own name")
			Expect(<-asked).To(Equal(onWire))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	},
		// Made by running org.apache.rocketmq.remoting.protocol.NamespaceUtil of 5.3.3 for the namespace N.
		Entry(nil, "orders", "N%orders"),
		Entry(nil, "N%orders", "N%orders"),
		Entry(nil, "%RETRY%billing", "%RETRY%N%billing"),
		Entry(nil, "%DLQ%billing", "%DLQ%N%billing"),
		Entry(nil, "%RETRY%N%billing", "%RETRY%N%billing"),
		Entry(nil, "%DLQ%N%billing", "%DLQ%N%billing"),
		Entry(nil, "M%orders", "N%M%orders"),
		Entry(nil, "%RETRY%M%g", "%RETRY%N%M%g"),
		Entry(nil, "N", "N%N"),
		Entry(nil, "Nx%orders", "N%Nx%orders"),
		Entry(nil, "N%a%b", "N%a%b"),
		Entry(nil, "%RETRY%CID_RMQ_SYS_x", "%RETRY%N%CID_RMQ_SYS_x"),
		Entry(nil, "DefaultCluster_REPLY_TOPIC", "N%DefaultCluster_REPLY_TOPIC"),
		Entry(nil, "TBW102", "TBW102"),
		Entry(nil, "RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRACE_TOPIC"),
		Entry(nil, "SCHEDULE_TOPIC_XXXX", "SCHEDULE_TOPIC_XXXX"),
		Entry(nil, "BenchmarkTest", "BenchmarkTest"),
		Entry(nil, "SELF_TEST_TOPIC", "SELF_TEST_TOPIC"),
		Entry(nil, "rmq_sys_x", "rmq_sys_x"),
	)

	frames := loadGolden()
	for file, g := range frames {
		text, err := json.Marshal(g)
		if err != nil {
			panic(err)
		}
		if !strings.Contains(string(text), "INST_1%") || !strings.HasPrefix(g.Direction, "client->") {
			continue
		}
		for _, given := range []string{"plain names", "names that are prefixed already"} {
			It("is on the wire what Java's is, for "+given+": "+file, func() {
				inVirtualTime(func() {
					request, answer := g.decoded(), frames[g.PairedWith]
					ask := *g
					if given == "plain names" {
						strip := strings.NewReplacer("INST_1%", "")
						ask.BodyText = strip.Replace(g.BodyText)
						ask.ExtFields = maps.Clone(g.ExtFields)
						for k, v := range ask.ExtFields {
							ask.ExtFields[k] = strip.Replace(v)
						}
					}
					if i := ask.ExtFields["i"]; i != "" {
						ask.ExtFields["i"] = strings.Replace(i, "INSTANCE_ID\x01INST_1\x02", "", 1)
					}
					s := newStage()
					got := make(chan *wire.Command, 1)
					handle := func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
						got <- cmd
						if answer == nil {
							return nil
						}
						return answer.decoded()
					}
					s.serve(nameServer, handle)
					s.serve(brokerAddress, handle)
					link := s.open(inNamespace("INST_1"), func(_ *rocketmq.Cluster, cfg *actors.LinkConfig) {
						if id := g.ExtFields["clientID"]; id != "" {
							cfg.ClientID = id
						}
					})
					result, err := asked(link, &ask, request)
					synctest.Wait()
					ours := <-got
					Expect(maps.Collect(ours.Ext.All())).To(Equal(expectedFields(loadGolden()[file])))
					if g.Code == int32(wire.HeartBeat) {
						Expect(ours.Body).To(MatchJSON(g.BodyText))
					} else {
						Expect(ours.Body).To(Equal(request.Body))
					}
					switch r := result.(type) {
					case *messages.TopicRoute:
						if err == nil {
							Expect(r.GetTopic()).To(Equal(ask.ExtFields["topic"]))
						}
					case *messages.SendReceipt:
						Expect(r.GetQueue().GetTopic()).To(Equal(ask.ExtFields["b"]))
					case *messages.PullReply:
						slab, corrupt := link.Decode(r, &messages.Queue{Topic: ask.ExtFields["topic"], Broker: "broker-a"}, ask.ExtFields["consumerGroup"])
						Expect(corrupt).To(BeEmpty())
						Expect(slab).To(HaveLen(1))
						Expect(slab[0].GetTopic()).To(Equal(ask.ExtFields["topic"]))
					}
					Expect(link.Close()).To(Succeed())
					s.stop()
				})
			})
		}
	}

	It("is in every request but those about system topics, and nowhere in what comes back", func() {
		inVirtualTime(func() {
			s := newStage()
			var seen []string
			s.serve(brokerAddress, func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
				seen = append(seen, cmd.Ext.Text("topic")+cmd.Ext.Text("b")+string(cmd.Body))
				answer := wire.NewResponse(wire.Success, "")
				switch wire.RequestCode(cmd.Code) {
				case wire.LockBatchMQ:
					answer.Body = []byte(`{"lockOKMQSet":[{"topic":"N%orders","brokerName":"broker-a","queueId":3}]}`)
				case wire.SendMessageV2:
					answer.Ext.Set("msgId", "x")
					answer.Ext.SetInt("queueId", 3)
					answer.Ext.SetInt("queueOffset", 0)
				case wire.GetMinOffset:
					return wire.NewResponse(wire.SystemError, "no")
				default:
					answer.Ext.SetInt("offset", 7)
				}
				return answer
			})
			link := s.open(inNamespace("N"))
			granted, err := link.Lock(ctx, brokerAddress, "billing", []*messages.Queue{queue})
			Expect(err).NotTo(HaveOccurred())
			Expect(granted).To(HaveExactElements(HaveField("Topic", "orders")))
			Expect(link.Unlock(ctx, brokerAddress, "billing", "c", []*messages.Queue{queue})).To(Succeed())
			_, err = link.MaxOffset(ctx, brokerAddress, queue)
			Expect(err).NotTo(HaveOccurred())
			_, err = link.MinOffset(ctx, brokerAddress, queue)
			var refused *messages.BrokerError
			Expect(err).To(BeAssignableToTypeOf(refused))
			Expect(err).To(MatchError(And(ContainSubstring("orders@broker-a/3"), Not(ContainSubstring("N%")))))
			_, err = link.Send(ctx, &messages.SendRequest{
				Address: brokerAddress, ProducerGroup: "p", Queue: &messages.Queue{Topic: "RMQ_SYS_TRACE_TOPIC", Broker: "broker-a"}, Body: []byte("trace"),
			})
			Expect(err).NotTo(HaveOccurred())
			Expect(seen).To(Equal([]string{
				`{"clientId":"10.0.0.9@7#1","consumerGroup":"N%billing","mqSet":[{"brokerName":"broker-a","queueId":3,"topic":"N%orders"}],"onlyThisBroker":false}`,
				`{"clientId":"c","consumerGroup":"N%billing","mqSet":[{"brokerName":"broker-a","queueId":3,"topic":"N%orders"}],"onlyThisBroker":false}`,
				"N%orders", "N%orders", "RMQ_SYS_TRACE_TOPICtrace",
			}))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is in the topic that a message of a retry topic came from, on the way out and not on the way in", func() {
		inVirtualTime(func() {
			s := newStage()
			sent := make(chan *wire.Command, 1)
			s.serve(brokerAddress, func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
				sent <- cmd
				answer := wire.NewResponse(wire.Success, "")
				answer.Ext.Set("msgId", "x")
				answer.Ext.SetInt("queueId", 0)
				answer.Ext.SetInt("queueOffset", 0)
				return answer
			})
			link := s.open(inNamespace("N"))
			_, err := link.Send(ctx, &messages.SendRequest{
				Address: brokerAddress, ProducerGroup: "billing", Queue: &messages.Queue{Topic: "%RETRY%billing", Broker: "broker-a"},
				Properties: []byte("RETRY_TOPIC\x01orders\x02TAGS\x01a\x02"),
			})
			Expect(err).NotTo(HaveOccurred())
			cmd := <-sent
			Expect(cmd.Ext.Text("b")).To(Equal("%RETRY%N%billing"))
			Expect(cmd.Ext.Text("i")).To(Equal("RETRY_TOPIC\x01N%orders\x02TAGS\x01a\x02INSTANCE_ID\x01N\x02"))

			record, err := wire.AppendMessage(nil, &messages.Message{
				Topic: "%RETRY%N%billing", RawProperties: []byte(cmd.Ext.Text("i")), Body: []byte("x"),
				BornHost: []byte{10, 0, 0, 1, 0, 0, 0, 1}, StoreHost: []byte{10, 0, 0, 1, 0, 0, 0, 1},
			})
			Expect(err).NotTo(HaveOccurred())
			slab, corrupt := link.Decode(&messages.PullReply{Records: record}, &messages.Queue{Topic: "%RETRY%billing", Broker: "broker-a"}, "billing")
			Expect(corrupt).To(BeEmpty())
			Expect(slab[0].GetTopic()).To(Equal("orders"))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is not in what brokers ask the program, and in what it answers them", func() {
		inVirtualTime(func() {
			s := newStage()
			opened := make(chan *remoting.Session, 1)
			s.serve(brokerAddress, func(x *remoting.Session, _ *wire.Command) *wire.Command {
				opened <- x
				return wire.NewResponse(wire.Success, "")
			})
			var calls []*messages.BrokerCall
			link := s.open(inNamespace("N"), func(_ *rocketmq.Cluster, cfg *actors.LinkConfig) {
				cfg.Calls = func(_ context.Context, call *messages.BrokerCall) *messages.BrokerCallReply {
					calls = append(calls, call)
					if call.GetRunningInfoQuery() == nil {
						return nil
					}
					return &messages.BrokerCallReply{Answer: &messages.BrokerCallReply_RunningInfo{RunningInfo: &messages.RunningInfo{
						Group:  &messages.GroupData{Group: "billing", Subscriptions: []*messages.Subscription{{Topic: "orders"}, {Topic: "%RETRY%billing"}}},
						Queues: []*messages.QueueFacts{{Queue: queue}}, Rates: []*messages.TopicRates{{Topic: "orders"}},
					}}}
				}
			})
			Expect(link.Heartbeat(ctx, brokerAddress, &messages.Heartbeat{})).To(Succeed())
			session := <-opened
			reset := wire.NewRequest(wire.ResetConsumerClientOffset)
			reset.Ext.Set("group", "N%billing")
			reset.Ext.Set("topic", "N%orders")
			reset.Ext.SetInt("timestamp", 0)
			reset.Ext.SetBool("isForce", true)
			reset.Body = []byte(`{"offsetTable":{{"brokerName":"broker-a","queueId":3,"topic":"N%orders"}:9}}`)
			_, err := session.Request(ctx, reset)
			Expect(err).NotTo(HaveOccurred())
			info := wire.NewRequest(wire.GetConsumerRunningInfo)
			info.Ext.Set("consumerGroup", "N%billing")
			info.Ext.Set("clientId", "c")
			answer, err := session.Request(ctx, info)
			Expect(err).NotTo(HaveOccurred())
			Expect(calls).To(HaveLen(2))
			Expect(calls[0].GetResetOffsets().GetGroup()).To(Equal("billing"))
			Expect(calls[0].GetResetOffsets().GetTopic()).To(Equal("orders"))
			Expect(calls[0].GetResetOffsets().GetOffsets()).To(HaveExactElements(HaveField("Queue.Topic", "orders")))
			Expect(calls[1].GetRunningInfoQuery().GetGroup()).To(Equal("billing"))
			for _, text := range []string{`"topic":"N%orders"`, `"topic":"%RETRY%N%billing"`, `"N%orders":{`} {
				Expect(string(answer.Body)).To(ContainSubstring(text))
			}
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})
})
