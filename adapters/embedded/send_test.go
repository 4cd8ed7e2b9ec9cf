package embedded_test

import (
	"fmt"
	"hash/crc32"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// Source: protocol.md 7.7.
var _ = Describe("sending", func() {
	const faq = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
	var (
		b *embedded.Broker
		p *peer
	)
	setUp := func(cfg embedded.Config) {
		b = startBroker(cfg)
		p = connect(b, "client-1")
	}
	longNames := map[string]string{
		"a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums", "e": "queueId", "f": "sysFlag",
		"g": "bornTimestamp", "h": "flag", "i": "properties", "j": "reconsumeTimes", "k": "unitMode", "m": "batch", "n": "bname",
	}

	It("makes an unknown topic after TBW102, with the queues that the producer wants, at most 8", func() {
		setUp(embedded.Config{})
		Expect(code(p.ask(send("New", 3, "x", "")))).To(Equal(wire.Success))
		Expect(code(p.ask(send("Wide", 7, "x", "", "d", "16")))).To(Equal(wire.Success))
		for topic, queues := range map[string]int32{"New": 4, "Wide": 8} {
			answer := p.ask(request(wire.GetRouteInfoByTopic, map[string]string{"topic": topic}, ""))
			route, err := wire.DecodeTopicRouteData(answer.Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(route.Queues).To(Equal([]wire.QueueData{{Broker: "broker-a", ReadQueues: queues, WriteQueues: queues, Perm: 6}}))
		}
	})
	It("offers TBW102 to producers, so that they find a broker for a new topic", func() {
		setUp(embedded.Config{})
		answer := p.ask(request(wire.GetRouteInfoByTopic, map[string]string{"topic": "TBW102"}, ""))
		route, err := wire.DecodeTopicRouteData(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(route.Queues).To(Equal([]wire.QueueData{{Broker: "broker-a", ReadQueues: 8, WriteQueues: 8, Perm: 7}}))
		Expect(route.Brokers[0].Addresses).To(Equal(map[int64]string{0: b.Addr()}))
	})
	It("refuses an unknown topic that must not be made", func() {
		setUp(embedded.Config{NoTopicCreation: true})
		answer := p.ask(send("New", 0, "x", ""))
		Expect(code(answer)).To(Equal(wire.TopicNotExist))
		Expect(answer.Remark).To(Equal("topic[New] not exist, apply first please!" + faq))
		Expect(code(p.ask(request(wire.GetRouteInfoByTopic, map[string]string{"topic": "TBW102"}, "")))).To(Equal(wire.TopicNotExist))
	})
	It("makes a retry topic in any case", func() {
		setUp(embedded.Config{NoTopicCreation: true})
		Expect(code(p.ask(send("%RETRY%billing", 0, "x", "")))).To(Equal(wire.Success))
		Expect(b.CountMessages("%RETRY%billing")).To(Equal(int64(1)))
	})
	It("understands the long field names", func() {
		setUp(embedded.Config{})
		ext := map[string]string{}
		for k, v := range fields(send("New", 2, "x", "TAGS\x01paid\x02")) {
			ext[longNames[k]] = v
		}
		answer := p.ask(request(wire.SendMessage, ext, "hello"))
		Expect(code(answer)).To(Equal(wire.Success))
		Expect(answer.Ext.Text("queueId")).To(Equal("2"))
		list := b.MessagesIn("New")
		Expect(bodies(list)).To(Equal([]string{"hello"}))
		Expect(list[0].Tag()).To(Equal("paid"))
	})
	It("chooses a queue when the producer does not", func() {
		setUp(embedded.Config{})
		for range 64 {
			answer := p.ask(send("New", -1, "x", ""))
			Expect(code(answer)).To(Equal(wire.Success))
			Expect(answer.Ext.Int("queueId")).To(And(BeNumerically(">=", 0), BeNumerically("<", 4)))
		}
		Expect(b.MaxOffset("New", 0)).To(BeNumerically("<", 64))
	})
	It("refuses topics that are not the producers'", func() {
		setUp(embedded.Config{})
		for _, topic := range []string{"SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "OFFSET_MOVED_EVENT"} {
			answer := p.ask(send(topic, 0, "x", ""))
			Expect(code(answer)).To(Equal(wire.NoPermission))
			Expect(answer.Remark).To(Equal("Sending message to topic[" + topic + "] is forbidden."))
		}
	})
	It("refuses names that are none", func() {
		setUp(embedded.Config{})
		for _, topic := range []string{" ", "a b", "ümlaut", strings.Repeat("x", 128)} {
			Expect(code(p.ask(send(topic, 0, "x", "")))).To(Equal(wire.SystemError), topic)
		}
		Expect(code(p.ask(send(strings.Repeat("x", 127), 0, "x", "")))).To(Equal(wire.Success))
	})
	It("refuses topics and brokers that must not be written", func() {
		setUp(embedded.Config{})
		Expect(b.ConfigureTopic("Sealed", 4, 4, true, false)).To(Succeed())
		answer := p.ask(send("Sealed", 0, "x", ""))
		Expect(code(answer)).To(Equal(wire.NoPermission))
		Expect(answer.Remark).To(ContainSubstring("the topic[Sealed] sending message is forbidden"))
		b.SetPermission(true, false)
		answer = p.ask(send("New", 0, "x", ""))
		Expect(code(answer)).To(Equal(wire.NoPermission))
		Expect(answer.Remark).To(ContainSubstring("sending message is forbidden"))
	})
	It("refuses bodies and properties that are too large", func() {
		setUp(embedded.Config{})
		Expect(code(p.ask(send("New", 0, strings.Repeat("x", 4<<20), "")))).To(Equal(wire.Success))
		Expect(code(p.ask(send("New", 0, strings.Repeat("x", 4<<20+1), "")))).To(Equal(wire.MessageIllegal))
		Expect(code(p.ask(send("New", 0, "x", "k\x01"+strings.Repeat("v", 32767)+"\x02")))).To(Equal(wire.MessageIllegal))
	})
	It("stores one-way messages and says nothing", func() {
		setUp(embedded.Config{})
		p.oneWay(send("New", 0, "quiet", ""))
		p.oneWay(send("SCHEDULE_TOPIC_XXXX", 0, "refused", ""))
		Expect(code(p.ask(send("New", 0, "loud", "")))).To(Equal(wire.Success))
		Expect(bodies(b.MessagesIn("New"))).To(Equal([]string{"quiet", "loud"}))
	})
	It("gives a unique id to messages that have none", func() {
		setUp(embedded.Config{})
		answer := p.ask(send("New", 0, "x", ""))
		id := b.MessagesIn("New")[0].MessageID()
		Expect(id).To(MatchRegexp("^[0-9A-F]{32}$"))
		Expect(answer.Ext.Text("transactionId")).To(Equal(id))
	})
	It("numbers offsets one after the other, per queue and in the log", func() {
		setUp(embedded.Config{})
		for k := range 3 {
			answer := p.ask(send("New", k%2, fmt.Sprint(k), ""))
			Expect(answer.Ext.Int("queueOffset")).To(Equal(int64(k / 2)))
			Expect(answer.Ext.Text("msgId")).To(Equal(b.MessagesIn("New")[[]int{0, 1, 1}[k]].OffsetID()))
		}
	})
	It("keeps what the producer said: flags, times, attempts, address, checksum", func() {
		setUp(embedded.Config{})
		p.ask(send("New", 0, "hello", "a\x01b\x02POP_CK\x01x\x02", "h", "7", "f", "1", "g", "1700000000000", "j", "3"))
		m := b.MessagesIn("New")[0]
		Expect(m.GetFlag()).To(Equal(int32(7)))
		Expect(m.GetSysFlag()).To(Equal(int32(1)))
		Expect(m.GetBornTimestamp()).To(Equal(int64(1700000000000)))
		Expect(m.GetReconsumeTimes()).To(Equal(int32(3)))
		Expect(m.BornAddr().Addr().String()).To(Equal("127.0.0.1"))
		Expect(m.StoreAddr().String()).To(Equal(b.Addr()))
		Expect(m.GetBodyCrc()).To(Equal(crc32.ChecksumIEEE([]byte("hello")) & 0x7FFFFFFF))
		properties := maps.Collect(m.Properties())
		Expect(properties).To(HaveKeyWithValue("a", "b"))
		Expect(properties).NotTo(HaveKey("POP_CK"))
	})
	It("refuses messages for a point in time, rather than deliver them too early", func() {
		setUp(embedded.Config{})
		for _, name := range []string{"TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"} {
			Expect(code(p.ask(send("New", 0, "timed", name+"\x015\x02")))).To(Equal(wire.MessageIllegal))
		}
		Expect(b.CountMessages("New")).To(BeZero())
	})
	It("leaves the messages of a batch without unique id their own", func() {
		setUp(embedded.Config{})
		body, err := wire.AppendBatch(nil, wire.BatchPart{Body: []byte("a"), Properties: []byte("UNIQ_KEY\x01own")})
		Expect(err).NotTo(HaveOccurred())
		body, err = wire.AppendBatch(body, wire.BatchPart{Flag: 4, Body: []byte("b")})
		Expect(err).NotTo(HaveOccurred())
		answer := p.ask(request(wire.SendBatchMessage, fields(send("New", 1, "", "", "m", "true")), string(body)))
		Expect(code(answer)).To(Equal(wire.Success))
		Expect(answer.Ext.Has("transactionId")).To(BeFalse())
		list := b.MessagesIn("New")
		Expect(bodies(list)).To(Equal([]string{"a", "b"}))
		Expect(list[0].MessageID()).To(Equal("own"))
		Expect(list[1].MessageID()).To(Equal(list[1].OffsetID()))
		Expect(list[1].GetFlag()).To(Equal(int32(4)))
		Expect(list[1].Property("CLUSTER")).To(Equal("DefaultCluster"))
	})
	It("refuses a batch that cannot be taken apart", func() {
		setUp(embedded.Config{})
		answer := p.ask(request(wire.SendBatchMessage, fields(send("New", 0, "", "", "m", "true")), "\x00\x00\x00\x10nonsense"))
		Expect(code(answer)).To(Equal(wire.MessageIllegal))
		Expect(b.CountMessages("New")).To(BeZero())
	})
})
