package embedded_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// Source: TransactionalMessageServiceImpl and AbstractTransactionalMessageCheckListener of 5.3.3, and a real broker's store.
var _ = Describe("asking producers what became of half messages", func() {
	// inTransactions gives a broker with the topic Orders and a producer that is online.
	inTransactions := func(cfg embedded.Config, body func(w *world, p *peer)) {
		inWorld(cfg, func(w *world) {
			Expect(w.broker.CreateTopic("Orders", 4)).To(Succeed())
			p := w.peer("producer-1")
			p.produces("GoldTxPG")
			body(w, p)
		})
	}
	// wait lets time pass up to a second since the world began, with heartbeats.
	wait := func(w *world, until float64, ps ...*peer) {
		GinkgoHelper()
		for w.seconds() < until {
			time.Sleep(min(30*time.Second, time.Duration((until-w.seconds())*float64(time.Second))))
			for _, p := range ps {
				p.produces("GoldTxPG")
			}
		}
		synctest.Wait()
	}
	// asked takes the question that must have come.
	asked := func(p *peer) (*wire.Command, *messages.Message) {
		GinkgoHelper()
		var cmd *wire.Command
		Expect(p.pushed).To(Receive(&cmd))
		Expect(code(cmd)).To(BeEquivalentTo(wire.CheckTransactionState))
		Expect(cmd.IsOneWay()).To(BeTrue())
		list, _, err := wire.DecodeMessages(nil, cmd.Body, &wire.DecodeOptions{OwnQueueID: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(list).To(HaveLen(1))
		return cmd, &list[0]
	}
	// reply is what the Java client answers to a question.
	reply := func(cmd *wire.Command) map[string]string {
		return map[string]string{
			"bname": cmd.Ext.Text("bname"), "commitLogOffset": cmd.Ext.Text("commitLogOffset"), "fromTransactionCheck": "true",
			"msgId": cmd.Ext.Text("msgId"), "producerGroup": "GoldTxPG", "tranStateTableOffset": cmd.Ext.Text("tranStateTableOffset"),
			"transactionId": cmd.Ext.Text("transactionId"),
		}
	}
	progress := func(w *world, topic string) int64 {
		offset, _ := w.broker.Committed("CID_RMQ_SYS_TRANS", topic, 0)
		return offset
	}

	It("begins at the first round after 6 s, with the message under its real topic and where it is stored now", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			real := realTransactions()[5]
			sent := half("Orders", 2, "one", "KEYS\x01txu\x02")
			sent.Ext.Set("h", "7")
			Expect(code(p.ask(sent))).To(Equal(wire.Success))
			born := time.Now().UnixMilli()
			wait(w, 29.999)
			Expect(p.pushed).NotTo(Receive())
			wait(w, 30)
			cmd, m := asked(p)
			list := w.broker.MessagesIn(halfTopic)
			Expect(list).To(HaveLen(2))
			Expect(fields(cmd)).To(Equal(map[string]string{
				"bname": "broker-a", "commitLogOffset": fmt.Sprint(list[1].GetCommitLogOffset()), "msgId": "ID-one", "offsetMsgId": list[1].OffsetID(),
				"topic": halfTopic, "tranStateTableOffset": "1", "transactionId": "ID-one",
			}))
			Expect([]any{m.GetTopic(), m.GetQueueId(), m.GetQueueOffset(), m.GetCommitLogOffset(), m.GetBornTimestamp(), string(m.GetBody())}).To(Equal(
				[]any{"Orders", int32(2), int64(1), list[1].GetCommitLogOffset(), born, "one"}))
			want := maps.Clone(real.Properties)
			maps.Copy(want, map[string]string{"REAL_TOPIC": "Orders", "UNIQ_KEY": "ID-one", "__transactionId__": "ID-one"})
			Expect(maps.Collect(m.Properties())).To(Equal(want))
			Expect(maps.Collect(list[1].Properties())).To(Equal(want))
			Expect([]any{list[1].GetTopic(), list[1].GetQueueId(), list[1].GetSysFlag(), list[1].GetPreparedTransactionOffset()}).To(Equal(
				[]any{real.Topic, real.Queue, real.SysFlag, real.Prepared}))
			Expect([]any{m.GetFlag(), list[1].GetFlag()}).To(Equal([]any{int32(7), int32(0)}), "TransactionalMessageBridge.renewHalfMessageInner leaves it out")
			Expect(p.pushed).NotTo(Receive())
		})
	})
	It("is over when the answer says so: a commit delivers, a rollback does not", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			p.prepared("Orders", 0, "one")
			p.prepared("Orders", 1, "two")
			wait(w, 30)
			for range 2 {
				cmd, m := asked(p)
				outcome := map[string]string{"one": commit, "two": rollback}[string(m.GetBody())]
				Expect(code(p.end(reply(cmd), outcome))).To(Equal(wire.Success))
			}
			Expect(bodies(w.broker.MessagesIn("Orders"))).To(Equal([]string{"one"}))
			wait(w, 300, p)
			Expect(p.pushed).NotTo(Receive())
			Expect(w.broker.CountMessages(halfTopic)).To(Equal(int64(4)))
			Expect([]int64{progress(w, halfTopic), progress(w, opTopic)}).To(Equal([]int64{4, 2}))
		})
	})
	It("asks nothing about what was decided in time", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			p.end(p.prepared("Orders", 0, "one"), commit)
			p.end(p.prepared("Orders", 0, "two"), rollback)
			wait(w, 100, p)
			Expect(p.pushed).NotTo(Receive())
			Expect(w.broker.CountMessages(halfTopic)).To(Equal(int64(2)))
			Expect([]int64{progress(w, halfTopic), progress(w, opTopic)}).To(Equal([]int64{2, 2}))
		})
	})
	It("understands operations that a real broker of 5.x has put together, and goes past those that the log has lost", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			for k := range 4 {
				p.prepared("Orders", 0, fmt.Sprint(k))
			}
			operations := append(slices.Repeat([]string{"0"}, 20), "1", "3,2,")
			for _, ended := range operations {
				op := texts(opTopic, 0, ended)
				op[0].SetProperty("TAGS", "d")
				Expect(w.broker.Publish(op...)).To(Succeed())
			}
			w.broker.Trim(opTopic, 0, 20)
			wait(w, 30)
			_, m := asked(p)
			Expect(string(m.GetBody())).To(Equal("0"))
			Expect(p.pushed).NotTo(Receive())
			Expect([]int64{progress(w, halfTopic), progress(w, opTopic)}).To(Equal([]int64{4, 22}))
		})
	})
	It("leaves a message alone until it is old enough, and what came after it", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			wait(w, 24.001)
			p.prepared("Orders", 0, "young")
			wait(w, 30)
			Expect(p.pushed).NotTo(Receive())
			Expect(progress(w, halfTopic)).To(BeZero())
			wait(w, 60)
			_, m := asked(p)
			Expect(string(m.GetBody())).To(Equal("young"))
		})
	})
	It("follows the configuration", func() {
		inTransactions(embedded.Config{TransactionTimeout: time.Second, TransactionCheckInterval: 2 * time.Second, TransactionCheckMax: 2}, func(w *world, p *peer) {
			p.prepared("Orders", 0, "one")
			wait(w, 1.999)
			Expect(p.pushed).NotTo(Receive())
			wait(w, 2)
			asked(p)
			wait(w, 4)
			asked(p)
			wait(w, 20)
			Expect(p.pushed).NotTo(Receive())
			Expect(bodies(w.broker.MessagesIn(uncheckedTopic))).To(Equal([]string{"one"}))
			properties := wire.DecodeProperties(p.ask(request(wire.GetBrokerConfig, nil, "")).Body)
			Expect(properties).To(HaveKeyWithValue("transactionTimeOut", "1000"))
			Expect(properties).To(HaveKeyWithValue("transactionCheckInterval", "2000"))
			Expect(properties).To(HaveKeyWithValue("transactionCheckMax", "2"))
			Expect(properties).To(HaveKeyWithValue("rejectTransactionMessage", "false"))
		})
	})
	It("gives up after 15 times and puts the message where an operator finds it", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			p.prepared("Orders", 3, "one")
			for times := range 15 {
				wait(w, float64(30*(times+1)), p)
				_, m := asked(p)
				Expect(m.Property("TRANSACTION_CHECK_TIMES")).To(Equal(strconv.Itoa(times + 1)))
			}
			wait(w, 900, p)
			Expect(p.pushed).NotTo(Receive())
			lost := w.broker.MessagesIn(uncheckedTopic)
			Expect(bodies(lost)).To(Equal([]string{"one"}))
			Expect(lost[0].Property("REAL_TOPIC")).To(Equal("Orders"))
			Expect(lost[0].Property("TRANSACTION_CHECK_TIMES")).To(Equal("15"))
			Expect(progress(w, halfTopic)).To(Equal(w.broker.MaxOffset(halfTopic, 0)))
			route, err := wire.DecodeTopicRouteData(p.ask(request(wire.GetRouteInfoByTopic, map[string]string{"topic": uncheckedTopic}, "")).Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(route.Queues).To(Equal([]wire.QueueData{{Broker: "broker-a", ReadQueues: 1, WriteQueues: 1, Perm: 6}}))
		})
	})
	It("gives up a message that has become three days old", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			answer := p.ask(send("Orders", 0, "ancient", "TRAN_MSG\x01true\x02PGROUP\x01GoldTxPG\x02", "g", fmt.Sprint(time.Now().Add(-72*time.Hour).UnixMilli())))
			Expect(code(answer)).To(Equal(wire.Success))
			wait(w, 30)
			Expect(p.pushed).NotTo(Receive())
			Expect(bodies(w.broker.MessagesIn(uncheckedTopic))).To(Equal([]string{"ancient"}))
		})
	})
	It("asks one connection of the group at a time, in turn, and nobody of other groups", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			two, other := w.peer("producer-2"), w.peer("other")
			two.produces("GoldTxPG")
			other.produces("Others")
			p.prepared("Orders", 0, "one")
			turns := map[*peer]int{}
			for times := range 4 {
				wait(w, float64(30*(times+1)), p, two)
				for _, q := range []*peer{p, two} {
					select {
					case <-q.pushed:
						turns[q]++
					default:
					}
				}
			}
			Expect(turns).To(Equal(map[*peer]int{p: 2, two: 2}))
			Expect(other.pushed).NotTo(Receive())
		})
	})
	It("counts a round in which nobody of the group is there", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			p.prepared("Orders", 0, "one")
			p.ask(request(wire.UnregisterClient, map[string]string{"clientID": "producer-1", "producerGroup": "GoldTxPG"}, ""))
			wait(w, 30)
			Expect(p.pushed).NotTo(Receive())
			p.produces("GoldTxPG")
			wait(w, 60)
			_, m := asked(p)
			Expect(m.Property("TRANSACTION_CHECK_TIMES")).To(Equal("2"))
		})
	})
	It("respects the time that a message claims for itself, and lets others pass by it", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			p.prepared("Orders", 0, "slow", "CHECK_IMMUNITY_TIME_IN_SECONDS\x01100\x02")
			p.prepared("Orders", 0, "quick")
			wait(w, 30)
			_, m := asked(p)
			Expect(string(m.GetBody())).To(Equal("quick"))
			again := w.broker.MessagesIn(halfTopic)[2]
			Expect([]string{string(again.GetBody()), again.Property("TRAN_PREPARED_QUEUE_OFFSET")}).To(Equal([]string{"slow", "0"}))
			wait(w, 90, p)
			for len(p.pushed) > 0 {
				_, m := asked(p)
				Expect(string(m.GetBody())).To(Equal("quick"))
			}
			wait(w, 120, p)
			got := map[string]*wire.Command{}
			for len(p.pushed) > 0 {
				cmd, m := asked(p)
				got[string(m.GetBody())] = cmd
			}
			Expect(got).To(HaveKey("slow"))
			Expect(code(p.end(reply(got["slow"]), commit))).To(Equal(wire.Success))
			Expect(bodies(w.broker.MessagesIn("Orders"))).To(Equal([]string{"slow"}))
		})
	})
	It("asks nothing about a message that was decided while it waited elsewhere", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			ext := p.prepared("Orders", 0, "slow", "CHECK_IMMUNITY_TIME_IN_SECONDS\x01100\x02")
			wait(w, 40, p)
			Expect(code(p.end(ext, commit))).To(Equal(wire.Success))
			wait(w, 600, p)
			Expect(p.pushed).NotTo(Receive())
			Expect(bodies(w.broker.MessagesIn("Orders"))).To(Equal([]string{"slow"}))
			Expect(w.broker.CountMessages(uncheckedTopic)).To(BeZero())
			Expect([]int64{progress(w, halfTopic), progress(w, opTopic)}).To(Equal([]int64{2, 1}))
		})
	})
	It("goes on after a restart where it was: nothing is lost, asked for again or forgotten", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			restart := func() *peer {
				GinkgoHelper()
				Expect(w.broker.Stop()).To(Succeed())
				Expect(w.broker.Restart(context.Background(), w.listen(brokerAddr))).To(Succeed())
				q := w.peer("producer-again")
				q.produces("GoldTxPG")
				return q
			}
			p.end(p.prepared("Orders", 0, "decided"), commit)
			p.prepared("Orders", 0, "open")
			wait(w, 30)
			asked(p)
			q := restart()
			Expect([]int64{progress(w, halfTopic), progress(w, opTopic)}).To(Equal([]int64{2, 1}))
			began := w.seconds()
			wait(w, began+30, q)
			cmd, m := asked(q)
			Expect([]string{string(m.GetBody()), m.Property("TRANSACTION_CHECK_TIMES")}).To(Equal([]string{"open", "2"}))
			Expect(q.pushed).NotTo(Receive())
			Expect(code(q.end(reply(cmd), commit))).To(Equal(wire.Success))
			r := restart()
			wait(w, w.seconds()+120, r)
			Expect(r.pushed).NotTo(Receive())
			Expect(bodies(w.broker.MessagesIn("Orders"))).To(Equal([]string{"decided", "open"}))
			Expect([]int64{progress(w, halfTopic), progress(w, opTopic)}).To(Equal([]int64{4, 2}))
		})
	})
	It("goes past half messages that the log has lost", func() {
		inTransactions(embedded.Config{}, func(w *world, p *peer) {
			for range 3 {
				p.prepared("Orders", 0, "gone")
			}
			p.prepared("Orders", 0, "kept")
			w.broker.Trim(halfTopic, 0, 3)
			wait(w, 30)
			_, m := asked(p)
			Expect(string(m.GetBody())).To(Equal("kept"))
			Expect(p.pushed).NotTo(Receive())
		})
	})
})
