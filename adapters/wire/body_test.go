package wire_test

import (
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// bodyKind decodes a body and encodes it again, strictly.
type bodyKind func(body []byte) (decoded any, encoded []byte, err error)

func kind[T interface{ Encode() []byte }](decode func([]byte) (T, error)) bodyKind {
	return func(body []byte) (any, []byte, error) {
		v, err := decode(body)
		if err != nil {
			return nil, nil, err
		}
		return v, v.Encode(), nil
	}
}

// requestBodies and responseBodies are the JSON bodies by request code.
var requestBodies = map[wire.RequestCode]bodyKind{
	wire.RegisterBroker:                   kind(wire.DecodeRegisterBroker),
	wire.HeartBeat:                        kind(wire.DecodeHeartbeat),
	wire.CheckClientConfig:                kind(wire.DecodeCheckClient),
	wire.LockBatchMQ:                      kind(wire.DecodeLockRequest),
	wire.UnlockBatchMQ:                    kind(wire.DecodeLockRequest),
	wire.ResetConsumerClientOffset:        kind(wire.DecodeResetOffset),
	wire.UpdateAndCreateSubscriptionGroup: kind(wire.DecodeSubscriptionGroup),
}

var responseBodies = map[wire.RequestCode]bodyKind{
	wire.GetRouteInfoByTopic:             kind(wire.DecodeTopicRouteData),
	wire.GetBrokerClusterInfo:            kind(wire.DecodeClusterInfo),
	wire.GetConsumerListByGroup:          kind(wire.DecodeConsumerList),
	wire.LockBatchMQ:                     kind(wire.DecodeLockResponse),
	wire.GetTopicStatsInfo:               kind(wire.DecodeTopicStats),
	wire.GetTopicConfig:                  kind(wire.DecodeTopicConfig),
	wire.GetAllTopicListFromNameServer:   kind(wire.DecodeTopicList),
	wire.GetConsumeStats:                 kind(wire.DecodeConsumeStats),
	wire.GetConsumerConnectionList:       kind(wire.DecodeConsumerConnection),
	wire.QueryTopicConsumeByWho:          kind(wire.DecodeGroupList),
	wire.GetConsumerRunningInfo:          kind(wire.DecodeRunningInfo),
	wire.ConsumeMessageDirectly:          kind(wire.DecodeConsumeDirectlyResult),
	wire.InvokeBrokerToResetOffset:       kind(wire.DecodeResetOffset),
	wire.InvokeBrokerToGetConsumerStatus: kind(wire.DecodeConsumerStatus),
	wire.GetConsumerStatusFromClient:     kind(wire.DecodeConsumerStatus),
}

// notEncoded are keys that are not compared, as they are not read, or not written by every version.
var notEncoded = map[string]bool{
	// pop consumption
	"mqPopTable": true,
	// static topics and versions of their mapping
	"mappingDataVersion": true, "topicQueueMappingDetailMap": true, "topicQueueMappingInfoMap": true,
	// absent in 4.x
	"attributes": true, "stateVersion": true, "enableActingMaster": true, "groupRetryPolicy": true,
	"filterServerTable": true, "heartbeatFingerprint": true, "withoutSub": true, "onlyThisBroker": true,
}

// standard reads Java's JSON into standard values, by a rule of its own: object and number keys get quoted.
func standard(text []byte) any {
	var out strings.Builder
	var object []bool // whether the open bracket is an object
	key := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			end := i + 1
			for text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			out.Write(text[i : end+1])
			i, key = end, false
		case key && c == '{':
			end := i + strings.IndexByte(string(text[i:]), '}') // queues hold no braces
			quoted, err := json.Marshal(string(text[i : end+1]))
			must(err)
			out.Write(quoted)
			i, key = end, false
		case key && c >= '0' && c <= '9':
			end := i
			for text[end] >= '0' && text[end] <= '9' {
				end++
			}
			out.WriteString(`"` + string(text[i:end]) + `"`)
			i, key = end-1, false
		default:
			switch c {
			case '{', '[':
				object = append(object, c == '{')
				key = c == '{'
			case '}', ']':
				object = object[:len(object)-1]
				key = false
			case ',':
				key = object[len(object)-1]
			}
			out.WriteByte(c)
		}
	}
	var v any
	must(json.Unmarshal([]byte(out.String()), &v))
	return v
}

