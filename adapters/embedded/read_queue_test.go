package embedded_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// The table of protocol.md 7.3, row by row.
var _ = Describe("what a pull finds", func() {
	var (
		b *embedded.Broker
		p *peer
	)
	BeforeEach(func() {
		b = startBroker(embedded.Config{})
		Expect(b.CreateTopic("Orders", 2)).To(Succeed())
		p = connect(b, "client-1")
		p.join("billing", sub{topic: "Orders", version: 1})
	})

	type outcome struct {
		code     wire.ResponseCode
		remark   string
		next     int64
		min, max int64
	}
	expect := func(answer *wire.Command, o outcome) {
		GinkgoHelper()
		Expect(code(answer)).To(Equal(o.code))
		Expect(answer.Remark).To(Equal(o.remark))
		Expect(fields(answer)).To(Equal(map[string]string{
			"nextBeginOffset": fmt.Sprint(o.next), "minOffset": fmt.Sprint(o.min), "maxOffset": fmt.Sprint(o.max),
			"suggestWhichBrokerId": "0", "topicSysFlag": "0", "groupSysFlag": "0",
		}))
	}

	When("the queue has never had a message", func() {
		It("says that there is nothing at offset 0", func() {
			expect(p.ask(pull("billing", "Orders", 0, 0)), outcome{wire.PullNotFound, "NO_MESSAGE_IN_QUEUE", 0, 0, 0})
		})
		It("moves any other offset to 0", func() {
			expect(p.ask(pull("billing", "Orders", 0, 7)), outcome{wire.PullOffsetMoved, "NO_MESSAGE_IN_QUEUE", 0, 0, 0})
		})
	})

	When("the queue has messages from 3 to 5, the first ones being trimmed", func() {
		BeforeEach(func() {
			Expect(b.Publish(texts("Orders", 0, "a", "b", "c", "d", "e", "f")...)).To(Succeed())
			b.Trim("Orders", 0, 3)
		})
		It("moves an offset before the first up to it", func() {
			expect(p.ask(pull("billing", "Orders", 0, 2)), outcome{wire.PullOffsetMoved, "OFFSET_TOO_SMALL", 3, 3, 6})
			expect(p.ask(pull("billing", "Orders", 0, -1)), outcome{wire.PullOffsetMoved, "OFFSET_TOO_SMALL", 3, 3, 6})
		})
		It("has nothing yet at the end", func() {
			expect(p.ask(pull("billing", "Orders", 0, 6)), outcome{wire.PullNotFound, "OFFSET_OVERFLOW_ONE", 6, 3, 6})
		})
		It("moves an offset beyond the end back to it", func() {
			expect(p.ask(pull("billing", "Orders", 0, 1000)), outcome{wire.PullOffsetMoved, "OFFSET_OVERFLOW_BADLY", 6, 3, 6})
		})
		It("delivers from an offset in between", func() {
			answer := p.ask(pull("billing", "Orders", 0, 4))
			expect(answer, outcome{wire.Success, "FOUND", 6, 3, 6})
			list := received(answer)
			Expect(bodies(list)).To(Equal([]string{"e", "f"}))
			Expect(list[0].GetQueueOffset()).To(Equal(int64(4)))
			Expect(list[0].GetTopic()).To(Equal("Orders"))
		})
		It("answers an administrator's reset once, whatever was asked", func() {
			b.ResetOffset("billing", "Orders", 0, 5)
			expect(p.ask(pull("billing", "Orders", 0, 6)), outcome{wire.PullOffsetMoved, "OFFSET_RESET", 5, 3, 6})
			expect(p.ask(pull("billing", "Orders", 0, 6)), outcome{wire.PullNotFound, "OFFSET_OVERFLOW_ONE", 6, 3, 6})
		})
	})

	When("the log no longer has what the queue points to", func() {
		It("passes over it", func() {
			Expect(b.Publish(texts("Orders", 0, "lost", "lost too")...)).To(Succeed())
			Expect(b.Publish(texts("Orders", 1, strings.Repeat("x", 2<<20))...)).To(Succeed())
			Expect(b.Publish(texts("Orders", 0, "kept")...)).To(Succeed())
			b.LoseLog(2 << 20)
			expect(p.ask(pull("billing", "Orders", 0, 0, "maxMsgNums", "2")), outcome{wire.PullRetryImmediately, "MESSAGE_WAS_REMOVING", 2, 0, 3})
			answer := p.ask(pull("billing", "Orders", 0, 0))
			expect(answer, outcome{wire.Success, "FOUND", 3, 0, 3})
			Expect(bodies(received(answer))).To(Equal([]string{"kept"}))
		})
	})

	When("the subscription selects tags", func() {
		publish := func(tag string, n int) {
			GinkgoHelper()
			list := make([]*messages.Message, n)
			for k := range list {
				list[k] = texts("Orders", 0, fmt.Sprintf("%s-%d", tag, k))[0].WithTag(tag)
			}
			Expect(b.Publish(list...)).To(Succeed())
		}
		BeforeEach(func() { p.join("billing", sub{topic: "Orders", tags: []string{"paid", "sent"}, version: 2}) })

		It("delivers those alone and moves past the others", func() {
			publish("paid", 1)
			publish("open", 2)
			publish("sent", 1)
			publish("open", 1)
			answer := p.ask(pull("billing", "Orders", 0, 0))
			expect(answer, outcome{wire.Success, "FOUND", 5, 0, 5})
			Expect(bodies(received(answer))).To(Equal([]string{"paid-0", "sent-0"}))
		})
		It("says that nothing matched, and where to go on", func() {
			publish("open", 4)
			expect(p.ask(pull("billing", "Orders", 0, 1)), outcome{wire.PullRetryImmediately, "NO_MATCHED_MESSAGE", 4, 0, 4})
		})
		It("looks at no more than 800 entries at a time", func() {
			publish("open", 1000)
			expect(p.ask(pull("billing", "Orders", 0, 0)), outcome{wire.PullRetryImmediately, "NO_MATCHED_MESSAGE", 800, 0, 1000})
			expect(p.ask(pull("billing", "Orders", 0, 800)), outcome{wire.PullRetryImmediately, "NO_MATCHED_MESSAGE", 1000, 0, 1000})
		})
		It("prefers the expression that the pull carries", func() {
			publish("paid", 1)
			publish("open", 1)
			answer := p.ask(pull("billing", "Orders", 0, 0, "sysFlag", "4", "subscription", "open || none"))
			Expect(bodies(received(answer))).To(Equal([]string{"open-0"}))
		})
	})

	When("there is more than one answer takes", func() {
		It("delivers what is asked for, at most 32", func() {
			Expect(b.Publish(texts("Orders", 0, strings.Split(strings.Repeat("m", 40), "")...)...)).To(Succeed())
			answer := p.ask(pull("billing", "Orders", 0, 0, "maxMsgNums", "5"))
			Expect(received(answer)).To(HaveLen(5))
			expect(answer, outcome{wire.Success, "FOUND", 5, 0, 40})
			answer = p.ask(pull("billing", "Orders", 0, 0, "maxMsgNums", "1024"))
			Expect(received(answer)).To(HaveLen(32))
			expect(answer, outcome{wire.Success, "FOUND", 32, 0, 40})
		})
		It("stays within 262,144 bytes but for a single larger message", func() {
			big, small := strings.Repeat("x", 300_000), strings.Repeat("y", 100_000)
			Expect(b.Publish(texts("Orders", 0, big, small, small, small)...)).To(Succeed())
			answer := p.ask(pull("billing", "Orders", 0, 0))
			Expect(received(answer)).To(HaveLen(1))
			expect(answer, outcome{wire.Success, "FOUND", 1, 0, 4})
			answer = p.ask(pull("billing", "Orders", 0, 1))
			Expect(received(answer)).To(HaveLen(2))
			expect(answer, outcome{wire.Success, "FOUND", 3, 0, 4})
		})
		It("brings messages of one queue together that lie apart in the log", func() {
			for k := range 5 {
				Expect(b.Publish(texts("Orders", 0, fmt.Sprint("zero-", k))...)).To(Succeed())
				Expect(b.Publish(texts("Orders", 1, fmt.Sprint("one-", k))...)).To(Succeed())
			}
			Expect(bodies(received(p.ask(pull("billing", "Orders", 1, 1))))).To(Equal([]string{"one-1", "one-2", "one-3", "one-4"}))
		})
	})
})
