package rocketmq_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// goldenFrame is one frame captured between Apache's Java client and an Apache broker, with what the Java client read in it.
type goldenFrame struct {
	File        string
	Broker      string // version
	Direction   string
	Name        string
	Note        string
	RequestCode int32
	PairedWith  string
	Code        int32
	OneWay      bool
	Remark      string
	ExtFields   map[string]string
	BodyText    string
	Messages    []struct {
		Topic           string
		QueueOffset     int64
		CommitLogOffset int64
		MsgID           string
		BodyLen         int
		ReconsumeTimes  int32
		Properties      map[string]string
	}
}

func (g *goldenFrame) number(field string) int64 {
	GinkgoHelper()
	n, err := strconv.ParseInt(g.ExtFields[field], 10, 64)
	Expect(err).NotTo(HaveOccurred(), "field %s of %s", field, g.File)
	return n
}

// decoded gives the frame as a command.
func (g *goldenFrame) decoded() *wire.Command {
	GinkgoHelper()
	frame, err := os.ReadFile(filepath.Join("testdata/golden", g.File))
	Expect(err).NotTo(HaveOccurred())
	cmd := new(wire.Command)
	Expect(wire.DecodeCommand(frame[4:], cmd)).To(Succeed())
	return cmd
}

func loadGolden() map[string]*goldenFrame {
	text, err := os.ReadFile("testdata/golden/manifest.json")
	if err != nil {
		panic(err)
	}
	var list []*goldenFrame
	if err := json.Unmarshal(text, &list); err != nil {
		panic(err)
	}
	frames := map[string]*goldenFrame{}
	for _, g := range list {
		frames[g.File] = g
	}
	return frames
}

// asked makes the link ask what a captured request asks, and gives the result.
func asked(link actors.Link, g *goldenFrame, request *wire.Command) (any, error) {
	GinkgoHelper()
	e := g.ExtFields
	q := &messages.Queue{Topic: e["topic"], Broker: "broker-a"}
	if e["queueId"] != "" {
		q.Id = int32(g.number("queueId"))
	}
	group := e["consumerGroup"]
	switch wire.RequestCode(g.Code) {
	case wire.GetRouteInfoByTopic:
		return link.Route(ctx, e["topic"])
	case wire.HeartBeat:
		return nil, link.Heartbeat(ctx, brokerAddress, heartbeatOf(g))
	case wire.UnregisterClient:
		return nil, link.Unregister(ctx, brokerAddress, e["consumerGroup"], e["producerGroup"])
	case wire.GetConsumerListByGroup:
		return link.Members(ctx, brokerAddress, group)
	case wire.QueryConsumerOffset:
		return link.Committed(ctx, brokerAddress, group, q)
	case wire.UpdateConsumerOffset:
		if g.OneWay {
			return nil, link.CommitOneWay(ctx, brokerAddress, group, q, g.number("commitOffset"))
		}
		return nil, link.Commit(ctx, brokerAddress, group, q, g.number("commitOffset"))
	case wire.GetMinOffset:
		return link.MinOffset(ctx, brokerAddress, q)
	case wire.GetMaxOffset:
		return link.MaxOffset(ctx, brokerAddress, q)
	case wire.SearchOffsetByTimestamp:
		return link.OffsetAt(ctx, brokerAddress, q, time.UnixMilli(g.number("timestamp")))
	case wire.PullMessage:
		return pullNow(link, pullOf(g, q))
	case wire.LockBatchMQ:
		group, _, queues := locksOf(g)
		return link.Lock(ctx, brokerAddress, group, queues)
	case wire.UnlockBatchMQ:
		group, client, queues := locksOf(g)
		return nil, link.Unlock(ctx, brokerAddress, group, client, queues)
	case wire.ConsumerSendMsgBack:
		return nil, link.SendBack(ctx, &messages.SendBack{
			Address: brokerAddress, Broker: "broker-a", Group: e["group"], CommitLogOffset: g.number("offset"),
			DelayLevel: int32(g.number("delayLevel")), OriginMessageId: e["originMsgId"], OriginTopic: e["originTopic"],
			MaxReconsumeTimes: int32(g.number("maxReconsumeTimes")),
		})
	case wire.SendMessageV2, wire.SendBatchMessage:
		return link.Send(ctx, &messages.SendRequest{
			Address: brokerAddress, ProducerGroup: e["a"], Queue: &messages.Queue{Topic: e["b"], Broker: "broker-a", Id: int32(g.number("e"))},
			DefaultQueues: int32(g.number("d")), SysFlag: int32(g.number("f")), BornTimestamp: g.number("g"), Flag: int32(g.number("h")),
			Properties: []byte(e["i"]), ReconsumeTimes: int32(g.number("j")), Batch: e["m"] == "true", Body: request.Body,
		})
	default:
		Fail("no port method for " + g.File)
		return nil, nil
	}
}