// prune takes out what is not encoded, recursively.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if notEncoded[k] {
				delete(v, k)
				continue
			}
			v[k] = prune(inner)
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}

var _ = Describe("JSON bodies", func() {
	It("of Apache are read, and written with the same content as strict JSON", func() {
		seen := map[string]int{}
		for _, g := range goldenFrames() {
			if g.BodyKind != "json" {
				continue
			}
			side, table := "request ", requestBodies
			if !g.request() {
				side, table = "response ", responseBodies
			}
			k, ok := table[wire.RequestCode(g.RequestCode)]
			if !ok {
				continue
			}
			c, err := decode(g.bytes)
			Expect(err).NotTo(HaveOccurred())
			v, encoded, err := k(c.Body)
			Expect(err).NotTo(HaveOccurred(), g.File)
			var ours any
			Expect(json.Unmarshal(encoded, &ours)).To(Succeed(), g.File)
			Expect(prune(ours)).To(Equal(prune(standard(c.Body))), g.File)
			again, _, err := k(encoded)
			Expect(err).NotTo(HaveOccurred(), g.File)
			Expect(again).To(Equal(v), g.File)
			seen[side+wire.RequestCode(g.RequestCode).String()]++
		}
		Expect(seen).To(HaveLen(len(requestBodies) + len(responseBodies)))
	})

	DescribeTable("keep queues as keys in every form peers write", func(body string) {
		want := map[wire.MessageQueue]int64{{Topic: "T", Broker: "b", QueueID: 0}: 5, {Topic: "T", Broker: "b", QueueID: 1}: 6}
		got, err := wire.DecodeResetOffset([]byte(body))
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Offsets).To(Equal(want))
	},
		Entry("raw objects", `{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5,{"topic":"T","queueId":1,"brokerName":"b"}:6}}`),
		Entry("raw objects with white space", "{\n\t\"offsetTable\":{{\n\t\t\"brokerName\":\"b\",\n\"queueId\":0,\"topic\":\"T\" } : 5 , {\"topic\":\"T\",\"queueId\":1,\"brokerName\":\"b\"}:6\n}}"),
		Entry("text", `{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":0,\"topic\":\"T\"}":5,"{\"topic\":\"T\",\"queueId\":1,\"brokerName\":\"b\"}":6}}`),
		Entry("the list for C++", `{"offsetTable":[{"topic":"T","brokerName":"b","queueId":0,"offset":5},{"topic":"T","brokerName":"b","queueId":1,"offset":6}]}`),
	)

	It("write queues as raw keys for peers that read nothing else", func() {
		b := wire.ResetOffset{Offsets: map[wire.MessageQueue]int64{{Topic: "T", Broker: "b", QueueID: 1}: 6, {Topic: "T", Broker: "b"}: 5}}
		Expect(string(b.EncodeRaw())).To(Equal(
			`{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5,{"brokerName":"b","queueId":1,"topic":"T"}:6}}`))
		Expect(string(b.Encode())).To(Equal(
			`{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":0,\"topic\":\"T\"}":5,"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"T\"}":6}}`))
	})

	It("write and read a heartbeat of every field", func() {
		sub, err := wire.NewSubscription("orders", "TagA || TagB", "", 99)
		Expect(err).NotTo(HaveOccurred())
		h := wire.HeartbeatData{
			ClientID: "10.0.0.1@1", Fingerprint: -7, WithoutSub: true,
			Producers: []wire.ProducerData{{Group: "CLIENT_INNER_PRODUCER"}},
			Consumers: []wire.ConsumerData{{
				Group: "g", ConsumeType: wire.ConsumePassively, MessageModel: wire.Clustering, ConsumeFrom: wire.FromLastOffset,
				Subscriptions: []wire.SubscriptionData{sub}, UnitMode: true,
			}},
		}
		Expect(string(h.Encode())).To(Equal(`{"clientID":"10.0.0.1@1","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",` +
			`"consumeType":"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,` +
			`"codeSet":[2598919,2598920],"expressionType":"TAG","subString":"TagA || TagB","subVersion":99,"tagsSet":["TagA","TagB"],` +
			`"topic":"orders"}],"unitMode":true}],"heartbeatFingerprint":-7,"producerDataSet":[{"groupName":"CLIENT_INNER_PRODUCER"}],"withoutSub":true}`))
		Expect(wire.DecodeHeartbeat(h.Encode())).To(Equal(&h))
	})

	DescribeTable("are refused when they are no JSON", func(body string) {
		_, err := wire.DecodeHeartbeat([]byte(body))
		Expect(err).To(HaveOccurred())
	},
		Entry("nothing", ""), Entry("a list", "[]"), Entry("a word", "hello"), Entry("cut", `{"clientID":"a`),
		Entry("text for a number", `{"heartbeatFingerprint":"x"}`), Entry("too large a number", `{"heartbeatFingerprint":4294967296}`),
		Entry("a number for a list", `{"producerDataSet":5}`), Entry("a word for a boolean", `{"withoutSub":maybe}`),
		Entry("two objects", `{}{}`), Entry("no comma", `{"clientID":"a" "withoutSub":true}`),
		Entry("too many elements in many lists", `{"consumerDataSet":[`+strings.Repeat(`{"subscriptionDataSet":[{},{},{},{}]},`, 1<<16)+`]}`),
		Entry("too many elements", `{"producerDataSet":[`+strings.Repeat(`{},`, 1<<18)+`{}]}`),
	)

	It("hold a broker's groups by name", func() {
		// As SubscriptionGroupManager.encode writes it; the version of the table and what is forbidden stand beside it.
		body := `{"dataVersion":{"counter":3,"stateVersion":0,"timestamp":1796140105000},"forbiddenTable":{},"subscriptionGroupTable":{` +
			`"billing":{"groupName":"billing","consumeEnable":true,"consumeBroadcastEnable":false,"retryQueueNums":2,"retryMaxTimes":5},` +
			`"audit":{"groupName":"audit","consumeEnable":false}}}`
		t, err := wire.DecodeSubscriptionGroupTable([]byte(body))
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Version.Counter).To(Equal(int64(3)))
		Expect(t.Groups).To(HaveLen(2))
		Expect(t.Groups["billing"]).To(And(HaveField("RetryQueues", int32(2)), HaveField("RetryMaxTimes", int32(5)), HaveField("ConsumeBroadcast", false)))
		Expect(t.Groups["audit"].ConsumeEnable).To(BeFalse())
		again, err := wire.DecodeSubscriptionGroupTable(t.Encode())
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(t))
	})

	It("put in what Java's classes have when a field is missing", func() {
		g, err := wire.DecodeSubscriptionGroup([]byte(`{"groupName":"g","retryMaxTimes":null}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(g.ConsumeEnable).To(BeTrue())
		Expect(g.RetryMaxTimes).To(BeEquivalentTo(16))
		t, err := wire.DecodeTopicConfig([]byte(`{"topicName":"t"}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(t.ReadQueues).To(BeEquivalentTo(16))
		Expect(t.Perm).To(Equal(wire.PermRead | wire.PermWrite))
	})
})

var _ = Describe("A subscription", func() {
	DescribeTable("is what Java makes of the expression", func(expression, kind, subString string, tags []string, codes []int32) {
		s, err := wire.NewSubscription("t", expression, kind, 1)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.SubString).To(Equal(subString))
		Expect(s.Tags).To(Equal(tags))
		Expect(s.Codes).To(Equal(codes))
	},
		Entry("empty", "", "", "*", nil, nil),
		Entry("star", "*", "TAG", "*", nil, nil),
		Entry("tags", " TagA||TagB || ", "TAG", " TagA||TagB || ", []string{"TagA", "TagB"}, []int32{2598919, 2598920}),
		Entry("a tag twice", "TagA||TagA", "TAG", "TagA||TagA", []string{"TagA"}, []int32{2598919}),
		Entry("SQL92", "a > 5 || b", "SQL92", "a > 5 || b", nil, nil),
	)

	DescribeTable("is refused", func(expression, kind string) {
		_, err := wire.NewSubscription("t", expression, kind, 1)
		Expect(err).To(HaveOccurred())
	}, Entry("only separators", " || ||", "TAG"), Entry("empty SQL92", " ", "SQL92"), Entry("unknown type", "x", "REGEX"))
})
