package embedded_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// golden is one request to a real broker of version 5.3.3 and its answer.
type golden struct {
	File        string            `json:"file"`
	Request     int32             `json:"request"`
	RequestExt  map[string]string `json:"requestExt"`
	RequestBody string            `json:"requestBody"`
	Code        int32             `json:"code"`
	Remark      string            `json:"remark"`
	Ext         map[string]string `json:"ext"`
	Body        string            `json:"body"`
}

var answers = func() map[string]golden {
	text, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		panic(err)
	}
	var list []golden
	if err := json.Unmarshal(text, &list); err != nil {
		panic(err)
	}
	byNumber := map[string]golden{}
	for _, g := range list {
		number, _, _ := strings.Cut(strings.TrimPrefix(g.File, "5.3.3/"), "-")
		byNumber[number] = g
	}
	return byNumber
}()

// The state of the real broker when its answers were captured is rebuilt as far as an answer depends on it; then the same
// request must get the same answer, field by field.
var _ = Describe("answers of a real broker", func() {
	const unique = "FD00000000000000000000000000000217A44E0E2F2A9A142B820000"
	var (
		b *embedded.Broker
		p *peer
	)
	BeforeEach(func() {
		b = startBroker(embedded.Config{})
		p = connect(b, "192.0.2.2@GoldPush#667688689776")
	})
	topic := func(name string, counts ...int) {
		GinkgoHelper()
		Expect(b.CreateTopic(name, len(counts))).To(Succeed())
		for queue, n := range counts {
			for range n {
				Expect(b.Publish(texts(name, int32(queue), "m")...)).To(Succeed())
			}
		}
	}
	replay := func(number string, changes ...string) (golden, *wire.Command) {
		GinkgoHelper()
		g, ok := answers[number]
		Expect(ok).To(BeTrue(), "no golden answer "+number)
		ext := maps.Clone(g.RequestExt)
		if ext == nil {
			ext = map[string]string{}
		}
		change(ext, changes)
		return g, p.ask(request(wire.RequestCode(g.Request), ext, g.RequestBody))
	}
	// same compares code, remark and fields, but for fields whose values are the machine's or the moment's.
	same := func(g golden, answer *wire.Command, except ...string) {
		GinkgoHelper()
		Expect(answer.Code).To(Equal(g.Code), answer.Remark)
		if g.Remark != "not set any response code" {
			Expect(answer.Remark).To(Equal(g.Remark))
		}
		got, want := fields(answer), maps.Clone(g.Ext)
		Expect(slices.Sorted(maps.Keys(got))).To(Equal(slices.Sorted(maps.Keys(want))))
		for _, name := range except {
			delete(got, name)
			delete(want, name)
		}
		if len(want) > 0 {
			Expect(got).To(Equal(want))
		}
	}
	// sameJSON compares bodies after replacing the real broker's address.
	sameJSON := func(g golden, answer *wire.Command) {
		GinkgoHelper()
		same(g, answer)
		Expect(answer.Body).To(MatchJSON(strings.ReplaceAll(g.Body, "127.0.0.1:20911", b.Addr())))
	}

	It("creates a topic", func() {
		same(replay("002"))
		Expect(b.Topics()).To(ContainElement("GoldTopic"))
		sameJSON(replay("010"))
		sameJSON(replay("259"))
	})
	It("says where a topic is, in strict JSON", func() {
		topic("GoldTopic", 0, 0, 0, 0)
		sameJSON(replay("010"))
		same(replay("046"))
	})
	It("describes the cluster", func() {
		g, answer := replay("057")
		same(g, answer)
		real, err := wire.DecodeClusterInfo([]byte(strings.ReplaceAll(g.Body, "127.0.0.1:20911", b.Addr())))
		Expect(err).NotTo(HaveOccurred())
		Expect(wire.DecodeClusterInfo(answer.Body)).To(Equal(real))
	})
	It("stores a message", func() {
		topic("GoldTopic", 0, 0, 0, 0)
		g, answer := replay("012")
		same(g, answer, "msgId")
		Expect(answer.Ext.Text("msgId")).To(MatchRegexp("^7F0000010000[0-9A-F]{4}0000000000000000$"))
		// Sizes as in the pull answers of the real broker: 245 bytes with a 7-byte body.
		Expect(p.ask(send("GoldTopic", 0, "plain-0", answers["012"].RequestExt["i"])).Ext.Text("msgId")).To(HaveSuffix("00000000000000EE"))
	})
	It("stores a batch", func() {
		topic("GoldTopic", 0, 0, 0, 0)
		g := answers["022"]
		var body []byte
		for _, text := range []string{"batch-0", "batch-1", "batch-2"} {
			var err error
			body, err = wire.AppendBatch(body, wire.BatchPart{Body: []byte(text), Properties: []byte("KEYS\x01b0\x02UNIQ_KEY\x01" + unique + "\x02WAIT\x01true\x02TAGS\x01TagB\x02")})
			Expect(err).NotTo(HaveOccurred())
		}
		answer := p.ask(request(wire.SendBatchMessage, g.RequestExt, string(body)))
		same(g, answer, "msgId")
		ids := strings.Split(answer.Ext.Text("msgId"), ",")
		Expect(ids).To(HaveLen(3))
		// The real ids lie 339 bytes apart.
		Expect(ids[0]).To(HaveSuffix("0000000000000000"))
		Expect(ids[1]).To(HaveSuffix("0000000000000153"))
		Expect(ids[2]).To(HaveSuffix("00000000000002A6"))
		list := b.MessagesIn("GoldTopic")
		Expect(bodies(list)).To(Equal([]string{"batch-0", "batch-1", "batch-2"}))
		Expect(maps.Collect(list[2].Properties())).To(Equal(map[string]string{
			"CLUSTER": "DefaultCluster", "KEYS": "b0", "MSG_REGION": "DefaultRegion", "TAGS": "TagB", "TRACE_ON": "true", "UNIQ_KEY": g.Ext["transactionId"], "WAIT": "true",
		}))
		Expect(list[2].GetQueueId()).To(Equal(int32(3)))
	})
	It("refuses a queue that the topic does not have", func() {
		topic("GoldTopic", 0, 0, 0, 0)
		g, answer := replay("196")
		Expect(answer.Code).To(Equal(g.Code))
		want, _, _ := strings.Cut(g.Remark, "127.0.0.1:")
		Expect(answer.Remark).To(HavePrefix(want + "127.0.0.1:"))
		Expect(fields(answer)).To(Equal(g.Ext))
	})
	It("takes heartbeats and forgets clients", func() {
		g := answers["014"]
		same(g, p.ask(request(wire.HeartBeat, nil, heartbeat("192.0.2.2@GoldPG", "GoldPush", "CLUSTERING"))))
		same(replay("031"))
	})
	It("lists the clients of a group", func() {
		p.join("GoldPush", sub{topic: "GoldTopic", version: 1})
		sameJSON(replay("051"))
		same(replay("194"))
	})
	It("checks a client's configuration", func() {
		// The real broker had enablePropertyFilter on; ours answers as one that has it off.
		g, answer := replay("080")
		Expect(answer.Code).To(Equal(int32(wire.SystemError)))
		body := strings.ReplaceAll(g.RequestBody, `"SQL92"`, `"TAG"`)
		same(g, p.ask(request(wire.CheckClientConfig, nil, body)))
	})
	It("reads and takes offsets", func() {
		topic("GoldTopic", 2, 7, 4, 4)
		Expect(b.CreateTopic("GoldLite", 4)).To(Succeed())
		same(replay("053"))
		same(replay("131"))
		same(replay("141"))
		same(replay("145"))
		same(replay("147", "timestamp", "4000000000000"))
		g, answer := replay("149")
		same(g, answer, "timestamp")
		Expect(answer.Ext.Int("timestamp")).To(BeNumerically(">", int64(1600000000000)))
		same(replay("337"))
	})
	It("answers pulls", func() {
		topic("GoldTopic", 2, 7, 4, 4)
		topic("GoldLite", 4, 4, 4, 4)
		Expect(b.CreateTopic("GoldNotSubscribed", 4)).To(Succeed())
		p.join("GoldPush", sub{topic: "GoldTopic", version: 1796076214721})
		same(replay("059"))
		same(replay("067", "suspendTimeoutMillis", "0", "sysFlag", "0"))
		same(replay("163"))
		same(replay("169"))
		same(replay("180"))
		same(replay("184"))
		same(replay("186"))
		same(replay("188"))
		g, answer := replay("167")
		Expect(answer.Code).To(Equal(g.Code))
		Expect(answer.Remark).To(HavePrefix(strings.SplitAfter(g.Remark, "consumer:[/127.0.0.1:")[0]))
		p.join("GoldTagZ", sub{topic: "GoldTopic", tags: []string{"TagZ"}, version: 1796076218000})
		same(replay("116", "consumerGroup", "GoldTagZ", "sysFlag", "0"))
		g, answer = replay("135", "sysFlag", "20", "subscription", "*")
		same(g, answer)
	})
	It("answers pulls of a retry topic, and after a reset", func() {
		topic("GoldTopic", 2, 7, 4, 4)
		p.join("GoldOrderly", sub{topic: "%RETRY%GoldOrderly", version: 1796076235174})
		same(replay("209", "suspendTimeoutMillis", "0", "sysFlag", "0", "subVersion", "0"))
		p.join("GoldPush", sub{topic: "GoldTopic", version: 1796076214721})
		g, answer := replay("339")
		same(g, answer)
		real, err := wire.DecodeResetOffset([]byte(g.Body))
		Expect(err).NotTo(HaveOccurred())
		Expect(wire.DecodeResetOffset(answer.Body)).To(Equal(real))
		same(replay("319", "subVersion", "0"))
		same(replay("341"))
	})
	It("hands messages back", func() {
		topic("GoldTopic", 1, 0, 0, 0)
		same(replay("069", "offset", "0"))
		Expect(b.CountMessages("%DLQ%GoldPush")).To(Equal(int64(1)))
	})
	It("locks and frees queues", func() {
		sameJSON(replay("094"))
		Expect(b.LockHolder("GoldOrderly", "GoldOrder", 0)).To(Equal("192.0.2.2@GoldOrderly#667699084746"))
		same(replay("219"))
	})
	It("tells tools about topics and groups", func() {
		topic("GoldTopic", 2, 7, 4, 4)
		g, answer := replay("257")
		same(g, answer)
		real, err := wire.DecodeTopicStats([]byte(g.Body))
		Expect(err).NotTo(HaveOccurred())
		ours, err := wire.DecodeTopicStats(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(ours.Queues).To(HaveLen(len(real.Queues)))
		for q, s := range real.Queues {
			Expect(ours.Queues[q].MaxOffset).To(Equal(s.MaxOffset))
			Expect(ours.Queues[q].MinOffset).To(Equal(s.MinOffset))
			Expect(ours.Queues[q].LastUpdate > 0).To(Equal(s.LastUpdate > 0))
		}
		same(replay("277"))
		same(replay("192"))
		Expect(p.ask(request(wire.HeartBeat, nil, heartbeat("192.0.2.2@GoldBroad#667702979269", "GoldBroad", "BROADCASTING", sub{topic: "GoldBcast", version: 1796076217370})))).NotTo(BeNil())
		g, answer = replay("273")
		same(g, answer)
		one, err := wire.DecodeConsumerConnection([]byte(g.Body))
		Expect(err).NotTo(HaveOccurred())
		other, err := wire.DecodeConsumerConnection(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		other.Connections[0].ClientAddr, other.Connections[0].Language = one.Connections[0].ClientAddr, one.Connections[0].Language
		Expect(other).To(Equal(one))
	})
	It("shows where a group stands, and who consumes a topic", func() {
		topic("GoldTopic", 2, 7, 4, 4)
		g := answers["267"]
		real, err := wire.DecodeConsumeStats([]byte(g.Body))
		Expect(err).NotTo(HaveOccurred())
		for q, s := range real.Queues {
			if q.Topic == "GoldTopic" {
				b.Commit("GoldPush", q.Topic, q.QueueID, s.ConsumerOffset)
			}
		}
		_, answer := replay("267")
		same(g, answer)
		ours, err := wire.DecodeConsumeStats(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		for q, s := range real.Queues {
			if q.Topic == "GoldTopic" {
				Expect(ours.Queues[q].ConsumerOffset).To(Equal(s.ConsumerOffset))
				Expect(ours.Queues[q].BrokerOffset).To(Equal(s.BrokerOffset))
			}
		}
		g, answer = replay("313")
		same(g, answer)
		Expect(wire.DecodeGroupList(answer.Body)).To(HaveField("Groups", Equal([]string{"GoldPush"})))
	})
	It("shows a stored message", func() {
		topic("GoldTopic", 2)
		g, answer := replay("317", "offset", "0")
		same(g, answer)
		Expect(bodies(received(answer))).To(Equal([]string{"m"}))
	})
	It("adds what a real broker adds to a message, and nothing else", func() {
		Expect(b.CreateTopic("GoldTopic", 4)).To(Succeed())
		replay("012")
		list := b.MessagesIn("GoldTopic")
		Expect(list).To(HaveLen(1))
		Expect(maps.Collect(list[0].Properties())).To(Equal(map[string]string{
			messages.PropertyCluster: "DefaultCluster", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "UNIQ_KEY": unique, "WAIT": "true",
		}))
	})
})