// locksOf reads a captured request for locks with a JSON parser that is not ours.
func locksOf(g *goldenFrame) (group, client string, queues []*messages.Queue) {
	GinkgoHelper()
	var b struct {
		ClientID      string
		ConsumerGroup string
		MqSet         []struct {
			BrokerName, Topic string
			QueueID           int32
		}
	}
	Expect(json.Unmarshal([]byte(g.BodyText), &b)).To(Succeed())
	for _, q := range b.MqSet {
		queues = append(queues, &messages.Queue{Topic: q.Topic, Broker: q.BrokerName, Id: q.QueueID})
	}
	return b.ConsumerGroup, b.ClientID, queues
}

// heartbeatOf reads a captured heartbeat with a JSON parser that is not ours.
func heartbeatOf(g *goldenFrame) *messages.Heartbeat {
	GinkgoHelper()
	var b struct {
		ClientID        string
		ConsumerDataSet []struct {
			GroupName, ConsumeType, MessageModel, ConsumeFromWhere string
			SubscriptionDataSet                                    []struct {
				Topic, ExpressionType, SubString string
				SubVersion                       int64
				TagsSet                          []string
			}
		}
		ProducerDataSet []struct{ GroupName string }
	}
	Expect(json.Unmarshal([]byte(g.BodyText), &b)).To(Succeed())
	h := &messages.Heartbeat{ClientId: b.ClientID}
	for _, c := range b.ConsumerDataSet {
		data := &messages.GroupData{
			Group:       c.GroupName,
			Active:      c.ConsumeType == "CONSUME_ACTIVELY",
			Model:       messages.MessageModel(messages.MessageModel_value["MESSAGE_MODEL_"+c.MessageModel]),
			ConsumeFrom: messages.ConsumeFrom(messages.ConsumeFrom_value[c.ConsumeFromWhere]),
		}
		for _, s := range c.SubscriptionDataSet {
			data.Subscriptions = append(data.Subscriptions, &messages.Subscription{
				Topic: s.Topic, Kind: messages.FilterKind(messages.FilterKind_value["FILTER_KIND_"+s.ExpressionType]),
				Expression: s.SubString, Tags: s.TagsSet, Version: s.SubVersion,
			})
		}
		h.Groups = append(h.Groups, data)
	}
	for _, p := range b.ProducerDataSet {
		h.ProducerGroups = append(h.ProducerGroups, p.GroupName)
	}
	return h
}

func pullOf(g *goldenFrame, q *messages.Queue) *messages.PullRequest {
	GinkgoHelper()
	flags := int32(g.number("sysFlag"))
	kind := messages.FilterKind(messages.FilterKind_value["FILTER_KIND_"+g.ExtFields["expressionType"]])
	req := &messages.PullRequest{
		Address: brokerAddress, Group: g.ExtFields["consumerGroup"], Queue: q, Offset: g.number("queueOffset"),
		MaxMessages: int32(g.number("maxMsgNums")), CommitOffset: g.number("commitOffset"), Commit: flags&1 != 0,
		SubscriptionVersion: g.number("subVersion"), Kind: kind,
	}
	if g.ExtFields["maxMsgBytes"] != "" {
		req.MaxBytes = int32(g.number("maxMsgBytes"))
	}
	if flags&2 != 0 {
		req.SuspendMillis = g.number("suspendTimeoutMillis")
	}
	if flags&4 != 0 {
		req.Subscription = &messages.Subscription{Kind: kind, Expression: g.ExtFields["subscription"], Version: g.number("subVersion")}
	}
	return req
}

