package wire_test

import (
	"errors"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
)

type header interface {
	AppendTo(*wire.Ext)
	ReadFrom(*wire.Ext) error
}

// requestHeaders are the headers of requests by code, responseHeaders those of successful answers.
var requestHeaders = map[wire.RequestCode]func() header{
	wire.PullMessage:                     func() header { return &wire.PullRequestHeader{} },
	wire.LitePullMessage:                 func() header { return &wire.PullRequestHeader{} },
	wire.SendMessageV2:                   func() header { return &wire.SendHeader{} },
	wire.SendBatchMessage:                func() header { return &wire.SendHeader{} },
	wire.ConsumerSendMsgBack:             func() header { return &wire.SendBackHeader{} },
	wire.QueryConsumerOffset:             func() header { return &wire.QueryOffsetHeader{} },
	wire.UpdateConsumerOffset:            func() header { return &wire.UpdateOffsetHeader{} },
	wire.SearchOffsetByTimestamp:         func() header { return &wire.SearchOffsetHeader{} },
	wire.GetMaxOffset:                    func() header { return &wire.MaxOffsetHeader{} },
	wire.GetMinOffset:                    func() header { return &wire.QueueHeader{} },
	wire.GetEarliestMsgStoreTime:         func() header { return &wire.QueueHeader{} },
	wire.GetConsumerListByGroup:          func() header { return &wire.GroupHeader{} },
	wire.NotifyConsumerIDsChanged:        func() header { return &wire.GroupHeader{} },
	wire.GetConsumerConnectionList:       func() header { return &wire.GroupHeader{} },
	wire.UnregisterClient:                func() header { return &wire.UnregisterHeader{} },
	wire.GetRouteInfoByTopic:             func() header { return &wire.TopicHeader{} },
	wire.GetTopicStatsInfo:               func() header { return &wire.TopicHeader{} },
	wire.QueryTopicConsumeByWho:          func() header { return &wire.TopicHeader{} },
	wire.DeleteTopicInBroker:             func() header { return &wire.TopicHeader{} },
	wire.UpdateAndCreateTopic:            func() header { return &wire.CreateTopicHeader{} },
	wire.ViewMessageByID:                 func() header { return &wire.ViewMessageHeader{} },
	wire.QueryMessage:                    func() header { return &wire.QueryMessageHeader{} },
	wire.RegisterBroker:                  func() header { return &wire.RegisterBrokerHeader{} },
	wire.ResetConsumerClientOffset:       func() header { return &wire.ResetOffsetHeader{} },
	wire.InvokeBrokerToResetOffset:       func() header { return &wire.ResetOffsetHeader{} },
	wire.GetConsumerStatusFromClient:     func() header { return &wire.ConsumerStatusHeader{} },
	wire.InvokeBrokerToGetConsumerStatus: func() header { return &wire.ConsumerStatusHeader{} },
	wire.GetConsumerRunningInfo:          func() header { return &wire.RunningInfoHeader{} },
	wire.ConsumeMessageDirectly:          func() header { return &wire.ConsumeDirectlyHeader{} },
	wire.GetConsumeStats:                 func() header { return &wire.ConsumeStatsHeader{} },
	wire.DeleteSubscriptionGroup:         func() header { return &wire.DeleteGroupHeader{} },
	wire.EndTransaction:                  func() header { return &wire.EndTransactionHeader{} },
}

var responseHeaders = map[wire.RequestCode]func() header{
	wire.PullMessage:             func() header { return &wire.PullResponseHeader{} },
	wire.LitePullMessage:         func() header { return &wire.PullResponseHeader{} },
	wire.SendMessageV2:           func() header { return &wire.SendResponseHeader{} },
	wire.SendBatchMessage:        func() header { return &wire.SendResponseHeader{} },
	wire.QueryConsumerOffset:     func() header { return &wire.OffsetResponseHeader{} },
	wire.SearchOffsetByTimestamp: func() header { return &wire.OffsetResponseHeader{} },
	wire.GetMaxOffset:            func() header { return &wire.OffsetResponseHeader{} },
	wire.GetMinOffset:            func() header { return &wire.OffsetResponseHeader{} },
	wire.GetEarliestMsgStoreTime: func() header { return &wire.StoreTimeResponseHeader{} },
	wire.HeartBeat:               func() header { return &wire.HeartbeatResponseHeader{} },
	wire.QueryMessage:            func() header { return &wire.QueryMessageResponseHeader{} },
	wire.RegisterBroker:          func() header { return &wire.RegisterBrokerResponseHeader{} },
}

// hookFields are put into any request by hooks, not by headers.
var hookFields = []string{"ReqT", "ns", "nsd", "AccessKey", "Signature", "lo"}

