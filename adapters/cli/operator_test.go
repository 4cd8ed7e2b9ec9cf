package cli_test

import (
	"context"
	"io"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/cli"
	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	troupe "github.com/troupe-mq/troupe/runtime"
)

var _ = Describe("An operator's verbs", func() {
	DescribeTable("exit with 2 when they are called wrongly, and say what is wrong",
		func(ctx SpecContext, text string, args ...string) {
			o := call(ctx, "", args...)
			Expect(o.code).To(Equal(2))
			Expect(o.out).To(BeEmpty())
			Expect(o.err).To(And(ContainSubstring(text), ContainSubstring("troupe --help")))
		},
		Entry("an unknown verb of topic", `unknown verb "burn" of topic`, "topic", "burn"),
		Entry("no topic to create", "accepts 1 arg", "topic", "create"),
		Entry("no topic to reset", "--topic is required", "group", "reset-offset", "g", "--to", "first"),
		Entry("nowhere to reset to", "--to is required", "group", "reset-offset", "g", "--topic", "t"),
		Entry("a bad place to reset to", "--to soon: must be first, last, a time", "group", "reset-offset", "g", "--topic", "t", "--to", "soon"),
		Entry("one group to clone", "accepts 2 arg", "group", "clone-offset", "g"),
		Entry("nothing to query by", "one of --key and --from is required", "message", "query", "t"),
		Entry("too much to query by", "one of --key and --from is required", "message", "query", "t", "--key", "k", "--from", "2026-01-01T00:00:00Z"),
		Entry("a time backwards", "--from must be before --to", "message", "query", "t", "--from", "2026-01-01T00:00:00Z", "--to", "2025-01-01T00:00:00Z"),
		Entry("a bad time", "--from now: must be a time", "message", "query", "t", "--from", "now"),
	)

	When("there is a broker", func() {
		var broker *embedded.Broker
		troupeAt := func(ctx context.Context, args ...string) outcome {
			return call(ctx, "", append(args, "--nameserver", broker.Addr())...)
		}
		answer := func(ctx context.Context, args ...string) []map[string]any {
			GinkgoHelper()
			o := troupeAt(ctx, append(args, "--json")...)
			Expect(o.code).To(BeZero(), o.err)
			return jsonLines(o.out)
		}
		fill := func(ctx context.Context, n string, more ...string) {
			GinkgoHelper()
			Expect(troupeAt(ctx, append([]string{"publish", "orders", "--count", n}, more...)...).code).To(BeZero())
		}
		consume := func(ctx context.Context, group string, count string) {
			GinkgoHelper()
			o := troupeAt(ctx, "consume", "orders", "--group", group, "--from", "first", "--count", count)
			Expect(o.code).To(BeZero(), o.err)
		}
		BeforeEach(func(ctx SpecContext) {
			var err error
			broker, err = embedded.Start(ctx, embedded.Config{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(broker.Close)
			Expect(broker.CreateTopic("orders", 2)).To(Succeed())
		})

		It("make, list, describe and delete topics", func(ctx SpecContext) {
			o := troupeAt(ctx, "topic", "create", "payments", "--queues", "3")
			Expect(o.code).To(BeZero(), o.err)
			Expect(answer(ctx, "topic", "list")).To(Equal([]map[string]any{{"topic": "orders"}, {"topic": "payments"}}))
			Expect(len(answer(ctx, "topic", "list", "--all"))).To(BeNumerically(">", 2))
			fill(ctx, "10")
			consume(ctx, "billing", "10")
			lines := answer(ctx, "topic", "describe", "orders")
			Expect(lines).To(HaveLen(3))
			Expect(lines[0]).To(And(HaveKeyWithValue("messages", 10.0), HaveKeyWithValue("groups", ConsistOf("billing"))))
			Expect(lines[0]["brokers"]).To(HaveKeyWithValue("broker-a", And(HaveKeyWithValue("read_queues", 2.0), HaveKeyWithValue("perm", "rw"))))
			Expect(lines[1]["max"].(float64) + lines[2]["max"].(float64)).To(Equal(10.0))
			Expect(lines[1]["last_stored"]).NotTo(BeNil())
			o = troupeAt(ctx, "topic", "describe", "orders")
			Expect(o.out).To(And(ContainSubstring("orders on broker-a: 2 queues to read, 2 to write, rw"), ContainSubstring("10 messages; groups: billing"),
				MatchRegexp(`BROKER +QUEUE +MIN +MAX +MESSAGES +LAST STORED`)))
			Expect(troupeAt(ctx, "topic", "delete", "payments").code).To(BeZero())
			Expect(answer(ctx, "topic", "list")).To(HaveLen(1))
			o = troupeAt(ctx, "topic", "describe", "payments")
			Expect(o.code).To(Equal(1))
			Expect(o.err).To(ContainSubstring(`no route for topic "payments"`))
		}, SpecTimeout(time.Minute))

		It("list and describe groups", func(ctx SpecContext) {
			fill(ctx, "10")
			consume(ctx, "billing", "10")
			fill(ctx, "6")
			Expect(answer(ctx, "group", "list")).To(Equal([]map[string]any{{"group": "billing", "members": 0.0, "lag": 6.0}}))
			lines := answer(ctx, "group", "describe", "billing")
			Expect(lines[0]).To(And(HaveKeyWithValue("lag", 6.0), HaveKeyWithValue("members", BeNil())))
			sum := 0.0
			for _, q := range lines[1:] {
				sum += q["committed"].(float64)
			}
			Expect(sum).To(Equal(10.0))

			rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{broker.Addr()}}, troupe.Config{ClientID: "member-1"})
			Expect(err).NotTo(HaveOccurred())
			Expect(rt.Pull("billing", troupe.PullConfig{}).Subscribe("orders", troupe.Tags("paid"))).To(Succeed())
			Expect(rt.Start(ctx)).To(Succeed())
			o := troupeAt(ctx, "group", "describe", "billing")
			Expect(o.out).To(And(ContainSubstring("billing: 1 members online, lag"), ContainSubstring(`subscribes to orders by "paid"`), ContainSubstring("member-1")))
			o = troupeAt(ctx, "group", "delete", "billing")
			Expect(o.code).To(Equal(1))
			Expect(o.err).To(ContainSubstring("the group has members online: stop them first: member-1"))
			Expect(rt.Shutdown(ctx)).To(Succeed())
			o = troupeAt(ctx, "group", "describe", "nobody")
			Expect(o.code).To(Equal(1))
			Expect(o.err).To(ContainSubstring("group nobody: no broker knows the group"))
		}, SpecTimeout(time.Minute))

		It("delete topics and groups also where a broker has done so and cannot say it", func(ctx SpecContext) {
			fill(ctx, "10")
			consume(ctx, "billing", "10")
			broker.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.DeleteTopicInBroker}, LoseAnswer: true})
			o := troupeAt(ctx, "group", "delete", "billing")
			Expect(o.code).To(BeZero(), o.err)
			o = troupeAt(ctx, "topic", "delete", "orders")
			Expect(o.code).To(BeZero(), o.err)
			Expect(answer(ctx, "topic", "list")).To(BeEmpty())
			Expect(broker.CreateTopic("orders", 2)).To(Succeed())
			broker.Faults().Clear()
			broker.Faults().Answer(1, wire.DeleteTopicInBroker, wire.SystemError, "no")
			o = troupeAt(ctx, "topic", "delete", "orders")
			Expect(o.code).To(Equal(1))
			Expect(o.err).To(ContainSubstring("DELETE_TOPIC_IN_BROKER (" + broker.Addr() + "): SYSTEM_ERROR (1): no"))
			Expect(answer(ctx, "topic", "list")).To(HaveLen(1))
		}, SpecTimeout(time.Minute))

		It("leave no group behind in a namespace either", func(ctx SpecContext) {
			Expect(broker.CreateTopic("N%orders", 1)).To(Succeed())
			a, err := troupe.OpenAdmin(rocketmq.Cluster{NameServers: []string{broker.Addr()}, Namespace: "N"})
			Expect(err).NotTo(HaveOccurred())
			before := answer(ctx, "group", "list", "--all")
			for _, err := range a.MessagesByTime(ctx, "orders", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)) {
				Expect(err).NotTo(HaveOccurred())
			}
			Expect(broker.Faults().Seen(wire.PullMessage)).NotTo(BeZero())
			Expect(answer(ctx, "group", "list", "--all")).To(Equal(before))
			Expect(a.Close()).To(Succeed())
		}, SpecTimeout(time.Minute))

		It("move a group without members, clone it and delete it", Label("A07"), func(ctx SpecContext) {
			fill(ctx, "20")
			consume(ctx, "billing", "20")
			Expect(broker.Lag("billing", "orders")).To(BeZero())
			moved := answer(ctx, "group", "reset-offset", "billing", "--topic", "orders", "--to", "first")
			Expect(moved).To(HaveLen(2))
			Expect(moved[0]).To(And(HaveKeyWithValue("to", 0.0), HaveKeyWithValue("from", BeNumerically(">", 0))))
			Expect(broker.Lag("billing", "orders")).To(Equal(int64(20)))
			Expect(answer(ctx, "group", "reset-offset", "billing", "--topic", "orders", "--to", "5")).To(ConsistOf(
				HaveKeyWithValue("to", 5.0), HaveKeyWithValue("to", 5.0)))
			o := troupeAt(ctx, "group", "reset-offset", "billing", "--topic", "orders", "--to", "500")
			Expect(o.code).To(Equal(1))
			Expect(o.err).To(ContainSubstring("to 500: must be from 0 to"))
			Expect(answer(ctx, "group", "clone-offset", "billing", "audit")).To(HaveLen(2))
			Expect(broker.Lag("audit", "orders")).To(Equal(int64(10)))
			Expect(answer(ctx, "group", "reset-offset", "audit", "--topic", "orders", "--to", "last")).To(HaveLen(2))
			Expect(broker.Lag("audit", "orders")).To(BeZero())
			Expect(broker.Lag("billing", "orders")).To(Equal(int64(10)))
			Expect(troupeAt(ctx, "group", "delete", "billing").code).To(BeZero())
			Expect(answer(ctx, "group", "list")).To(ConsistOf(HaveKeyWithValue("group", "audit")))
			Expect(answer(ctx, "topic", "list", "--all")).NotTo(ContainElement(HaveKeyWithValue("topic", "%RETRY%billing")))
		}, SpecTimeout(time.Minute))

		It("move a group whose members run", Label("A07"), func(ctx SpecContext) {
			fill(ctx, "20")
			rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{broker.Addr()}}, troupe.Config{})
			Expect(err).NotTo(HaveOccurred())
			seen := make(chan int64, 1000)
			rt.Concurrent("billing", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, LongPoll: 100 * time.Millisecond}).
				Handle("orders", troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
					seen <- m.GetQueueOffset()
					return nil
				})
			Expect(rt.Start(ctx)).To(Succeed())
			Eventually(seen).WithContext(ctx).Should(HaveLen(20))
			Expect(answer(ctx, "group", "reset-offset", "billing", "--topic", "orders", "--to", "first")).To(HaveLen(2))
			Eventually(seen).WithContext(ctx).WithTimeout(20 * time.Second).Should(HaveLen(40))
			Expect(rt.Shutdown(ctx)).To(Succeed())
		}, SpecTimeout(time.Minute))

		It("move no queue of a group whose members run to its end, at a broker that cannot put them at an offset", Label("A07"), func(ctx SpecContext) {
			old, err := embedded.Start(ctx, embedded.Config{ClientSideReset: true})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(old.Close)
			Expect(old.CreateTopic("orders", 2)).To(Succeed())
			Expect(old.CreateTopic("fees", 1)).To(Succeed())
			reset := func(topic, to string) outcome {
				return call(ctx, "", "group", "reset-offset", "billing", "--topic", topic, "--to", to, "--json", "--nameserver", old.Addr())
			}
			publish := func(n string) {
				Expect(call(ctx, "", "publish", "orders", "--count", n, "--queue", "0", "--nameserver", old.Addr()).code).To(BeZero())
			}
			publish("10")
			rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{old.Addr()}}, troupe.Config{OffsetPersistInterval: 100 * time.Millisecond})
			Expect(err).NotTo(HaveOccurred())
			seen := make(chan int64, 1000)
			stuck := make(chan struct{})
			rt.Concurrent("billing", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
				Handle("orders", troupe.AllTags(), func(ctx context.Context, m *troupe.Message) error {
					if m.GetQueueOffset() == 4 {
						select {
						case <-stuck:
						case <-ctx.Done():
						}
					}
					seen <- m.GetQueueOffset()
					return nil
				})
			Expect(rt.Start(ctx)).To(Succeed())
			Eventually(seen).WithContext(ctx).Should(HaveLen(9))
			committed := func() int64 { o, _ := old.Committed("billing", "orders", 0); return o }
			Eventually(committed).WithContext(ctx).Should(Equal(int64(4)))

			o := reset("orders", "0") // the queue that is empty has no other
			Expect(o.code).To(Equal(1))
			Expect(o.err).To(And(ContainSubstring("moves running members to a time, first or last only"), ContainSubstring(rt.ClientID())))
			Expect(old.Faults().Seen(wire.InvokeBrokerToResetOffset)).To(BeZero())
			Expect(committed()).To(Equal(int64(4)))

			o = reset("orders", "last")
			Expect(o.code).To(BeZero(), o.err)
			Expect(jsonLines(o.out)[0]).To(And(HaveKeyWithValue("from", 4.0), HaveKeyWithValue("to", 10.0)))
			// Such a broker does not take a reset where the group has no offset yet.
			o = reset("fees", "first")
			Expect(o.code).To(BeZero(), o.err)
			Expect(jsonLines(o.out)).To(Equal([]map[string]any{{"topic": "fees", "broker": "broker-a", "queue": 0.0, "from": nil, "to": 0.0}}))
			close(stuck)
			Eventually(committed).WithContext(ctx).Should(Equal(int64(10)))
			Expect(rt.Shutdown(ctx)).To(Succeed())
			o = reset("orders", "0")
			Expect(o.code).To(BeZero(), o.err)
			Expect(committed()).To(BeZero(), "nobody runs")
		}, SpecTimeout(time.Minute))

		It("move a group again that has not seen the last move", Label("A07"), func(ctx SpecContext) {
			fill(ctx, "20")
			consume(ctx, "billing", "20")
			broker.ResetOffset("billing", "orders", 0, 0) // while it ran; it has not pulled since
			Expect(answer(ctx, "group", "reset-offset", "billing", "--topic", "orders", "--to", "7")).To(HaveLen(2))
			Expect(broker.Lag("billing", "orders")).To(Equal(int64(6)))
			Expect(answer(ctx, "group", "describe", "billing")[1]).To(HaveKeyWithValue("committed", 7.0))
		}, SpecTimeout(time.Minute))

		It("find messages by id, by key and by time", func(ctx SpecContext) {
			fill(ctx, "3", "--key", "k1")
			time1 := time.Now().UTC()
			all := broker.MessagesIn("orders")
			lines := answer(ctx, "message", "get", all[0].OffsetID())
			Expect(lines[0]).To(And(HaveKeyWithValue("id", all[0].MessageID()), HaveKeyWithValue("properties", HaveKeyWithValue("KEYS", "k1"))))
			lines = answer(ctx, "message", "get", all[1].MessageID(), "--topic", "orders")
			Expect(lines[0]).To(HaveKeyWithValue("offset_id", all[1].OffsetID()))
			o := troupeAt(ctx, "message", "get", all[1].OffsetID())
			Expect(o.out).To(And(MatchRegexp(`property KEYS +k1`), ContainSubstring(string(all[1].GetBody()))))
			o = troupeAt(ctx, "message", "get", all[0].MessageID())
			Expect(o.code).NotTo(BeZero())
			Expect(o.err).To(ContainSubstring("for a unique id name the topic, too"))
			o = troupeAt(ctx, "message", "get", "nonsense")
			Expect(o.code).To(Equal(2))
			Expect(answer(ctx, "message", "query", "orders", "--key", "k1")).To(HaveLen(3))
			Expect(answer(ctx, "message", "query", "orders", "--key", "k1", "--max", "2")).To(HaveLen(2))
			Expect(answer(ctx, "message", "query", "orders", "--key", "k2")).To(BeEmpty())
			Expect(answer(ctx, "message", "query", "orders", "--from", time1.Add(-time.Minute).Format(time.RFC3339))).To(HaveLen(3))
			Expect(answer(ctx, "message", "query", "orders", "--from", time1.Add(-time.Hour).Format(time.RFC3339),
				"--to", time1.Add(-time.Minute).Format(time.RFC3339))).To(BeEmpty())
			Expect(answer(ctx, "group", "list")).To(BeEmpty(), "no group is left behind")
		}, SpecTimeout(time.Minute))

		It("follow a topic and leave no group behind", func(ctx SpecContext) {
			fill(ctx, "5")
			out, w := io.Pipe()
			done := make(chan int, 1)
			go func() {
				done <- cli.Run(ctx, []string{"tail", "orders", "--count", "2", "--nameserver", broker.Addr()}, cli.Streams{Out: w, Err: io.Discard})
				_ = w.Close()
			}()
			Eventually(func() int64 { return int64(broker.HeldPulls("orders", 0) + broker.HeldPulls("orders", 1)) }).WithContext(ctx).Should(BeNumerically(">=", 2))
			Expect(call(ctx, "one\ntwo\n", "publish", "orders", "--nameserver", broker.Addr()).code).To(BeZero())
			text, err := io.ReadAll(out)
			Expect(err).NotTo(HaveOccurred())
			Expect(<-done).To(BeZero())
			Expect(strings.Split(strings.TrimSpace(string(text)), "\n")).To(ConsistOf(HaveSuffix(" one"), HaveSuffix(" two")))
			Expect(answer(ctx, "group", "list")).To(BeEmpty())
			Expect(answer(ctx, "topic", "list", "--all")).NotTo(ContainElement(HaveKeyWithValue("topic", ContainSubstring("RETRY"))))
			o := troupeAt(ctx, "tail", "nowhere")
			Expect(o.code).To(Equal(1))
			Expect(strings.Count(o.err, `no route for topic "nowhere"`)).To(Equal(1), o.err)
		}, SpecTimeout(time.Minute))

		It("follow a topic to where its broker has moved", func(ctx SpecContext) {
			names, err := embedded.StartNameServer(ctx, embedded.NameServerConfig{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(names.Close)
			moving, err := embedded.Start(ctx, embedded.Config{NameServer: names})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(moving.Close)
			Expect(moving.CreateTopic("orders", 1)).To(Succeed())
			out, w := io.Pipe()
			done := make(chan int, 1)
			go func() {
				done <- cli.Run(ctx, []string{"tail", "orders", "--count", "1", "--nameserver", names.Addr()}, cli.Streams{Out: w, Err: io.Discard})
				_ = w.Close()
			}()
			Eventually(func() int { return moving.HeldPulls("orders", 0) }).WithContext(ctx).Should(Equal(1))
			was := moving.Addr()
			Expect(moving.Stop()).To(Succeed())
			Expect(moving.RestartAt(ctx, nil, "127.0.0.1:0")).To(Succeed())
			Expect(moving.Addr()).NotTo(Equal(was))
			Expect(call(ctx, "one\n", "publish", "orders", "--nameserver", names.Addr()).code).To(BeZero())
			text, err := io.ReadAll(out)
			Expect(err).NotTo(HaveOccurred())
			Expect(<-done).To(BeZero())
			Expect(string(text)).To(HaveSuffix(" one\n"))
		}, SpecTimeout(30*time.Second))

		It("consume as a program that polls, and commit what was printed", func(ctx SpecContext) {
			fill(ctx, "50")
			o := troupeAt(ctx, "consume", "orders", "--group", "g", "--mode", "pull", "--from", "first", "--idle-exit", "500ms", "--json")
			Expect(o.code).To(BeZero(), o.err)
			lines := jsonLines(o.out)
			Expect(lines).To(HaveLen(51))
			Expect(lines[50]).To(And(HaveKeyWithValue("messages", 50.0), HaveKeyWithValue("duplicates", 0.0)))
			Expect(broker.Lag("g", "orders")).To(BeZero())
		}, SpecTimeout(time.Minute))
	})
})
