package embedded_test

import (
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// Source of the times: protocol.md 7.4, observed.md 2.
var _ = Describe("a pull that waits", func() {
	suspended := func(group, topic string, queue int, offset int64, changes ...string) *wire.Command {
		return pull(group, topic, queue, offset, append([]string{"sysFlag", "2"}, changes...)...)
	}
	inOrders := func(body func(w *world, p *peer)) {
		GinkgoHelper()
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 2)).To(Succeed())
			p := w.peer("client-1")
			p.join("billing", sub{topic: "Orders", version: 1})
			body(w, p)
		})
	}

	It("is answered at the first sweep after its time is over", func() {
		inOrders(func(w *world, p *peer) {
			// Sweeps come every 5 s from the broker's start: asked at 1 s, 15 s are over at 16 s, the sweep comes at 20 s.
			time.Sleep(time.Second)
			answer := p.ask(suspended("billing", "Orders", 0, 0))
			Expect(code(answer)).To(Equal(wire.PullNotFound))
			Expect(answer.Remark).To(Equal("NO_MESSAGE_IN_QUEUE"))
			Expect(answer.Ext.Int("nextBeginOffset")).To(Equal(int64(0)))
			Expect(w.seconds()).To(BeNumerically("~", 20, 0.001))
		})
	})
	It("is answered after 15 s when that is when the sweep comes", func() {
		inOrders(func(w *world, p *peer) {
			Expect(w.broker.Publish(texts("Orders", 0, "a")...)).To(Succeed())
			answer := p.ask(suspended("billing", "Orders", 0, 1))
			Expect(code(answer)).To(Equal(wire.PullNotFound))
			Expect(answer.Remark).To(Equal("OFFSET_OVERFLOW_ONE"))
			Expect(answer.Ext.Int("nextBeginOffset")).To(Equal(int64(1)))
			Expect(w.seconds()).To(BeNumerically("~", 15, 0.001))
		})
	})
	It("is answered at once when it does not want to wait", func() {
		inOrders(func(w *world, p *peer) {
			Expect(code(p.ask(pull("billing", "Orders", 0, 0)))).To(Equal(wire.PullNotFound))
			Expect(w.seconds()).To(BeZero())
		})
	})
	It("wakes when a message arrives", func() {
		inOrders(func(w *world, p *peer) {
			answer := p.later(suspended("billing", "Orders", 0, 0))
			other := p.later(suspended("billing", "Orders", 1, 0))
			time.Sleep(3 * time.Second)
			Expect(w.broker.HeldPulls("Orders", 0)).To(Equal(1))
			Expect(code(p.ask(send("Orders", 0, "hello", "")))).To(Equal(wire.Success))
			var got *wire.Command
			Eventually(answer).Should(Receive(&got))
			Expect(bodies(received(got))).To(Equal([]string{"hello"}))
			Expect(w.seconds()).To(BeNumerically("~", 3, 0.1))
			Expect(other).NotTo(Receive())
			Expect(w.broker.HeldPulls("Orders", 0)).To(BeZero())
			Expect(w.broker.HeldPulls("Orders", 1)).To(Equal(1))
		})
	})
	It("sleeps on when a message arrives that it did not subscribe, and moves past it at the next sweep", func() {
		inOrders(func(w *world, p *peer) {
			p.join("billing", sub{topic: "Orders", tags: []string{"paid"}, version: 2})
			answer := p.later(suspended("billing", "Orders", 0, 0))
			time.Sleep(time.Second)
			Expect(w.broker.Publish(texts("Orders", 0, "x")[0].WithTag("open"))).To(Succeed())
			synctest.Wait()
			Expect(answer).NotTo(Receive())
			time.Sleep(4100 * time.Millisecond)
			synctest.Wait()
			var got *wire.Command
			Expect(answer).To(Receive(&got))
			Expect(code(got)).To(Equal(wire.PullRetryImmediately))
			Expect(got.Ext.Int("nextBeginOffset")).To(Equal(int64(1)))
		})
	})
	It("wakes for the first tag that it did subscribe", func() {
		inOrders(func(w *world, p *peer) {
			p.join("billing", sub{topic: "Orders", tags: []string{"paid"}, version: 2})
			answer := p.later(suspended("billing", "Orders", 0, 0))
			time.Sleep(time.Second)
			Expect(w.broker.Publish(texts("Orders", 0, "x")[0].WithTag("open"), texts("Orders", 0, "y")[0].WithTag("paid"))).To(Succeed())
			synctest.Wait()
			var got *wire.Command
			Expect(answer).To(Receive(&got))
			Expect(bodies(received(got))).To(Equal([]string{"y"}))
		})
	})
	It("commits before it waits, and only then", func() {
		inOrders(func(w *world, p *peer) {
			Expect(w.broker.Publish(texts("Orders", 0, "a", "b", "c")...)).To(Succeed())
			answer := p.later(suspended("billing", "Orders", 0, 3, "sysFlag", "3", "commitOffset", "2"))
			synctest.Wait()
			Expect(answer).NotTo(Receive())
			offset, ok := w.broker.Committed("billing", "Orders", 0)
			Expect(ok).To(BeTrue())
			Expect(offset).To(Equal(int64(2)))
			w.broker.Commit("billing", "Orders", 0, 3)
			Expect(w.broker.Publish(texts("Orders", 0, "d")...)).To(Succeed())
			synctest.Wait()
			Expect(answer).To(Receive())
			offset, _ = w.broker.Committed("billing", "Orders", 0)
			Expect(offset).To(Equal(int64(3)))
		})
	})
	It("stores what a pull commits also when that is less, and nothing without the flag", func() {
		inOrders(func(w *world, p *peer) {
			w.broker.Commit("billing", "Orders", 0, 9)
			p.ask(pull("billing", "Orders", 0, 0, "sysFlag", "0", "commitOffset", "4"))
			Expect(first(w.broker.Committed("billing", "Orders", 0))).To(Equal(int64(9)))
			p.ask(pull("billing", "Orders", 0, 0, "sysFlag", "1", "commitOffset", "-1"))
			Expect(first(w.broker.Committed("billing", "Orders", 0))).To(Equal(int64(9)))
			p.ask(pull("billing", "Orders", 0, 0, "sysFlag", "1", "commitOffset", "4"))
			Expect(first(w.broker.Committed("billing", "Orders", 0))).To(Equal(int64(4)))
		})
	})
	It("is not woken by an administrator's reset, and answers it when its time is over", func() {
		inOrders(func(w *world, p *peer) {
			Expect(w.broker.Publish(texts("Orders", 0, "a")...)).To(Succeed())
			answer := p.later(suspended("billing", "Orders", 0, 1))
			time.Sleep(time.Second)
			w.broker.ResetOffset("billing", "Orders", 0, 0)
			time.Sleep(13 * time.Second)
			Expect(answer).NotTo(Receive())
			time.Sleep(time.Second)
			synctest.Wait()
			var got *wire.Command
			Expect(answer).To(Receive(&got))
			Expect(code(got)).To(Equal(wire.PullOffsetMoved))
			Expect(got.Remark).To(Equal("OFFSET_RESET"))
			Expect(got.Ext.Int("nextBeginOffset")).To(Equal(int64(0)))
		})
	})
	It("is checked again when it wakes", func() {
		inOrders(func(w *world, p *peer) {
			answer := p.later(suspended("billing", "Orders", 0, 0))
			synctest.Wait()
			p.ask(request(wire.UnregisterClient, map[string]string{"clientID": "client-1", "consumerGroup": "billing"}, ""))
			Expect(w.broker.Publish(texts("Orders", 0, "a")...)).To(Succeed())
			synctest.Wait()
			var got *wire.Command
			Expect(answer).To(Receive(&got))
			Expect(code(got)).To(Equal(wire.SubscriptionNotExist))
		})
	})
	It("is forgotten with its connection", func() {
		inOrders(func(w *world, p *peer) {
			p.later(suspended("billing", "Orders", 0, 0))
			synctest.Wait()
			Expect(w.broker.HeldPulls("Orders", 0)).To(Equal(1))
			w.network.Cut(brokerAddr)
			synctest.Wait()
			Expect(w.broker.HeldPulls("Orders", 0)).To(BeZero())
		})
	})
})

// first gives the first of two results.
func first[A, B any](a A, _ B) A { return a }