// expectedFields gives the fields that our request must have: those of the captured one, less what belongs to the Java client
// itself (stream type, credentials), and with our own suspend time where the flag for it is not set.
func expectedFields(g *goldenFrame) map[string]string {
	fields := maps.Clone(g.ExtFields)
	if fields == nil {
		fields = map[string]string{}
	}
	for _, k := range []string{"ReqT", "AccessKey", "Signature"} {
		delete(fields, k)
	}
	if g.Code == int32(wire.PullMessage) {
		if g.number("sysFlag")&2 == 0 {
			fields["suspendTimeoutMillis"] = "0"
		}
		fields["bname"] = "broker-a" // some were captured from a bare request
	}
	if g.Broker == "4.9.7" {
		// The Java client of that time knew fewer fields. Brokers ignore those they do not know.
		switch wire.RequestCode(g.Code) {
		case wire.SearchOffsetByTimestamp:
			fields["boundaryType"] = "LOWER"
		case wire.GetMaxOffset:
			fields["committed"] = "true"
		case wire.GetRouteInfoByTopic, wire.HeartBeat, wire.UnregisterClient, wire.GetConsumerListByGroup:
			return fields
		default:
		}
		if strings.HasPrefix(g.Name, "SEND") {
			fields["n"] = "broker-a"
		} else {
			fields["bname"] = "broker-a"
		}
	}
	return fields
}

// expectResult compares a result with what the Java client read in the captured answer.
func expectResult(g, answer *goldenFrame, result any, err error) {
	GinkgoHelper()
	code := wire.ResponseCode(answer.Code)
	request := wire.RequestCode(g.Code)
	switch {
	case request == wire.GetRouteInfoByTopic && code == wire.TopicNotExist:
		Expect(err).To(MatchError(messages.ErrNoRoute))
		Expect(err).To(Equal(&messages.NoRouteError{Topic: g.ExtFields["topic"]}))
		return
	case request == wire.QueryConsumerOffset && code == wire.QueryNotFound:
		Expect(err).To(BeIdenticalTo(messages.ErrNoOffset))
		return
	case request == wire.PullMessage && (code == wire.PullNotFound || code == wire.PullRetryImmediately || code == wire.PullOffsetMoved):
	case code != wire.Success:
		var refused *messages.BrokerError
		Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
		Expect(refused.GetCode()).To(Equal(answer.Code))
		Expect(answer.Note).To(HaveSuffix(refused.GetCodeName()), "the name of the code")
		Expect(refused.GetRequest()).To(Equal(g.Name))
		Expect(refused.GetAddress()).To(Equal(brokerAddress))
		Expect(refused.GetRemark()).To(Equal(answer.Remark))
		Expect(err.Error()).To(ContainSubstring(answer.Remark))
		return
	}
	Expect(err).NotTo(HaveOccurred())
	switch request {
	case wire.GetRouteInfoByTopic:
		expectRoute(result.(*messages.TopicRoute), g.ExtFields["topic"], answer)
	case wire.GetConsumerListByGroup:
		var body struct{ ConsumerIDList []string }
		Expect(json.Unmarshal([]byte(answer.BodyText), &body)).To(Succeed())
		Expect(result).To(Equal(body.ConsumerIDList))
	case wire.QueryConsumerOffset, wire.GetMinOffset, wire.GetMaxOffset, wire.SearchOffsetByTimestamp:
		Expect(result).To(Equal(answer.number("offset")))
	case wire.LockBatchMQ:
		var body struct {
			LockOKMQSet []struct {
				BrokerName, Topic string
				QueueID           int32
			}
		}
		Expect(json.Unmarshal([]byte(answer.BodyText), &body)).To(Succeed())
		Expect(result).To(HaveLen(len(body.LockOKMQSet)))
		for i, q := range body.LockOKMQSet {
			Expect(result.([]*messages.Queue)[i].Key()).To(Equal(messages.QueueKey{Topic: q.Topic, Broker: q.BrokerName, ID: q.QueueID}))
		}
	case wire.PullMessage:
		expectPulled(result.(*messages.PullReply), answer)
	case wire.SendMessageV2, wire.SendBatchMessage:
		receipt := result.(*messages.SendReceipt)
		Expect(receipt.GetMessageId()).To(Equal(answer.ExtFields["msgId"]))
		Expect(receipt.GetQueueOffset()).To(Equal(answer.number("queueOffset")))
		Expect(receipt.GetQueue().Text()).To(Equal(g.ExtFields["b"] + "@broker-a/" + answer.ExtFields["queueId"]))
		Expect(receipt.GetCaveat()).To(BeEmpty())
		Expect(receipt.GetUniqueIds()).To(Equal(deliveredIDs(g)))
	default: // nothing but success
	}
}