// expectSameFields demands that what a header writes is what Apache wrote. Fields that only Apache wrote must say nothing
// (empty, or the value that absence means); fields that only we write must be in silent.
func expectSameFields(g *goldenFrame, h header) {
	var e wire.Ext
	h.AppendTo(&e)
	ours := maps.Collect(e.All())
	for k, v := range g.ExtFields {
		if slices.Contains(hookFields, k) || v == "" || k == "offset" && v == "-1" ||
			v == "0" && strings.HasSuffix(k, "SysFlag") {
			continue
		}
		Expect(ours).To(HaveKeyWithValue(k, v), g.File)
	}
	for k, v := range ours {
		if _, ok := g.ExtFields[k]; ok {
			continue
		}
		Expect(map[string]string{ // what brokers and clients before 5.x do not send
			"topicSysFlag": "0", "groupSysFlag": "0", "committed": "true", "enableActingMaster": "false", "force": "false",
			"removeOffset":             "false", // for 4.x, whose name it is
			"IS_SUPPORT_HEART_BEAT_V2": "false", "IS_SUB_CHANGE": "false",
		}).To(HaveKeyWithValue(k, v), g.File)
	}
}

var _ = Describe("Headers", func() {
	It("read and write what Apache's clients and brokers sent", func() {
		seen := map[wire.RequestCode]int{}
		for _, g := range goldenFrames() {
			code := wire.RequestCode(g.RequestCode)
			table := requestHeaders
			if !g.request() {
				table = responseHeaders
				if g.Code != 0 && !(code == wire.PullMessage && g.Code >= 19 && g.Code <= 21) {
					continue
				}
			}
			newHeader, ok := table[code]
			if !ok {
				continue
			}
			c, err := decode(g.bytes)
			Expect(err).NotTo(HaveOccurred())
			h := newHeader()
			Expect(h.ReadFrom(&c.Ext)).To(Succeed(), g.File)
			expectSameFields(g, h)
			var e wire.Ext
			h.AppendTo(&e)
			again := newHeader()
			Expect(again.ReadFrom(&e)).To(Succeed(), g.File)
			Expect(again).To(Equal(h), g.File)
			seen[code]++
		}
		for code := range requestHeaders {
			Expect(seen).To(HaveKey(code), code.String())
		}
		for code := range responseHeaders {
			Expect(seen).To(HaveKey(code), code.String())
		}
	})

	It("give a pull's numbers", func() {
		for _, g := range golden(11, true) {
			if g.Name != "PULL_MESSAGE" || g.ExtFields["subscription"] == "" {
				continue
			}
			c, err := decode(g.bytes)
			Expect(err).NotTo(HaveOccurred())
			var h wire.PullRequestHeader
			Expect(h.ReadFrom(&c.Ext)).To(Succeed())
			Expect(h.Group).To(Equal(g.ExtFields["consumerGroup"]))
			Expect(h.SysFlag & wire.PullSubscription).NotTo(BeZero())
			Expect(h.MaxMessages).To(BeNumerically(">", 0))
		}
	})

	It("write a send with long names and read them", func() {
		h := wire.SendHeader{
			Group: "pg", Topic: "t", DefaultTopic: "TBW102", DefaultQueues: 4, QueueID: -1, SysFlag: 1, BornTimestamp: 5,
			Flag: 7, Properties: "k\x01v\x02", ReconsumeTimes: 2, UnitMode: true, MaxReconsumeTimes: 3, Batch: true, Broker: "b",
		}
		var e wire.Ext
		h.AppendLongTo(&e)
		for _, name := range []string{
			"producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag",
			"properties", "reconsumeTimes", "unitMode", "maxReconsumeTimes", "batch", "bname",
		} {
			Expect(e.Has(name)).To(BeTrue(), name)
		}
		var again wire.SendHeader
		Expect(again.ReadFrom(&e)).To(Succeed())
		Expect(again).To(Equal(h))
	})

	It("name the first field that is missing or malformed", func() {
		var e wire.Ext
		full := wire.UpdateOffsetHeader{Group: "g", Topic: "t", QueueID: 1, CommitOffset: 2}
		full.AppendTo(&e)
		e.Delete("topic")
		var h wire.UpdateOffsetHeader
		var field *wire.FieldError
		Expect(errors.As(h.ReadFrom(&e), &field)).To(BeTrue())
		Expect(field.Field).To(Equal("topic"))
		Expect(field.Missing).To(BeTrue())
		e.Set("topic", "t")
		e.Set("queueId", "4294967296")
		Expect(h.ReadFrom(&e)).To(MatchError(`field queueId has the malformed value "4294967296"`))
	})

	It("know what an absent field means", func() {
		var e wire.Ext
		queue := wire.QueueHeader{Topic: "t", QueueID: 1}
		queue.AppendTo(&e)
		var m wire.MaxOffsetHeader
		Expect(m.ReadFrom(&e)).To(Succeed())
		Expect(m.Committed).To(BeTrue())
		e.Set("consumerGroup", "g")
		var q wire.QueryOffsetHeader
		Expect(q.ReadFrom(&e)).To(Succeed())
		Expect(q.SetZeroIfNotFound).To(BeTrue())
		e.SetBool("setZeroIfNotFound", false)
		Expect(q.ReadFrom(&e)).To(Succeed())
		Expect(q.SetZeroIfNotFound).To(BeFalse())
	})
})
