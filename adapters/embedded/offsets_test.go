package embedded_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// Source: protocol.md 7.5, observed.md 8.
var _ = Describe("offsets", func() {
	number := func(answer *wire.Command, field string) int64 {
		GinkgoHelper()
		Expect(code(answer)).To(Equal(wire.Success), answer.Remark)
		n, err := answer.Ext.Int(field)
		Expect(err).NotTo(HaveOccurred())
		return n
	}
	query := func(p *peer, changes ...string) *wire.Command {
		GinkgoHelper()
		ext := map[string]string{"consumerGroup": "billing", "topic": "Orders", "queueId": "0", "bname": "broker-a"}
		change(ext, changes)
		return p.ask(request(wire.QueryConsumerOffset, ext, ""))
	}
	update := func(offset int64, changes ...string) *wire.Command {
		ext := map[string]string{"consumerGroup": "billing", "topic": "Orders", "queueId": "0", "commitOffset": fmt.Sprint(offset)}
		change(ext, changes)
		return request(wire.UpdateConsumerOffset, ext, "")
	}

	When("a group has none", func() {
		It("are 0 while the topic has its first message", func() {
			b := startBroker(embedded.Config{})
			p := connect(b, "one")
			Expect(b.Publish(texts("Orders", 0, "a", "b")...)).To(Succeed())
			Expect(number(query(p), "offset")).To(BeZero())
		})
		It("are unknown once it is gone, on an empty queue, or when the client does not want a guess", func() {
			b := startBroker(embedded.Config{})
			p := connect(b, "one")
			Expect(code(query(p))).To(Equal(wire.QueryNotFound))
			Expect(b.Publish(texts("Orders", 0, "a", "b")...)).To(Succeed())
			Expect(code(query(p, "setZeroIfNotFound", "false"))).To(Equal(wire.QueryNotFound))
			b.Trim("Orders", 0, 1)
			answer := query(p)
			Expect(code(answer)).To(Equal(wire.QueryNotFound))
			Expect(answer.Remark).To(Equal("Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"))
		})
		It("are unknown on young topics too, if so configured", func() {
			b := startBroker(embedded.Config{LastMeansLast: true})
			p := connect(b, "one")
			Expect(b.Publish(texts("Orders", 0, "a", "b")...)).To(Succeed())
			Expect(code(query(p))).To(Equal(wire.QueryNotFound))
		})
	})
	It("are what was committed last, be it less", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		Expect(b.CreateTopic("Orders", 1)).To(Succeed())
		p.join("billing", sub{topic: "Orders", version: 1})
		Expect(code(p.ask(update(5)))).To(Equal(wire.Success))
		Expect(number(query(p), "offset")).To(Equal(int64(5)))
		p.oneWay(update(3))
		Expect(number(query(p), "offset")).To(Equal(int64(3)))
	})
	It("are taken from a client that has just unregistered", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		Expect(b.CreateTopic("Orders", 1)).To(Succeed())
		p.join("billing", sub{topic: "Orders", version: 1})
		p.ask(request(wire.UnregisterClient, map[string]string{"clientID": "one", "consumerGroup": "billing"}, ""))
		Expect(code(p.ask(update(5)))).To(Equal(wire.Success))
		Expect(first(b.Committed("billing", "Orders", 0))).To(Equal(int64(5)))
	})
	It("are refused for unknown groups and topics, and without a value", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		answer := p.ask(update(5, "consumerGroup", "nobody"))
		Expect(code(answer)).To(Equal(wire.SubscriptionGroupNotExist))
		Expect(answer.Remark).To(Equal("Group nobody not exist!"))
		p.join("billing", sub{topic: "Orders", version: 1})
		Expect(code(p.ask(update(5)))).To(Equal(wire.TopicNotExist))
		Expect(b.CreateTopic("Orders", 1)).To(Succeed())
		Expect(code(p.ask(update(5, "commitOffset", "")))).To(Equal(wire.InvalidParameter))
	})
	It("stay as reset until the group's next pull has seen it", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		Expect(b.Publish(texts("Orders", 0, "a", "b", "c")...)).To(Succeed())
		p.join("billing", sub{topic: "Orders", version: 1})
		b.ResetOffset("billing", "Orders", 0, 1)
		Expect(code(p.ask(update(3)))).To(Equal(wire.Success))
		Expect(number(query(p), "offset")).To(Equal(int64(1)))
		Expect(p.ask(pull("billing", "Orders", 0, 3)).Remark).To(Equal("OFFSET_RESET"))
		Expect(number(query(p), "offset")).To(Equal(int64(1)))
		Expect(code(p.ask(update(2)))).To(Equal(wire.Success))
		Expect(number(query(p), "offset")).To(Equal(int64(2)))
	})
	It("reach from the first message to the next one", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		ask := func(kind wire.RequestCode, queue string) int64 {
			GinkgoHelper()
			return number(p.ask(request(kind, map[string]string{"topic": "Orders", "queueId": queue}, "")), "offset")
		}
		Expect(b.Publish(texts("Orders", 1, "a", "b", "c")...)).To(Succeed())
		b.Trim("Orders", 1, 2)
		Expect(ask(wire.GetMinOffset, "1")).To(Equal(int64(2)))
		Expect(ask(wire.GetMaxOffset, "1")).To(Equal(int64(3)))
		Expect(ask(wire.GetMinOffset, "0")).To(BeZero())
		Expect(ask(wire.GetMaxOffset, "0")).To(BeZero())
		Expect(ask(wire.GetMaxOffset, "77")).To(BeZero())
	})
	It("are found by the time of storing", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			start := time.Now().UnixMilli()
			for k := range 4 { // offsets 0..3 at 0, 10, 20, 30 s; 4 and 5 at 40 s
				Expect(w.broker.Publish(texts("Orders", 0, fmt.Sprint(k))...)).To(Succeed())
				time.Sleep(10 * time.Second)
			}
			Expect(w.broker.Publish(texts("Orders", 0, "4", "5")...)).To(Succeed())
			search := func(seconds int64, boundary, queue string) int64 {
				GinkgoHelper()
				ext := map[string]string{"topic": "Orders", "queueId": queue, "timestamp": fmt.Sprint(start + seconds*1000)}
				if boundary != "" {
					ext["boundaryType"] = boundary
				}
				return number(p.ask(request(wire.SearchOffsetByTimestamp, ext, "")), "offset")
			}
			for _, c := range []struct {
				seconds      int64
				lower, upper int64
			}{{-5, 0, 0}, {0, 0, 0}, {5, 1, 0}, {10, 1, 1}, {25, 3, 2}, {40, 4, 5}, {50, 6, 5}} {
				Expect(search(c.seconds, "", "0")).To(Equal(c.lower), fmt.Sprint(c))
				Expect(search(c.seconds, "LOWER", "0")).To(Equal(c.lower), fmt.Sprint(c))
				Expect(search(c.seconds, "lower", "0")).To(Equal(c.lower), fmt.Sprint(c))
				Expect(search(c.seconds, "UPPER", "0")).To(Equal(c.upper), fmt.Sprint(c))
				Expect(search(c.seconds, "upper", "0")).To(Equal(c.upper), fmt.Sprint(c))
			}
			Expect(search(0, "LOWER", "1")).To(BeZero())
			Expect(search(0, "UPPER", "1")).To(BeZero())

			earliest := func(queue string) int64 {
				GinkgoHelper()
				return number(p.ask(request(wire.GetEarliestMsgStoreTime, map[string]string{"topic": "Orders", "queueId": queue}, "")), "timestamp")
			}
			Expect(earliest("0")).To(Equal(start))
			w.broker.Trim("Orders", 0, 2)
			Expect(earliest("0")).To(Equal(start + 20_000))
			Expect(earliest("1")).To(Equal(int64(-1)))
		})
	})
	When("an administrator resets them", func() {
		reset := func(p *peer, changes ...string) *wire.Command {
			GinkgoHelper()
			ext := map[string]string{"group": "billing", "topic": "Orders", "timestamp": "0", "isForce": "true", "queueId": "-1", "offset": "-1"}
			change(ext, changes)
			return p.ask(request(wire.InvokeBrokerToResetOffset, ext, ""))
		}
		It("go to a time, to the end, or to an offset within the queue", func() {
			b := startBroker(embedded.Config{})
			p := connect(b, "one")
			Expect(b.CreateTopic("Orders", 2)).To(Succeed())
			Expect(b.Publish(texts("Orders", 0, "a", "b", "c")...)).To(Succeed())
			Expect(code(reset(p))).To(Equal(wire.SubscriptionGroupNotExist))
			b.Commit("billing", "Orders", 0, 2)
			Expect(code(reset(p, "topic", "Nothing"))).To(Equal(wire.TopicNotExist))
			Expect(string(reset(p).Body)).To(ContainSubstring(`{"brokerName":"broker-a","queueId":0,"topic":"Orders"}:0`))
			Expect(first(b.Committed("billing", "Orders", 0))).To(BeZero())
			Expect(code(reset(p, "timestamp", "-1"))).To(Equal(wire.Success))
			Expect(first(b.Committed("billing", "Orders", 0))).To(Equal(int64(3)))
			Expect(code(reset(p, "queueId", "0", "offset", "1"))).To(Equal(wire.Success))
			Expect(first(b.Committed("billing", "Orders", 0))).To(Equal(int64(1)))
			Expect(code(reset(p, "queueId", "0", "offset", "5"))).To(Equal(wire.SystemError))
		})
	})
})
