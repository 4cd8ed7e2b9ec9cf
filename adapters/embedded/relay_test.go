package embedded_test

import (
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// next gives the next request of a kind that the broker made of a client.
func (p *peer) next(kind wire.RequestCode) *wire.Command {
	GinkgoHelper()
	for {
		var cmd *wire.Command
		Eventually(p.pushed).Should(Receive(&cmd))
		if cmd.Code == int32(kind) {
			return cmd
		}
	}
}

var _ = Describe("what a tool wants of a client", Label("A47"), func() {
	// prepare makes two members of a group and a tool.
	prepare := func(w *world) (one, two, tool *peer) {
		Expect(w.broker.CreateTopic("Orders", 2)).To(Succeed())
		Expect(w.broker.Publish(texts("Orders", 1, "a", "b")...)).To(Succeed())
		one, two, tool = w.peer("one"), w.peer("two"), w.peer("tool")
		one.join("billing", sub{topic: "Orders", version: 1})
		two.join("billing", sub{topic: "Orders", version: 1})
		return one, two, tool
	}
	info := func(client string) *wire.Command {
		return request(wire.GetConsumerRunningInfo, map[string]string{"consumerGroup": "billing", "clientId": client, "jstackEnable": "true"}, "")
	}

	It("reaches the client that is named, and its answer comes back as it is", func() {
		inWorld(embedded.Config{}, func(w *world) {
			_, two, tool := prepare(w)
			two.answers(func(*wire.Command) *wire.Command {
				answer := wire.NewResponse(wire.Success, "a remark")
				answer.Body = []byte(`{"jstack":"the tree"}`)
				return answer
			})
			answer := tool.ask(info("two"))
			Expect(code(answer)).To(Equal(wire.Success))
			Expect(answer.Remark).To(Equal("a remark"))
			Expect(string(answer.Body)).To(Equal(`{"jstack":"the tree"}`))
			Expect(fields(two.next(wire.GetConsumerRunningInfo))).To(Equal(map[string]string{
				"consumerGroup": "billing", "clientId": "two", "jstackEnable": "true",
			}))
		})
	})

	It("is refused while the client is not there, and when it says nothing for ten seconds", func() {
		inWorld(embedded.Config{}, func(w *world) {
			_, _, tool := prepare(w)
			answer := tool.ask(info("three"))
			Expect(code(answer)).To(Equal(wire.SystemError))
			Expect(answer.Remark).To(Equal("The Consumer <billing> <three> not online"))
			at := time.Now()
			answer = tool.ask(info("two"))
			Expect(time.Since(at)).To(BeNumerically("~", 10*time.Second, time.Second))
			Expect(code(answer)).To(Equal(wire.ConsumeMsgTimeout))
		})
	})

	It("leaves the tool's connection free meanwhile", func() {
		inWorld(embedded.Config{}, func(w *world) {
			_, _, tool := prepare(w)
			slow := tool.later(info("two"))
			Expect(code(tool.ask(request(wire.GetConsumerConnectionList, map[string]string{"consumerGroup": "billing"}, "")))).To(Equal(wire.Success))
			Expect(slow).NotTo(Receive())
			time.Sleep(11 * time.Second)
			synctest.Wait()
			Expect(slow).To(Receive())
		})
	})

	It("carries the message that shall be consumed", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, _, tool := prepare(w)
			one.answers(func(*wire.Command) *wire.Command {
				answer := wire.NewResponse(wire.Success, "")
				answer.Body = (&wire.ConsumeDirectlyResult{Result: wire.ConsumeSuccess, AutoCommit: true}).Encode()
				return answer
			})
			stored := received(tool.ask(pull("billing", "Orders", 1, 0)))
			id := stored[1].OffsetID()
			direct := func(id string) *wire.Command {
				return tool.ask(request(wire.ConsumeMessageDirectly, map[string]string{
					"consumerGroup": "billing", "clientId": "one", "msgId": id, "topic": "Orders",
				}, ""))
			}
			result, err := wire.DecodeConsumeDirectlyResult(direct(id).Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(result.Result).To(Equal("CR_SUCCESS"))
			asked := one.next(wire.ConsumeMessageDirectly)
			Expect(asked.Ext.Text("brokerName")).To(Equal("broker-a"))
			Expect(asked.Ext.Text("msgId")).To(Equal(id))
			carried := received(asked)
			Expect(bodies(carried)).To(Equal([]string{"b"}))
			Expect(carried[0].GetQueueOffset()).To(Equal(int64(1)))
			for _, wrong := range []string{"", "orders", "0A000001000000000000000000FFFFFF", "zz000001000000000000000000FFFFzz"} {
				Expect(code(direct(wrong))).To(Equal(wire.SystemError), wrong)
			}
		})
	})

	It("is where each client stands", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, two, tool := prepare(w)
			stands := func(queue int32, at int64) func(*wire.Command) *wire.Command {
				return func(cmd *wire.Command) *wire.Command {
					answer := wire.NewResponse(wire.Success, "")
					answer.Body = (&wire.ConsumerStatus{Queues: map[wire.MessageQueue]int64{
						{Topic: cmd.Ext.Text("topic"), Broker: "broker-a", QueueID: queue}: at,
					}}).EncodeRaw()
					return answer
				}
			}
			one.answers(stands(0, 5))
			two.answers(stands(1, 7))
			status := func(group, client string) *wire.Command {
				return tool.ask(request(wire.InvokeBrokerToGetConsumerStatus, map[string]string{"topic": "Orders", "group": group, "clientAddr": client}, ""))
			}
			at := func(queue int32, offset int64) map[wire.MessageQueue]int64 {
				return map[wire.MessageQueue]int64{{Topic: "Orders", Broker: "broker-a", QueueID: queue}: offset}
			}
			body, err := wire.DecodeConsumerStatus(status("billing", "").Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(body.Clients).To(Equal(map[string]map[wire.MessageQueue]int64{"one": at(0, 5), "two": at(1, 7)}))
			body, err = wire.DecodeConsumerStatus(status("billing", "two").Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(body.Clients).To(Equal(map[string]map[wire.MessageQueue]int64{"two": at(1, 7)}))
			Expect(code(status("others", ""))).To(Equal(wire.ConsumerNotOnline))
		})
	})
})