// deliveredIDs gives the ids under which what was sent is delivered: the one outside a batch takes the place of those inside.
func deliveredIDs(g *goldenFrame) []string {
	var outside string
	if _, rest, ok := strings.Cut(g.ExtFields["i"], "UNIQ_KEY\x01"); ok {
		outside, _, _ = strings.Cut(rest, "\x02")
	}
	if len(g.Messages) == 0 {
		return []string{outside}
	}
	var ids []string
	for _, m := range g.Messages {
		ids = append(ids, cmp.Or(outside, m.Properties["UNIQ_KEY"]))
	}
	return ids
}

func expectRoute(route *messages.TopicRoute, topic string, answer *goldenFrame) {
	GinkgoHelper()
	var body struct {
		QueueDatas []struct {
			BrokerName                                        string
			Perm, ReadQueueNums, WriteQueueNums, TopicSysFlag int32
		}
		BrokerDatas []struct {
			BrokerName, Cluster string
			BrokerAddrs         map[int64]string
		}
	}
	Expect(json.Unmarshal([]byte(answer.BodyText), &body)).To(Succeed())
	Expect(route.GetTopic()).To(Equal(topic))
	Expect(route.GetQueues()).To(HaveLen(len(body.QueueDatas)))
	for i, q := range body.QueueDatas {
		Expect(route.GetQueues()[i]).To(And(HaveField("Broker", q.BrokerName), HaveField("ReadQueues", q.ReadQueueNums),
			HaveField("WriteQueues", q.WriteQueueNums), HaveField("Perm", q.Perm), HaveField("TopicSysFlag", q.TopicSysFlag)))
	}
	Expect(route.GetBrokers()).To(HaveLen(len(body.BrokerDatas)))
	for i, b := range body.BrokerDatas {
		Expect(route.GetBrokers()[i]).To(And(HaveField("Broker", b.BrokerName), HaveField("Cluster", b.Cluster), HaveField("Addresses", b.BrokerAddrs)))
	}
}

func expectPulled(reply *messages.PullReply, answer *goldenFrame) {
	GinkgoHelper()
	status := map[wire.ResponseCode]messages.PullStatus{
		wire.Success:              messages.PullStatus_PULL_STATUS_FOUND,
		wire.PullNotFound:         messages.PullStatus_PULL_STATUS_NO_NEW_MSG,
		wire.PullRetryImmediately: messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG,
		wire.PullOffsetMoved:      messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL,
	}
	Expect(reply.GetStatus()).To(Equal(status[wire.ResponseCode(answer.Code)]))
	Expect(reply.GetNextOffset()).To(Equal(answer.number("nextBeginOffset")))
	Expect(reply.GetMinOffset()).To(Equal(answer.number("minOffset")))
	Expect(reply.GetMaxOffset()).To(Equal(answer.number("maxOffset")))
	Expect(reply.GetSuggestedBrokerId()).To(Equal(answer.number("suggestWhichBrokerId")))
}

