package embedded_test

import (
	"context"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// Source: protocol.md 7.1, observed.md 1 and 6.
var _ = Describe("the members of a group", func() {
	notified := func(p *peer, group string) {
		GinkgoHelper()
		var cmd *wire.Command
		Eventually(p.pushed).Should(Receive(&cmd))
		Expect(cmd.Code).To(Equal(int32(wire.NotifyConsumerIDsChanged)))
		Expect(cmd.IsOneWay()).To(BeTrue())
		Expect(fields(cmd)).To(Equal(map[string]string{"consumerGroup": group}))
	}
	quiet := func(ps ...*peer) {
		GinkgoHelper()
		synctest.Wait()
		for _, p := range ps {
			Expect(p.pushed).NotTo(Receive())
		}
	}
	orders := sub{topic: "Orders", version: 1}

	It("hear of each other, the newcomer of itself", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, two := w.peer("one"), w.peer("two")
			one.join("billing", orders)
			notified(one, "billing")
			two.join("billing", orders)
			notified(two, "billing")
			notified(one, "billing")
			quiet(one, two)
			Expect(w.broker.Members("billing")).To(Equal([]string{"one", "two"}))
		})
	})
	It("hear nothing of a heartbeat that changes nothing", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one := w.peer("one")
			one.join("billing", orders)
			notified(one, "billing")
			one.join("billing", orders)
			one.join("billing", sub{topic: "Orders", tags: []string{"paid"}, version: 2})
			quiet(one)
		})
	})
	It("hear of topics that come and go", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one := w.peer("one")
			one.join("billing", orders)
			notified(one, "billing")
			one.join("billing", orders, sub{topic: "Refunds", version: 1})
			notified(one, "billing")
			one.join("billing", orders)
			notified(one, "billing")
			quiet(one)
			Expect(w.broker.CreateTopic("Refunds", 1)).To(Succeed())
			Expect(code(one.ask(pull("billing", "Refunds", 0, 0)))).To(Equal(wire.SubscriptionNotExist))
		})
	})
	It("find their retry topic made when the heartbeat is answered", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one := w.peer("one")
			one.join("billing", orders)
			answer := one.ask(request(wire.GetRouteInfoByTopic, map[string]string{"topic": "%RETRY%billing"}, ""))
			route, err := wire.DecodeTopicRouteData(answer.Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(route.Queues).To(Equal([]wire.QueueData{{Broker: "broker-a", ReadQueues: 1, WriteQueues: 1, Perm: 6}}))
		})
	})
	It("share the subscription of the last heartbeat, unless it is older", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			Expect(w.broker.Publish(texts("Orders", 0, "p")[0].WithTag("paid"), texts("Orders", 0, "o")[0].WithTag("open"))).To(Succeed())
			one, two := w.peer("one"), w.peer("two")
			one.join("billing", sub{topic: "Orders", tags: []string{"paid"}, version: 10})
			two.join("billing", sub{topic: "Orders", tags: []string{"open"}, version: 9})
			Expect(bodies(received(one.ask(pull("billing", "Orders", 0, 0))))).To(Equal([]string{"p"}))
			two.join("billing", sub{topic: "Orders", tags: []string{"open"}, version: 11})
			Expect(bodies(received(one.ask(pull("billing", "Orders", 0, 0))))).To(Equal([]string{"o"}))
		})
	})
	It("are told when one unregisters", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, two := w.peer("one"), w.peer("two")
			one.join("billing", orders)
			two.join("billing", orders)
			synctest.Wait()
			drain(one, two)
			Expect(code(two.ask(request(wire.UnregisterClient, map[string]string{"clientID": "two", "consumerGroup": "billing"}, "")))).To(Equal(wire.Success))
			notified(one, "billing")
			quiet(one, two)
			Expect(w.broker.Members("billing")).To(Equal([]string{"one"}))
		})
	})
	It("are told when a connection breaks", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, two := w.peer("one"), w.peer("two")
			one.join("billing", orders)
			two.join("billing", orders)
			synctest.Wait()
			drain(one, two)
			two.client.Disconnect(brokerAddr, context.Canceled)
			notified(one, "billing")
			Expect(w.broker.Members("billing")).To(Equal([]string{"one"}))
		})
	})
	It("are dropped after 120 s without a heartbeat, though the connection lives", func() {
		inWorld(embedded.Config{}, func(w *world) {
			silent, lively := w.peer("silent"), w.peer("lively")
			silent.join("billing", orders)
			lively.join("billing", orders)
			for range 12 {
				time.Sleep(10 * time.Second)
				lively.join("billing", orders)
				silent.ask(request(wire.GetMaxOffset, map[string]string{"topic": "Orders", "queueId": "0"}, ""))
				Expect(w.broker.Members("billing")).To(HaveLen(2))
			}
			synctest.Wait()
			drain(silent, lively)
			time.Sleep(11 * time.Second)
			synctest.Wait()
			Expect(w.broker.Members("billing")).To(Equal([]string{"lively"}))
			notified(lively, "billing")
			Expect(silent.lost).To(Receive())
		})
	})
	It("keep their place when they come again on a new connection", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, again := w.peer("one"), w.peer("one")
			one.join("billing", orders)
			again.join("billing", orders)
			Expect(w.broker.Members("billing")).To(Equal([]string{"one", "one"}))
			one.client.Disconnect(brokerAddr, context.Canceled)
			synctest.Wait()
			Expect(w.broker.Members("billing")).To(Equal([]string{"one"}))
		})
	})
	It("may send their subscriptions only when they change, told apart by a fingerprint", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			one := w.peer("one")
			beat := func(fingerprint, without string, subs ...sub) string {
				GinkgoHelper()
				body := heartbeat("one", "billing", "CLUSTERING", subs...)
				body = strings.Replace(body, `"heartbeatFingerprint":0`, `"heartbeatFingerprint":`+fingerprint, 1)
				body = strings.Replace(body, `"withoutSub":false`, `"withoutSub":`+without, 1)
				return one.ask(request(wire.HeartBeat, nil, body)).Ext.Text("IS_SUB_CHANGE")
			}
			Expect(beat("0", "false", orders)).To(Equal("true"))
			Expect(beat("7", "false", orders)).To(Equal("false"))
			Expect(beat("7", "true")).To(Equal("false"))
			Expect(code(one.ask(pull("billing", "Orders", 0, 0)))).To(Equal(wire.PullNotFound))
			Expect(beat("8", "true")).To(Equal("true"))
			Expect(beat("8", "false", orders)).To(Equal("false"))
		})
	})
	It("are left alone when they broadcast", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one := w.peer("one")
			one.ask(request(wire.HeartBeat, nil, heartbeat("one", "loud", "BROADCASTING", orders)))
			quiet(one)
		})
	})
	It("are unknown when nobody came", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one := w.peer("one")
			answer := one.ask(request(wire.GetConsumerListByGroup, map[string]string{"consumerGroup": "billing"}, ""))
			Expect(code(answer)).To(Equal(wire.SystemError))
			Expect(answer.Remark).To(Equal("no consumer for this group, billing"))
		})
	})
	It("are not registered in a group that must not be made", func() {
		inWorld(embedded.Config{NoGroupCreation: true}, func(w *world) {
			one := w.peer("one")
			Expect(code(one.join("billing", orders))).To(Equal(wire.Success))
			Expect(w.broker.Members("billing")).To(BeEmpty())
		})
	})
})

// drain forgets what peers were told so far.
func drain(ps ...*peer) {
	for _, p := range ps {
		for len(p.pushed) > 0 {
			<-p.pushed
		}
	}
}