var _ = Describe("a reset that the members carry out", Label("A07"), func() {
	reset := func(tool *peer, changes ...string) *wire.Command {
		ext := map[string]string{"group": "billing", "topic": "Orders", "timestamp": "0", "isForce": "true", "queueId": "-1", "offset": "-1"}
		change(ext, changes)
		return request(wire.InvokeBrokerToResetOffset, ext, "")
	}
	offsets := func(body []byte) map[int32]int64 {
		GinkgoHelper()
		table, err := wire.DecodeResetOffset(body)
		Expect(err).NotTo(HaveOccurred())
		out := map[int32]int64{}
		for q, o := range table.Offsets {
			Expect(q.Topic).To(Equal("Orders"))
			out[q.QueueID] = o
		}
		return out
	}

	It("is told to all of them; what is stored stays until they store something else", func() {
		inWorld(embedded.Config{ClientSideReset: true}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 2)).To(Succeed())
			Expect(w.broker.Publish(texts("Orders", 1, "a", "b", "c")...)).To(Succeed())
			tool, one, two := w.peer("tool"), w.peer("one"), w.peer("two")
			one.join("billing", sub{topic: "Orders", version: 1})
			Expect(code(tool.ask(reset(tool)))).To(Equal(wire.SystemError), "no offset is stored yet")
			w.broker.Commit("billing", "Orders", 0, 0)
			w.broker.Commit("billing", "Orders", 1, 2)
			two.join("billing", sub{topic: "Orders", version: 1})
			answer := tool.ask(reset(tool))
			Expect(code(answer)).To(Equal(wire.Success))
			Expect(offsets(answer.Body)).To(Equal(map[int32]int64{0: 0, 1: 0}))
			for _, p := range []*peer{one, two} {
				push := p.next(wire.ResetConsumerClientOffset)
				Expect(push.IsOneWay()).To(BeTrue())
				Expect(fields(push)).To(Equal(map[string]string{
					"group": "billing", "topic": "Orders", "timestamp": "0", "isForce": "false", "queueId": "-1",
				}))
				Expect(offsets(push.Body)).To(Equal(map[int32]int64{0: 0, 1: 0}))
			}
			Expect(first(w.broker.Committed("billing", "Orders", 1))).To(Equal(int64(2)))
		})
	})

	It("goes back only, unless it is forced", func() {
		inWorld(embedded.Config{ClientSideReset: true}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			Expect(w.broker.Publish(texts("Orders", 0, "a", "b", "c")...)).To(Succeed())
			tool, one := w.peer("tool"), w.peer("one")
			one.join("billing", sub{topic: "Orders", version: 1})
			w.broker.Commit("billing", "Orders", 0, 1)
			Expect(offsets(tool.ask(reset(tool, "timestamp", "-1", "isForce", "false")).Body)).To(Equal(map[int32]int64{0: 1}))
			Expect(offsets(tool.ask(reset(tool, "timestamp", "-1")).Body)).To(Equal(map[int32]int64{0: 3}))
		})
	})

	It("comes as a list if a C++ tool asks", func() {
		inWorld(embedded.Config{ClientSideReset: true}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			tool, one := w.peer("tool"), w.peer("one")
			one.join("billing", sub{topic: "Orders", version: 1})
			w.broker.Commit("billing", "Orders", 0, 1)
			cmd := reset(tool)
			cmd.Language = wire.Cpp
			tool.ask(cmd)
			Expect(string(one.next(wire.ResetConsumerClientOffset).Body)).To(
				Equal(`{"offsetTable":[{"brokerName":"broker-a","queueId":0,"topic":"Orders","offset":0}]}`))
		})
	})

	It("is refused without members", func() {
		inWorld(embedded.Config{ClientSideReset: true}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			w.broker.Commit("billing", "Orders", 0, 1)
			tool := w.peer("tool")
			Expect(code(tool.ask(reset(tool)))).To(Equal(wire.ConsumerNotOnline))
		})
	})
})
