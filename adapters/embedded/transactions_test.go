package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// The topics of transactions and the outcomes of one, as on the wire.
const (
	halfTopic      = "RMQ_SYS_TRANS_HALF_TOPIC"
	opTopic        = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
	uncheckedTopic = "TRANS_CHECK_MAX_TIME_TOPIC"
	commit         = "8"
	rollback       = "12"
	unknown        = "0"
)

// produces is a heartbeat of a producer group.
func (p *peer) produces(group string) {
	GinkgoHelper()
	body, err := json.Marshal(map[string]any{
		"clientID": p.id, "consumerDataSet": []any{}, "heartbeatFingerprint": 0, "withoutSub": false,
		"producerDataSet": []map[string]any{{"groupName": "CLIENT_INNER_PRODUCER"}, {"groupName": group}},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(code(p.ask(request(wire.HeartBeat, nil, string(body))))).To(Equal(wire.Success))
}

// half asks to store a half message of the group GoldTxPG, born now, as the Java client writes it.
func half(topic string, queue int, body string, properties ...string) *wire.Command {
	text := "TRAN_MSG\x01true\x02UNIQ_KEY\x01ID-" + body + "\x02WAIT\x01true\x02PGROUP\x01GoldTxPG\x02TAGS\x01TagX\x02"
	return send(topic, queue, body, strings.Join(properties, "")+text, "a", "GoldTxPG", "f", "4", "g", fmt.Sprint(time.Now().UnixMilli()))
}

// prepared stores a half message and gives the fields of the END_TRANSACTION that belongs to it.
func (p *peer) prepared(topic string, queue int, body string, properties ...string) map[string]string {
	GinkgoHelper()
	answer := p.ask(half(topic, queue, body, properties...))
	Expect(code(answer)).To(Equal(wire.Success), answer.Remark)
	at, err := wire.CommitLogOffset(answer.Ext.Text("msgId"))
	Expect(err).NotTo(HaveOccurred())
	return map[string]string{
		"bname": "broker-a", "commitLogOffset": fmt.Sprint(at), "fromTransactionCheck": "false", "msgId": answer.Ext.Text("transactionId"),
		"producerGroup": "GoldTxPG", "topic": topic, "tranStateTableOffset": answer.Ext.Text("queueOffset"), "transactionId": answer.Ext.Text("transactionId"),
	}
}

// end says what became of a half message and gives the answer, which producers do not wait for.
func (p *peer) end(ext map[string]string, outcome string, changes ...string) *wire.Command {
	GinkgoHelper()
	ext = maps.Clone(ext)
	ext["commitOrRollback"] = outcome
	change(ext, changes)
	return p.ask(request(wire.EndTransaction, ext, ""))
}

// storedTransaction is one record of a real broker's store.
type storedTransaction struct {
	Topic           string            `json:"topic"`
	Queue           int32             `json:"queue"`
	QueueOffset     int64             `json:"queueOffset"`
	CommitLogOffset int64             `json:"commitLogOffset"`
	SysFlag         int32             `json:"sysFlag"`
	Flag            int32             `json:"flag"`
	ReconsumeTimes  int32             `json:"reconsumeTimes"`
	Prepared        int64             `json:"prepared"`
	Body            string            `json:"body"`
	Size            int               `json:"size"`
	Properties      map[string]string `json:"properties"`
}

// realTransactions are the records of one commit, one rollback and one message that was asked about once, on a broker 5.3.3.
func realTransactions() (list []storedTransaction) {
	GinkgoHelper()
	text, err := os.ReadFile("testdata/transactions.json")
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal(text, &list)).To(Succeed())
	return list
}

// Source: observed.md 9, EndTransactionProcessor and TransactionalMessageBridge of 5.3.3, and the records of a real broker's store.
var _ = Describe("transactions", func() {
	var (
		b *embedded.Broker
		p *peer
	)
	setUp := func(cfg embedded.Config) {
		b = startBroker(cfg)
		Expect(b.CreateTopic("Orders", 4)).To(Succeed())
		p = connect(b, "producer-1")
	}

	It("keep half messages from consumers, deliver what is committed and nothing of what is rolled back", func() {
		setUp(embedded.Config{})
		first, second := p.prepared("Orders", 2, "one"), p.prepared("Orders", 2, "two")
		Expect(b.CountMessages("Orders")).To(BeZero())
		Expect(bodies(b.MessagesIn(halfTopic))).To(Equal([]string{"one", "two"}))
		Expect(code(p.end(first, commit))).To(Equal(wire.Success))
		Expect(code(p.end(second, rollback))).To(Equal(wire.Success))
		Expect(bodies(b.MessagesIn("Orders"))).To(Equal([]string{"one"}))
		Expect(b.MessagesIn("Orders")[0].GetQueueId()).To(Equal(int32(2)))
		Expect(bodies(b.MessagesIn(opTopic))).To(Equal([]string{"0", "1"}))
	})
	It("answer the sending of a half message with the queue it is meant for and its offset among the halves", func() {
		setUp(embedded.Config{})
		p.prepared("Orders", 1, "zero")
		answer := p.ask(half("Orders", 2, "one"))
		Expect(fields(answer)).To(Equal(map[string]string{
			"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "msgId": b.MessagesIn(halfTopic)[1].OffsetID(),
			"queueId": "2", "queueOffset": "1", "transactionId": "ID-one",
		}))
	})
	It("wake who waits for the message, when it is committed", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			p, c := w.peer("producer-1"), w.peer("consumer-1")
			c.join("billing", sub{topic: "Orders", version: 1})
			waiting := c.later(pull("billing", "Orders", 0, 0, "sysFlag", "2"))
			synctest.Wait()
			ext := p.prepared("Orders", 0, "one")
			time.Sleep(time.Second)
			synctest.Wait()
			Expect(waiting).NotTo(Receive())
			p.end(ext, commit)
			synctest.Wait()
			var answer *wire.Command
			Expect(waiting).To(Receive(&answer))
			Expect(bodies(received(answer))).To(Equal([]string{"one"}))
			Expect(w.seconds()).To(Equal(1.0))
		})
	})
	It("store what a real broker stores", func() {
		setUp(embedded.Config{})
		Expect(b.CreateTopic("StoreTopic", 4)).To(Succeed())
		Expect(b.Publish(texts("Orders", 0, "so that no half message lies at the beginning of the log")...)).To(Succeed())
		real := realTransactions()
		Expect(real).To(HaveLen(6))
		dress := func(r storedTransaction) string {
			return "KEYS\x01" + r.Properties["KEYS"] + "\x02TRAN_MSG\x01true\x02UNIQ_KEY\x01" + r.Properties["UNIQ_KEY"] +
				"\x02WAIT\x01true\x02PGROUP\x01GoldTxPG\x02TAGS\x01TagX\x02"
		}
		same := func(got *messages.Message, want storedTransaction, prepared int64) {
			GinkgoHelper()
			Expect(maps.Collect(got.Properties())).To(Equal(want.Properties))
			Expect([]any{got.GetTopic(), got.GetQueueId(), got.GetSysFlag(), got.GetFlag(), got.GetReconsumeTimes(), string(got.GetBody())}).To(Equal(
				[]any{want.Topic, want.Queue, want.SysFlag, want.Flag, want.ReconsumeTimes, want.Body}))
			Expect(got.GetPreparedTransactionOffset()).To(Equal(prepared))
			record, err := wire.AppendMessage(nil, got)
			Expect(err).NotTo(HaveOccurred())
			Expect(record).To(HaveLen(want.Size))
		}
		var ends []map[string]string
		for k, queue := range []int{0, 1} {
			answer := p.ask(send("StoreTopic", queue, real[k].Body, dress(real[k]), "a", "GoldTxPG", "f", "4"))
			m := b.MessagesIn(halfTopic)[k]
			same(m, real[k], 0)
			Expect(m.GetQueueOffset()).To(Equal(real[k].QueueOffset))
			ends = append(ends, map[string]string{
				"commitLogOffset": fmt.Sprint(m.GetCommitLogOffset()), "msgId": real[k].Properties["UNIQ_KEY"], "producerGroup": "GoldTxPG",
				"tranStateTableOffset": answer.Ext.Text("queueOffset"),
			})
		}
		Expect(code(p.end(ends[0], commit))).To(Equal(wire.Success))
		Expect(code(p.end(ends[1], rollback))).To(Equal(wire.Success))
		same(b.MessagesIn("StoreTopic")[0], real[2], b.MessagesIn(halfTopic)[0].GetCommitLogOffset())
		Expect(real[2].Prepared).To(Equal(real[0].CommitLogOffset))
		op := b.MessagesIn(opTopic)[0]
		Expect(maps.Collect(op.Properties())).To(Equal(real[4].Properties))
		Expect([]any{op.GetTopic(), op.GetQueueId(), op.GetSysFlag()}).To(Equal([]any{real[4].Topic, real[4].Queue, real[4].SysFlag}))
	})
	It("keep a body as it came, its flag, its times and where it came from", func() {
		setUp(embedded.Config{})
		answer := p.ask(send("Orders", 3, "packed", "TRAN_MSG\x01TRUE\x02UNIQ_KEY\x01U\x02PGROUP\x01GoldTxPG\x02", "f", "773", "h", "7", "j", "1"))
		h := b.MessagesIn(halfTopic)[0]
		Expect(h.GetSysFlag()).To(Equal(int32(773 - 4)))
		Expect(code(p.end(map[string]string{
			"commitLogOffset": fmt.Sprint(h.GetCommitLogOffset()), "msgId": "U", "producerGroup": "GoldTxPG", "tranStateTableOffset": answer.Ext.Text("queueOffset"),
		}, commit))).To(Equal(wire.Success))
		m := b.MessagesIn("Orders")[0]
		Expect([]any{m.GetSysFlag(), m.GetFlag(), m.GetReconsumeTimes(), m.GetBornTimestamp(), m.GetBornHost(), string(m.GetBody())}).To(Equal(
			[]any{int32(773 - 4 + 8), int32(7), int32(1), h.GetBornTimestamp(), h.GetBornHost(), "packed"}))
	})
	It("say nothing to a producer that does not know yet, and store nothing", func() {
		setUp(embedded.Config{})
		ext := p.prepared("Orders", 0, "one")
		ext["commitOrRollback"] = unknown
		Expect(p.try(request(wire.EndTransaction, ext, ""), 50*time.Millisecond)).To(HaveOccurred())
		Expect(b.CountMessages("Orders") + b.CountMessages(opTopic)).To(BeZero())
	})
	It("deliver a message as often as it is committed, which real brokers do not look into either", func() {
		setUp(embedded.Config{})
		ext := p.prepared("Orders", 0, "one")
		p.end(ext, commit)
		p.end(ext, commit)
		Expect(bodies(b.MessagesIn("Orders"))).To(Equal([]string{"one", "one"}))
	})

	DescribeTable("refuse an end that does not fit the half message", func(field, value string, want wire.ResponseCode, remark string) {
		setUp(embedded.Config{})
		p.prepared("Orders", 0, "one")
		ext := p.prepared("Orders", 0, "two")
		for _, outcome := range []string{commit, rollback} {
			answer := p.end(ext, outcome, field, value)
			Expect(code(answer)).To(Equal(want))
			Expect(answer.Remark).To(ContainSubstring(remark))
		}
		Expect(b.CountMessages("Orders") + b.CountMessages(opTopic)).To(BeZero())
	},
		Entry("of another producer group", "producerGroup", "Others", wire.SystemError, "The producer group wrong"),
		Entry("at another offset", "tranStateTableOffset", "0", wire.SystemError, "The transaction state table offset wrong"),
		Entry("beyond the log", "commitLogOffset", "1000000", wire.SystemError, "Find prepared transaction message failed"),
		Entry("that is neither commit nor rollback", "commitOrRollback", "4", wire.SystemError, "commitOrRollback field wrong"),
		Entry("without a group", "producerGroup", "", wire.SystemError, "producerGroup"),
		Entry("without a message id", "msgId", "", wire.SystemError, "msgId"),
	)
	It("refuse an end that comes later than the message asked its producers to be left alone", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			p := w.peer("producer-1")
			ext := p.prepared("Orders", 0, "one", "CHECK_IMMUNITY_TIME_IN_SECONDS\x0110\x02")
			time.Sleep(10*time.Second + time.Millisecond)
			Expect(code(p.end(ext, commit))).To(Equal(wire.IllegalOperation))
			Expect(code(p.end(ext, rollback))).To(Equal(wire.IllegalOperation))
			Expect(code(p.end(ext, commit, "fromTransactionCheck", "true"))).To(Equal(wire.Success))
			short := p.prepared("Orders", 0, "two", "CHECK_IMMUNITY_TIME_IN_SECONDS\x011\x02")
			time.Sleep(6 * time.Second)
			Expect(code(p.end(short, commit))).To(Equal(wire.Success), "the broker's own time is the least")
		})
	})
	It("are refused if they are not wanted", func() {
		setUp(embedded.Config{NoTransactions: true})
		answer := p.ask(half("Orders", 0, "one"))
		Expect(code(answer)).To(Equal(wire.NoPermission))
		Expect(answer.Remark).To(Equal("the broker[127.0.0.1] sending transaction message is forbidden"))
		Expect(code(p.ask(send("Orders", 0, "plain", "TRAN_MSG\x01false\x02")))).To(Equal(wire.Success))
		Expect(bodies(b.MessagesIn("Orders"))).To(Equal([]string{"plain"}))
	})
	It("are not begun by a message that a consumer sends back with the mark still on", func() {
		setUp(embedded.Config{})
		p.ask(send("%RETRY%billing", 0, "again", "TRAN_MSG\x01true\x02DELAY\x011\x02", "j", "1", "l", "16"))
		Expect(b.MessagesIn("SCHEDULE_TOPIC_XXXX")[0].Property("REAL_TOPIC")).To(Equal("%RETRY%billing"))
	})
	It("lose a half message that is to be delayed, as real brokers do, whose clients take the delay off", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			w.peer("producer-1").prepared("Orders", 0, "one", "DELAY\x011\x02")
			Expect(w.broker.CountMessages(halfTopic)).To(BeZero())
			Expect(w.broker.CountMessages("SCHEDULE_TOPIC_XXXX")).To(Equal(int64(1)))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			Expect(w.broker.CountMessages(halfTopic) + w.broker.CountMessages("Orders")).To(BeZero())
		})
	})
	It("outlive the broker's restart between the halves", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
			ext := w.peer("producer-1").prepared("Orders", 0, "one")
			Expect(w.broker.Stop()).To(Succeed())
			Expect(w.broker.Restart(context.Background(), w.listen(brokerAddr))).To(Succeed())
			Expect(code(w.peer("producer-2").end(ext, commit))).To(Equal(wire.Success))
			Expect(bodies(w.broker.MessagesIn("Orders"))).To(Equal([]string{"one"}))
		})
	})
})
