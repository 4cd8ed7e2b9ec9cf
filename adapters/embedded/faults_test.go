package embedded_test

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

var _ = Describe("scripted faults", func() {
	maxOffset := func(topic string, queue string) *wire.Command {
		return request(wire.GetMaxOffset, map[string]string{"topic": topic, "queueId": queue}, "")
	}
	It("answer the next requests of a kind with a code and a remark", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		b.Faults().Answer(2, wire.GetMaxOffset, wire.SystemBusy, "[PCBUSY_CLEAN_QUEUE]broker busy")
		for range 2 {
			answer := p.ask(maxOffset("Orders", "0"))
			Expect(code(answer)).To(Equal(wire.SystemBusy))
			Expect(answer.Remark).To(Equal("[PCBUSY_CLEAN_QUEUE]broker busy"))
			Expect(code(p.ask(request(wire.GetMinOffset, map[string]string{"topic": "Orders", "queueId": "0"}, "")))).To(Equal(wire.Success))
		}
		Expect(code(p.ask(maxOffset("Orders", "0")))).To(Equal(wire.Success))
		Expect(b.Faults().Seen(wire.GetMaxOffset)).To(Equal(int64(3)))
		Expect(b.Faults().Requests()).To(Equal(map[wire.RequestCode]int64{wire.GetMaxOffset: 3, wire.GetMinOffset: 2}))
	})
	It("can be narrowed to topic, group and queue, come later, and be taken back", func() {
		b := startBroker(embedded.Config{})
		Expect(b.Publish(texts("Orders", 0, "a")...)).To(Succeed())
		p := connect(b, "one")
		p.join("billing", sub{topic: "Orders", version: 1})
		queue := int32(1)
		remove := b.Faults().Add(embedded.Fault{Match: embedded.Match{Topic: "Orders", Queue: &queue}, Answer: wire.TopicNotExist})
		Expect(code(p.ask(maxOffset("Orders", "1")))).To(Equal(wire.TopicNotExist))
		Expect(code(p.ask(maxOffset("Orders", "0")))).To(Equal(wire.Success))
		Expect(code(p.ask(maxOffset("Other", "1")))).To(Equal(wire.Success))
		Expect(code(p.ask(send("Orders", 1, "x", "")))).To(Equal(wire.TopicNotExist))
		remove()
		remove()
		Expect(code(p.ask(maxOffset("Orders", "1")))).To(Equal(wire.Success))

		b.Faults().Add(embedded.Fault{Match: embedded.Match{Group: "billing"}, Skip: 1, Times: 1, Answer: wire.SystemError, Remark: "now"})
		Expect(code(p.ask(pull("billing", "Orders", 0, 0)))).To(Equal(wire.Success))
		Expect(code(p.ask(pull("billing", "Orders", 0, 0)))).To(Equal(wire.SystemError))
		Expect(code(p.ask(pull("billing", "Orders", 0, 0)))).To(Equal(wire.Success))
	})
	It("let requests wait before they are carried out", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			w.broker.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.SendMessageV2}, Times: 1, Delay: 2 * time.Second})
			answer := p.later(send("Orders", 0, "slow", ""))
			time.Sleep(1900 * time.Millisecond)
			Expect(w.broker.CountMessages("Orders")).To(BeZero())
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			Expect(answer).To(Receive(HaveField("Code", int32(wire.Success))))
			Expect(w.broker.CountMessages("Orders")).To(Equal(int64(1)))
		})
	})
	It("swallow requests without a word", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			w.broker.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.SendMessageV2}, Times: 1, Silent: true})
			err := p.try(send("Orders", 0, "lost", ""), 3*time.Second)
			Expect(errors.Is(err, context.DeadlineExceeded)).To(BeTrue(), "%v", err)
			Expect(w.seconds()).To(BeNumerically(">=", 3))
			Expect(w.broker.CountMessages("Orders")).To(BeZero())
		})
	})
	It("break the connection instead of carrying a request out", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			w.broker.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.SendMessageV2}, Times: 1, Drop: true})
			Expect(p.try(send("Orders", 0, "lost", ""), 3*time.Second)).NotTo(Succeed())
			Expect(w.seconds()).To(BeNumerically("<", 1))
			Expect(w.broker.CountMessages("Orders")).To(BeZero())
		})
	})
	It("lose the answer of a request that was carried out", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			w.broker.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.SendMessageV2}, Times: 1, LoseAnswer: true})
			Expect(p.try(send("Orders", 0, "kept", ""), 3*time.Second)).NotTo(Succeed())
			Expect(bodies(w.broker.MessagesIn("Orders"))).To(Equal([]string{"kept"}))
			time.Sleep(5 * time.Second)
			w.broker.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.PullMessage}, Times: 1, LoseAnswer: true})
			lost := p.later(pull("billing", "Orders", 0, 0, "sysFlag", "5", "subscription", "*", "commitOffset", "1"))
			Eventually(lost).Should(BeClosed())
			Expect(first(w.broker.Committed("billing", "Orders", 0))).To(Equal(int64(1)))
		})
	})
	It("break all connections at once", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, two := w.peer("one"), w.peer("two")
			one.join("billing", sub{topic: "Orders", version: 1})
			two.join("billing", sub{topic: "Orders", version: 1})
			Expect(w.broker.Connections()).To(Equal(2))
			Expect(w.broker.Faults().DropConnections()).To(Equal(2))
			synctest.Wait()
			Expect(w.broker.Connections()).To(BeZero())
			Expect(w.broker.Members("billing")).To(BeEmpty())
			Expect(one.lost).To(Receive())
			Expect(two.lost).To(Receive())
		})
	})
	It("refuse connections for a while", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			w.broker.Faults().Refuse(true)
			Expect(p.try(maxOffset("Orders", "0"), time.Second)).NotTo(Succeed())
			w.broker.Faults().Refuse(false)
			time.Sleep(10 * time.Second)
			Expect(code(p.ask(maxOffset("Orders", "0")))).To(Equal(wire.Success))
		})
	})
	It("are all gone when cleared", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		b.Faults().Add(embedded.Fault{Silent: true})
		b.Faults().Refuse(true)
		b.Faults().Clear()
		Expect(code(p.ask(maxOffset("Orders", "0")))).To(Equal(wire.Success))
	})
	It("work for name servers too", func() {
		b := startBroker(embedded.Config{})
		n, err := embedded.StartNameServer(context.Background(), embedded.NameServerConfig{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(n.Close)
		p := connect(b, "one")
		p.addr = n.Addr()
		n.Faults().Answer(1, wire.GetRouteInfoByTopic, wire.SystemError, "warming up")
		route := request(wire.GetRouteInfoByTopic, map[string]string{"topic": "Orders"}, "")
		Expect(p.ask(route).Remark).To(Equal("warming up"))
		Expect(code(p.ask(route))).To(Equal(wire.TopicNotExist))
		Expect(code(p.ask(request(wire.HeartBeat, nil, "")))).To(Equal(wire.RequestCodeNotSupported))
	})
})