var _ = Describe("A captured exchange of the Java client", func() {
	frames := loadGolden()
	for file, g := range frames {
		if !strings.HasPrefix(g.Direction, "client->") || !strings.Contains(g.Direction, "request") {
			continue
		}
		It("is repeated field for field, and its answer read alike: "+file, func() {
			inVirtualTime(func() {
				answer := frames[g.PairedWith]
				request := g.decoded()
				s := newStage()
				got := make(chan *wire.Command, 8)
				handle := func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
					got <- cmd
					if answer == nil || cmd.IsOneWay() {
						return nil
					}
					reply := answer.decoded()
					return reply
				}
				s.serve(nameServer, handle)
				s.serve(brokerAddress, handle)
				link := s.open(func(c *rocketmq.Cluster, cfg *actors.LinkConfig) {
					c.NamespaceV2 = g.ExtFields["ns"]
					if id := g.ExtFields["clientID"]; id != "" {
						cfg.ClientID = id
					}
					if g.Code == int32(wire.LockBatchMQ) {
						_, cfg.ClientID, _ = locksOf(g)
					}
				})

				if g.OneWay && g.Code != int32(wire.UpdateConsumerOffset) {
					answer = frames["5.3.3/012-SEND_MESSAGE_V2-response-plain-0-SUCCESS.bin"] // ours waits for the answer
				}
				result, err := asked(link, g, request)
				synctest.Wait()

				Expect(got).To(HaveLen(1))
				ours := <-got
				Expect(ours.Code).To(Equal(g.Code))
				Expect(ours.IsOneWay()).To(Equal(g.OneWay && g.Code == int32(wire.UpdateConsumerOffset)))
				Expect(ours.Language).To(Equal(wire.Go))
				Expect(ours.Version).To(BeEquivalentTo(479))
				Expect(maps.Collect(ours.Ext.All())).To(Equal(expectedFields(g)))
				switch {
				case g.Code == int32(wire.HeartBeat):
					text := g.BodyText
					if !strings.Contains(text, "heartbeatFingerprint") { // 4.9.7 did not have these
						text = strings.Replace(text, `,"producerDataSet"`, `,"heartbeatFingerprint":0,"producerDataSet"`, 1)
						text = strings.TrimSuffix(text, "}") + `,"withoutSub":false}`
					}
					Expect(ours.Body).To(MatchJSON(text))
				default:
					Expect(ours.Body).To(Equal(request.Body))
				}

				if answer != nil && !g.OneWay {
					expectResult(g, answer, result, err)
					if reply, ok := result.(*messages.PullReply); ok && err == nil {
						expectDecoded(link, reply, g, answer)
					}
				} else {
					Expect(err).NotTo(HaveOccurred())
				}
				Expect(link.Close()).To(Succeed())
				s.stop()
			})
		})
	}
})

// expectDecoded compares the messages of a pull with what the Java client read.
func expectDecoded(link actors.Link, reply *messages.PullReply, g, answer *goldenFrame) {
	GinkgoHelper()
	q := &messages.Queue{Topic: g.ExtFields["topic"], Broker: "broker-a", Id: int32(g.number("queueId"))}
	slab, corrupt := link.Decode(reply, q, g.ExtFields["consumerGroup"])
	Expect(corrupt).To(BeEmpty())
	Expect(slab).To(HaveLen(len(answer.Messages)))
	for i, want := range answer.Messages {
		m := &slab[i]
		topic := want.Topic
		if origin := want.Properties["RETRY_TOPIC"]; origin != "" && strings.HasPrefix(topic, "%RETRY%") {
			topic = origin
		}
		Expect(m.GetTopic()).To(Equal(topic))
		Expect(m.GetBroker()).To(Equal("broker-a"))
		Expect(m.GetQueueId()).To(Equal(q.GetId()))
		Expect(m.GetQueueOffset()).To(Equal(want.QueueOffset))
		Expect(m.GetCommitLogOffset()).To(Equal(want.CommitLogOffset))
		Expect(m.GetReconsumeTimes()).To(Equal(want.ReconsumeTimes))
		Expect(m.GetBody()).To(HaveLen(want.BodyLen))
		Expect(m.MessageID()).To(Equal(want.MsgID))
	}
}
