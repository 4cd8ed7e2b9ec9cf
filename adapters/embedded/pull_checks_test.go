package embedded_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// The checks of protocol.md 7.2 and their order: each case breaks one rule and every later one that it can.
var _ = Describe("what a broker checks before it pulls", func() {
	const faq = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
	var (
		b *embedded.Broker
		p *peer
	)
	setUp := func(cfg embedded.Config) {
		b = startBroker(cfg)
		Expect(b.CreateTopic("Orders", 4)).To(Succeed())
		p = connect(b, "client-1")
	}
	refused := func(cmd *wire.Command, want wire.ResponseCode, remark string, kind string) {
		GinkgoHelper()
		answer := p.ask(cmd)
		Expect(code(answer)).To(Equal(want), answer.Remark)
		Expect(answer.Remark).To(ContainSubstring(remark))
		forbidden, ok := answer.Ext.Get("forbiddenType")
		Expect(ok).To(Equal(kind != ""))
		Expect(forbidden).To(Equal(kind))
	}

	It("refuses everything while the broker must not be read", func() {
		setUp(embedded.Config{NoGroupCreation: true})
		b.SetPermission(false, true)
		refused(pull("nobody", "Nothing", 99, 0), wire.NoPermission, "the broker["+b.Addr()+"] pulling message is forbidden", "1")
	})
	It("refuses lite pulls that are switched off", func() {
		setUp(embedded.Config{NoLitePull: true, NoGroupCreation: true})
		refused(request(wire.LitePullMessage, pullFields("nobody", "Nothing", 99, 0), ""), wire.NoPermission, "lite pull consumer is forbidden", "1")
	})
	It("knows lite pulls otherwise", func() {
		setUp(embedded.Config{})
		Expect(b.Publish(texts("Orders", 0, "a")...)).To(Succeed())
		answer := p.ask(request(wire.LitePullMessage, pullFields("light", "Orders", 0, 0, "sysFlag", "20", "subscription", "*"), ""))
		Expect(bodies(received(answer))).To(Equal([]string{"a"}))
	})
	It("refuses groups that it must not make", func() {
		setUp(embedded.Config{NoGroupCreation: true})
		refused(pull("nobody", "Nothing", 99, 0), wire.SubscriptionGroupNotExist, "subscription group [nobody] does not exist", "")
	})
	It("refuses groups that must not consume", func() {
		setUp(embedded.Config{})
		g := embedded.DefaultGroupConfig()
		g.Consume = false
		Expect(b.ConfigureGroup("banned", g)).To(Succeed())
		refused(pull("banned", "Nothing", 99, 0), wire.NoPermission, "subscription group no permission, banned", "2")
	})
	It("makes no topic on a pull", func() {
		setUp(embedded.Config{})
		refused(pull("billing", "NoSuchTopic", 99, 0), wire.TopicNotExist, "topic[NoSuchTopic] not exist, apply first please! "+faq, "")
		Expect(b.Topics()).NotTo(ContainElement("NoSuchTopic"))
	})
	It("refuses topics that must not be read", func() {
		setUp(embedded.Config{})
		Expect(b.ConfigureTopic("Orders", 4, 4, false, true)).To(Succeed())
		refused(pull("billing", "Orders", 99, 0), wire.NoPermission, "the topic[Orders] pulling message is forbidden", "3")
	})
	It("refuses queues that the topic does not have", func() {
		setUp(embedded.Config{})
		refused(pull("billing", "Orders", 4, 0), wire.InvalidParameter, "queueId[4] is illegal, topic:[Orders] topicConfig.readQueueNums:[4] consumer:[/127.0.0.1:", "")
		refused(pull("billing", "Orders", -1, 0), wire.InvalidParameter, "queueId[-1] is illegal", "")
	})
	It("refuses expressions that it cannot read", func() {
		setUp(embedded.Config{})
		refused(pull("billing", "Orders", 0, 0, "sysFlag", "4", "subscription", " || "), wire.SubscriptionParseFailed, "parse the consumer's subscription failed", "")
	})
	It("refuses groups without members", func() {
		setUp(embedded.Config{})
		refused(pull("billing", "Orders", 0, 0), wire.SubscriptionNotExist, "the consumer's group info not exist"+faq, "")
	})
	It("refuses broadcasting groups that must not broadcast", func() {
		setUp(embedded.Config{})
		g := embedded.DefaultGroupConfig()
		g.ConsumeBroadcast = false
		Expect(b.ConfigureGroup("loud", g)).To(Succeed())
		p.ask(request(wire.HeartBeat, nil, heartbeat("client-1", "loud", "BROADCASTING")))
		refused(pull("loud", "Orders", 0, 0), wire.NoPermission, "the consumer group[loud] can not consume by broadcast way", "4")
	})
	It("refuses topics that the group did not subscribe", func() {
		setUp(embedded.Config{})
		p.join("billing", sub{topic: "Other", version: 1})
		refused(pull("billing", "Orders", 0, 0), wire.SubscriptionNotExist, "the consumer's subscription not exist"+faq, "")
	})
	It("refuses pulls that know a newer subscription", func() {
		setUp(embedded.Config{})
		p.join("billing", sub{topic: "Orders", version: 5})
		refused(pull("billing", "Orders", 0, 0, "subVersion", "6"), wire.SubscriptionNotLatest, "the consumer's subscription not latest", "")
		Expect(code(p.ask(pull("billing", "Orders", 0, 0, "subVersion", "5")))).To(Equal(wire.PullNotFound))
	})
	It("refuses SQL92, as a broker does by default", func() {
		setUp(embedded.Config{})
		refused(pull("billing", "Orders", 0, 0, "sysFlag", "4", "subscription", "a > 1", "expressionType", "SQL92"), wire.SystemError,
			"The broker does not support consumer to filter message by SQL92", "")
	})
	It("filters by SQL92 if it has the property filter, and refuses expressions that are wrong", func() {
		setUp(embedded.Config{PropertyFilter: true})
		sql := func(expression string) *wire.Command {
			return pull("billing", "Orders", 0, 0, "sysFlag", "4", "subscription", expression, "expressionType", "SQL92")
		}
		Expect(code(p.ask(sql("a > 1")))).To(Equal(wire.PullNotFound))
		refused(sql("a >"), wire.SubscriptionParseFailed, "parse the consumer's subscription failed", "")
		check := func(expression string) *wire.Command {
			return request(wire.CheckClientConfig, nil,
				`{"clientId":"c","group":"billing","subscriptionData":{"topic":"Orders","expressionType":"SQL92","subString":"`+expression+`"}}`)
		}
		Expect(code(p.ask(check("a > 1")))).To(Equal(wire.Success))
		Expect(code(p.ask(check("a >")))).To(Equal(wire.SubscriptionParseFailed))
	})
	It("names a header field that is missing", func() {
		setUp(embedded.Config{})
		refused(pull("billing", "Orders", 0, 0, "queueOffset", ""), wire.SystemError, "queueOffset", "")
	})
	It("answers a kind of request that nobody knows", func() {
		setUp(embedded.Config{})
		refused(request(9999, nil, ""), wire.RequestCodeNotSupported, " request type 9999 not supported", "")
	})
})