var _ = Describe("waiting for events", func() {
	It("returns when what is awaited has happened", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		done := make(chan error, 5)
		go func() { done <- b.AwaitMembers(ctx, "billing", 1) }()
		go func() { done <- b.AwaitCommitted(ctx, "billing", "Orders", 0, 2) }()
		go func() { done <- b.AwaitRequests(ctx, wire.UpdateConsumerOffset, 1) }()
		go func() { done <- b.AwaitMessages(ctx, "Orders", 2) }()
		Expect(b.Publish(texts("Orders", 0, "a", "b")...)).To(Succeed())
		p.join("billing", sub{topic: "Orders", version: 1})
		p.oneWay(request(wire.UpdateConsumerOffset, map[string]string{"consumerGroup": "billing", "topic": "Orders", "queueId": "0", "commitOffset": "2"}, ""))
		for range 4 {
			Eventually(done, "10s").Should(Receive(BeNil()))
		}
		Expect(b.AwaitDrained(ctx, "billing", "Orders")).To(Succeed())
	})
	It("says what is missing when the time is over", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.Publish(texts("Orders", 0, "a", "b")...)).To(Succeed())
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			Expect(w.broker.AwaitDrained(ctx, "billing", "Orders")).To(MatchError(And(ContainSubstring("lag 2"), ContainSubstring("deadline"))))
			Expect(w.broker.AwaitMembers(ctx, "billing", 1)).To(MatchError(ContainSubstring("have 0")))
		})
	})
})
