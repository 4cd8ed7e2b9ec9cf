package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// Source: observed.md 4, protocol.md 7.8 and 7.10, and the records of a real broker's store in testdata/retries.json.
var _ = Describe("messages that come again", func() {
	// nextIn waits for the next message of a queue, as a consumer does.
	nextIn := func(p *peer, group, topic string, offset int64) *messages.Message {
		GinkgoHelper()
		for {
			answer := p.ask(pull(group, topic, 0, offset, "sysFlag", "2"))
			if code(answer) == wire.Success {
				list := received(answer)
				Expect(list).To(HaveLen(1))
				return list[0]
			}
			Expect(code(answer)).To(Equal(wire.PullNotFound), answer.Remark)
		}
	}
	back := func(group string, m *messages.Message, level int, limit string) *wire.Command {
		ext := map[string]string{
			"bname": "broker-a", "delayLevel": fmt.Sprint(level), "group": group, "offset": fmt.Sprint(m.GetCommitLogOffset()),
			"originMsgId": m.MessageID(), "originTopic": m.GetTopic(), "unitMode": "false",
		}
		if limit != "" {
			ext["maxReconsumeTimes"] = limit
		}
		return request(wire.ConsumerSendMsgBack, ext, "")
	}
	properties := func(m *messages.Message) map[string]string { return maps.Collect(m.Properties()) }

	It("come after 10, 30 and 60 s, then lie in the dead letter topic", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.CreateTopic("ObsRetry", 1)).To(Succeed())
			p := w.peer("client-1")
			p.join("ObsRetryG", sub{topic: "ObsRetry", version: 1}, sub{topic: "%RETRY%ObsRetryG", version: 1})
			p.ask(send("ObsRetry", 0, "always failing", "KEYS\x01k\x02UNIQ_KEY\x01AB\x02WAIT\x01true\x02TAGS\x01T\x02"))
			m := nextIn(p, "ObsRetryG", "ObsRetry", 0)
			origin := m.OffsetID()
			for attempt, delay := range []time.Duration{10 * time.Second, 30 * time.Second, 60 * time.Second} {
				failed := time.Now()
				Expect(code(p.ask(back("ObsRetryG", m, 0, "3")))).To(Equal(wire.Success))
				m = nextIn(p, "ObsRetryG", "%RETRY%ObsRetryG", int64(attempt))
				Expect(time.Since(failed)).To(BeNumerically("~", delay, 150*time.Millisecond))
				Expect(m.GetReconsumeTimes()).To(Equal(int32(attempt + 1)))
				Expect(string(m.GetBody())).To(Equal("always failing"))
				Expect(properties(m)).To(Equal(map[string]string{
					"ORIGIN_MESSAGE_ID": origin, "RETRY_TOPIC": "ObsRetry", "REAL_TOPIC": "%RETRY%ObsRetryG", "REAL_QID": "0",
					"DELAY": fmt.Sprint(3 + attempt), "WAIT": "false", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
					"CLUSTER": "DefaultCluster", "UNIQ_KEY": "AB", "TAGS": "T", "KEYS": "k",
				}))
			}
			Expect(code(p.ask(back("ObsRetryG", m, 0, "3")))).To(Equal(wire.Success))
			dead := w.broker.MessagesIn("%DLQ%ObsRetryG")
			Expect(dead).To(HaveLen(1))
			Expect(dead[0].GetReconsumeTimes()).To(Equal(int32(4)))
			Expect(properties(dead[0])).To(Equal(map[string]string{
				"ORIGIN_MESSAGE_ID": origin, "RETRY_TOPIC": "ObsRetry", "REAL_TOPIC": "%RETRY%ObsRetryG", "REAL_QID": "0",
				"DELAY": "0", "WAIT": "false", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true",
				"CLUSTER": "DefaultCluster", "UNIQ_KEY": "AB", "TAGS": "T", "KEYS": "k",
			}))
			route, err := wire.DecodeTopicRouteData(p.ask(request(wire.GetRouteInfoByTopic, map[string]string{"topic": "%DLQ%ObsRetryG"}, "")).Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(route.Queues).To(Equal([]wire.QueueData{{Broker: "broker-a", ReadQueues: 1, WriteQueues: 1, Perm: 6}}))
		})
	})

	It("look like a real broker's in the retry, dead letter and schedule topics", func() {
		inWorld(embedded.Config{}, func(w *world) {
			text, err := os.ReadFile("testdata/retries.json")
			Expect(err).NotTo(HaveOccurred())
			var real map[string][]struct {
				Size           int32
				ReconsumeTimes int32
				QueueOffset    int64
				Properties     map[string]string
			}
			Expect(json.Unmarshal(text, &real)).To(Succeed())
			Expect(w.broker.CreateTopic("StoreTopic", 4)).To(Succeed())
			Expect(w.broker.CreateTopic("StoreOrder", 4)).To(Succeed())
			p := w.peer("client-1")
			p.join("StoreGroup", sub{topic: "StoreTopic", version: 1})
			// What the captured session did: two plain messages, one of them tagged; a delayed one; the first handed back with
			// level 1, the second given up.
			p.ask(send("StoreTopic", 0, "plain-0", "UNIQ_KEY\x01FD00000000000000000000000000000267054E0E2F2A9A23A2010000\x02WAIT\x01true\x02"))
			p.ask(send("StoreTopic", 1, "tagged-0", "KEYS\x01key-0 k2\x02UNIQ_KEY\x01FD00000000000000000000000000000267054E0E2F2A9A23A27B0001\x02WAIT\x01true\x02TAGS\x01TagA\x02"))
			p.ask(send("StoreTopic", 0, "delayed-1s", "KEYS\x01delay\x02UNIQ_KEY\x01FD00000000000000000000000000000267054E0E2F2A9A23A2FA000D\x02WAIT\x01true\x02DELAY\x011\x02TAGS\x01TagD\x02"))
			p.ask(send("StoreOrder", 0, "delayed-2h", "KEYS\x01late\x02UNIQ_KEY\x01FD00000000000000000000000000000267054E0E2F2A9A23A7FF00B4\x02WAIT\x01true\x02DELAY\x0118\x02TAGS\x01Late\x02"))
			plain, tagged := w.broker.MessagesIn("StoreTopic")[0], w.broker.MessagesIn("StoreTopic")[1]
			Expect(code(p.ask(back("StoreGroup", plain, 1, "16")))).To(Equal(wire.Success))
			Expect(code(p.ask(back("StoreGroup", tagged, -1, "16")))).To(Equal(wire.Success))
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			schedule := w.broker.MessagesIn("SCHEDULE_TOPIC_XXXX")
			compare := func(where string, got []*messages.Message) {
				GinkgoHelper()
				want := real[where]
				Expect(got).To(HaveLen(len(want)), where)
				for k, m := range got {
					have := properties(m)
					// The store here begins at 0 and elsewhere: the id of the first record differs.
					if id, ok := have["ORIGIN_MESSAGE_ID"]; ok {
						Expect(id).To(HaveLen(len(want[k].Properties["ORIGIN_MESSAGE_ID"])))
						have["ORIGIN_MESSAGE_ID"] = want[k].Properties["ORIGIN_MESSAGE_ID"]
					}
					Expect(have).To(Equal(want[k].Properties), where)
					Expect(m.GetReconsumeTimes()).To(Equal(want[k].ReconsumeTimes), where)
					Expect(m.GetQueueOffset()).To(Equal(want[k].QueueOffset), where)
					record, err := wire.AppendMessage(nil, m)
					Expect(err).NotTo(HaveOccurred())
					Expect(record).To(HaveLen(int(want[k].Size)), where)
				}
			}
			compare("SCHEDULE_TOPIC_XXXX/0", schedule[:2])
			compare("SCHEDULE_TOPIC_XXXX/17", schedule[2:])
			compare("%RETRY%StoreGroup/0", w.broker.MessagesIn("%RETRY%StoreGroup"))
			compare("%DLQ%StoreGroup/0", w.broker.MessagesIn("%DLQ%StoreGroup"))
		})
	})

	When("a producer delays a message", func() {
		It("is delivered at its level's time, with DELAY left in its properties", func() {
			inWorld(embedded.Config{}, func(w *world) {
				Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
				p := w.peer("client-1")
				p.join("billing", sub{topic: "Orders", tags: []string{"T"}, version: 1})
				p.ask(send("Orders", 0, "later", "DELAY\x012\x02TAGS\x01T\x02WAIT\x01true\x02UNIQ_KEY\x01X\x02"))
				Expect(w.broker.CountMessages("Orders")).To(BeZero())
				m := nextIn(p, "billing", "Orders", 0)
				Expect(w.seconds()).To(BeNumerically("~", 5, 0.15))
				Expect(properties(m)).To(Equal(map[string]string{
					"CLUSTER": "DefaultCluster", "DELAY": "2", "MSG_REGION": "DefaultRegion", "REAL_QID": "0", "REAL_TOPIC": "Orders",
					"TAGS": "T", "TRACE_ON": "true", "UNIQ_KEY": "X", "WAIT": "true",
				}))
				Expect(m.GetStoreTimestamp() - m.GetBornTimestamp()).NotTo(BeZero())
			})
		})
		It("takes the highest level for any that is higher", func() {
			inWorld(embedded.Config{DelayLevels: []time.Duration{time.Second, 7 * time.Second}}, func(w *world) {
				p := w.peer("client-1")
				Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
				p.join("billing", sub{topic: "Orders", version: 1})
				p.ask(send("Orders", 0, "later", "DELAY\x0199\x02"))
				nextIn(p, "billing", "Orders", 0)
				Expect(w.seconds()).To(BeNumerically("~", 7, 0.15))
			})
		})
		It("delivers each level in its order and time, whatever the order of sending", func() {
			inWorld(embedded.Config{}, func(w *world) {
				p := w.peer("client-1")
				Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
				p.join("billing", sub{topic: "Orders", version: 1})
				for _, level := range []int{3, 1, 2, 1} {
					p.ask(send("Orders", 0, fmt.Sprint("level ", level), fmt.Sprintf("DELAY\x01%d\x02", level)))
					time.Sleep(100 * time.Millisecond)
				}
				var seen []string
				for k := range 4 {
					seen = append(seen, string(nextIn(p, "billing", "Orders", int64(k)).GetBody()))
				}
				Expect(seen).To(Equal([]string{"level 1", "level 1", "level 2", "level 3"}))
				Expect(w.seconds()).To(BeNumerically("~", 10, 0.15))
			})
		})
		It("delivers what became due while the broker was down", func() {
			inWorld(embedded.Config{}, func(w *world) {
				p := w.peer("client-1")
				p.ask(send("Orders", 0, "one", "DELAY\x011\x02"))
				p.ask(send("Orders", 0, "two", "DELAY\x012\x02"))
				Expect(w.broker.Stop()).To(Succeed())
				time.Sleep(3 * time.Second)
				Expect(w.broker.CountMessages("Orders")).To(BeZero())
				Expect(w.broker.Restart(context.Background(), w.listen(brokerAddr))).To(Succeed())
				synctest.Wait()
				Expect(bodies(w.broker.MessagesIn("Orders"))).To(Equal([]string{"one"}))
				time.Sleep(2100 * time.Millisecond)
				synctest.Wait()
				Expect(bodies(w.broker.MessagesIn("Orders"))).To(Equal([]string{"one", "two"}))
			})
		})
	})

	When("an orderly consumer gives a message up by sending it to the retry topic", func() {
		give := func(w *world, p *peer, reconsumed, limit string) {
			GinkgoHelper()
			p.join("ordered", sub{topic: "Orders", version: 1})
			properties := "DELAY\x015\x02RECONSUME_TIME\x013\x02MAX_RECONSUME_TIMES\x012\x02RETRY_TOPIC\x01Orders\x02"
			Expect(code(p.ask(send("%RETRY%ordered", 0, "bad", properties, "j", reconsumed, "l", limit)))).To(Equal(wire.Success))
		}
		It("lies in the dead letter topic at once, when its attempts are used up", func() {
			inWorld(embedded.Config{}, func(w *world) {
				give(w, w.peer("one"), "3", "2")
				dead := w.broker.MessagesIn("%DLQ%ordered")
				Expect(dead).To(HaveLen(1))
				Expect(properties(dead[0])).To(And(HaveKeyWithValue("DELAY", "-1"), HaveKeyWithValue("RECONSUME_TIME", "3"),
					HaveKeyWithValue("MAX_RECONSUME_TIMES", "2"), HaveKeyWithValue("RETRY_TOPIC", "Orders")))
				Expect(dead[0].GetReconsumeTimes()).To(Equal(int32(3)))
				Expect(w.broker.CountMessages("%RETRY%ordered")).To(BeZero())
			})
		})
		It("lies there too while the group holds locks", func() {
			inWorld(embedded.Config{}, func(w *world) {
				p := w.peer("one")
				lock(p, wire.LockBatchMQ, "ordered", "one", 0)
				give(w, p, "1", "16")
				Expect(w.broker.CountMessages("%DLQ%ordered")).To(Equal(int64(1)))
			})
		})
		It("comes again, delayed, in every other case", func() {
			inWorld(embedded.Config{}, func(w *world) {
				give(w, w.peer("one"), "2", "2")
				Expect(w.broker.CountMessages("%DLQ%ordered")).To(BeZero())
				time.Sleep(61 * time.Second)
				synctest.Wait()
				Expect(w.broker.CountMessages("%RETRY%ordered")).To(Equal(int64(1)))
			})
		})
	})

	When("a message is handed back", func() {
		It("uses the group's limit if the client names none, and takes 0 for no attempts", func() {
			inWorld(embedded.Config{}, func(w *world) {
				g := embedded.DefaultGroupConfig()
				g.RetryMaxTimes = 0
				Expect(w.broker.ConfigureGroup("strict", g)).To(Succeed())
				Expect(w.broker.Publish(texts("Orders", 0, "x")...)).To(Succeed())
				m := w.broker.MessagesIn("Orders")[0]
				p := w.peer("one")
				Expect(code(p.ask(back("strict", m, 0, "")))).To(Equal(wire.Success))
				Expect(w.broker.CountMessages("%DLQ%strict")).To(Equal(int64(1)))
				Expect(code(p.ask(back("billing", m, 0, "0")))).To(Equal(wire.Success))
				Expect(w.broker.CountMessages("%DLQ%billing")).To(Equal(int64(1)))
			})
		})
		It("is dropped when the group wants no retries", func() {
			inWorld(embedded.Config{}, func(w *world) {
				g := embedded.DefaultGroupConfig()
				g.RetryQueues = 0
				Expect(w.broker.ConfigureGroup("careless", g)).To(Succeed())
				Expect(w.broker.Publish(texts("Orders", 0, "x")...)).To(Succeed())
				p := w.peer("one")
				Expect(code(p.ask(back("careless", w.broker.MessagesIn("Orders")[0], 0, "3")))).To(Equal(wire.Success))
				Expect(w.broker.Topics()).NotTo(ContainElement("%RETRY%careless"))
				Expect(w.broker.CountMessages("SCHEDULE_TOPIC_XXXX")).To(BeZero())
			})
		})
		It("is refused when the log does not have it, or the group is unknown and must not be made", func() {
			inWorld(embedded.Config{NoGroupCreation: true}, func(w *world) {
				Expect(w.broker.Publish(texts("Orders", 0, "x")...)).To(Succeed())
				m := w.broker.MessagesIn("Orders")[0]
				p := w.peer("one")
				Expect(code(p.ask(back("billing", m, 0, "3")))).To(Equal(wire.SubscriptionGroupNotExist))
				Expect(w.broker.ConfigureGroup("billing", embedded.DefaultGroupConfig())).To(Succeed())
				m.CommitLogOffset = 12345678
				Expect(code(p.ask(back("billing", m, 0, "3")))).To(Equal(wire.SystemError))
				m.CommitLogOffset = 3
				Expect(code(p.ask(back("billing", m, 0, "3")))).To(Equal(wire.SystemError))
			})
		})
		It("keeps a compressed body compressed", func() {
			inWorld(embedded.Config{}, func(w *world) {
				Expect(w.broker.CreateTopic("Orders", 1)).To(Succeed())
				p := w.peer("one")
				p.ask(send("Orders", 0, "\x78\x9cpretend", "", "f", "769"))
				Expect(code(p.ask(back("billing", w.broker.MessagesIn("Orders")[0], 1, "3")))).To(Equal(wire.Success))
				time.Sleep(1100 * time.Millisecond)
				synctest.Wait()
				m := w.broker.MessagesIn("%RETRY%billing")[0]
				Expect(string(m.GetBody())).To(Equal("\x78\x9cpretend"))
				Expect(m.GetSysFlag()).To(Equal(int32(769)))
			})
		})
	})
})
