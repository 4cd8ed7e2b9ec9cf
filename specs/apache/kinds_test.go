package apache_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// consuming gives what a new group of ours gets of a topic, by body.
func consuming(ctx context.Context, nameServer, topic string, config troupe.Config) chan *troupe.Message {
	GinkgoHelper()
	return consumingAs(ctx, unique("KindsGroup"), nameServer, topic, config)
}

func consumingAs(ctx context.Context, group, nameServer, topic string, config troupe.Config) chan *troupe.Message {
	GinkgoHelper()
	got := make(chan *troupe.Message, 100)
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{nameServer}}, config)
	Expect(err).NotTo(HaveOccurred())
	rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
		Handle(topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error { got <- m; return nil })
	Expect(rt.Start(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
	return got
}

// everyKind lets Java send each kind of message and looks at what arrives.
func everyKind(ctx context.Context, v apachebroker.Version, nameServer, topic string) {
	GinkgoHelper()
	got := consuming(ctx, nameServer, topic, troupe.Config{})
	expected := []string{"dressed", "delayed", "batch 0", "batch 1", "batch 2", "committed"}
	p := javaProgram(ctx, v, "Kinds", "--nameserver", nameServer, "--topic", topic)
	kinds := map[string]*troupe.Message{}
	for range expected {
		var m *troupe.Message
		Eventually(got).WithContext(ctx).WithTimeout(time.Minute).Should(Receive(&m))
		Expect(m.Tag()).To(Equal("kind"))
		Expect(m.Keys()).To(Equal([]string{"key"}))
		Expect(m.GetTopic()).To(Equal(topic))
		kinds[string(m.GetBody())] = m
	}
	for _, kind := range expected {
		Expect(kinds).To(HaveKey(kind))
	}

	dressed := kinds["dressed"]
	Expect(dressed.MessageID()).To(Equal(p[0].MsgID))
	Expect(dressed.Property("имя 名前")).To(Equal("ключ 日本 😀"))
	for name := range dressed.Properties() {
		Expect(name).NotTo(Equal("empty"), "Java's decoder leaves out what has no value, too")
	}
	var every strings.Builder
	for c := range rune(0x180) {
		if c != 1 && c != 2 {
			every.WriteRune(c)
		}
	}
	Expect(dressed.Property("every")).To(Equal(every.String()))
	Expect(dressed.Property("large")).To(Equal(strings.Repeat("abcdefghijklmnopqrstuvwxyz", 1182)[:30<<10]))

	delayed := kinds["delayed"]
	Expect(delayed.MessageID()).To(Equal(p[1].MsgID), "delayed")
	Expect(delayed.DelayLevel()).To(Equal(1))
	Expect(delayed.StoreTime().Sub(delayed.BornTime())).To(BeNumerically(">=", 900*time.Millisecond))
	ids := strings.Split(p[2].MsgID, ",")
	for i, place := range []string{"0", "1", "2"} {
		m := kinds["batch "+place]
		Expect(string(m.GetRawProperties())).To(ContainSubstring(ids[i]))
		if v == apachebroker.V5_3_3 {
			// With Java 5.3.3 at both ends the properties of the batch follow those of each message, and the last id counts.
			Expect(m.MessageID()).To(And(Equal(kinds["batch 0"].MessageID()), Not(BeElementOf(ids))))
		} else {
			Expect(m.MessageID()).To(Equal(ids[i]))
		}
		Expect(m.Property("place")).To(Equal(place))
	}
	Expect(kinds["committed"].MessageID()).To(Equal(p[4].MsgID))
	Expect(kinds["committed"].Property(messages.PropertyTransactionPrepared)).To(Equal("true"), "Java leaves it on")
	Consistently(got).WithContext(ctx).WithTimeout(2 * time.Second).ShouldNot(Receive())
}

// javaProgram runs a Java program to its end and returns what it sent.
func javaProgram(ctx context.Context, v apachebroker.Version, main string, args ...string) []apachebroker.Event {
	GinkgoHelper()
	p := javaPeer(ctx, v, main, args...)
	Expect(p.Wait(ctx)).To(Succeed(), strings.TrimSpace(p.Log()))
	return p.Of("sent")
}

var _ = onEveryVersion("A Java producer's messages", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	It("arrive, whatever their kind: any property, delayed, in a batch, in a transaction; what was rolled back does not", func(ctx SpecContext) {
		topic := unique("Kinds")
		Expect(cluster(ctx).CreateTopic(ctx, topic, 2)).To(Succeed())
		everyKind(ctx, v, cluster(ctx).NameServer(), topic)
	}, SpecTimeout(3*time.Minute))

	It("arrive one by one out of batches that the broker has kept as such", func(ctx SpecContext) {
		if !v.Modern() {
			Skip("brokers of 4.x keep no batches")
		}
		topic, c := unique("InnerBatch"), cluster(ctx)
		// Among the reasons why an inner batch is not a common sight: it takes a topic of its own kind, which is made with it.
		answer, err := c.Call(ctx, c.BrokerAddr(), apachebroker.Request{Code: int(wire.UpdateAndCreateTopic), Header: map[string]string{
			"topic": topic, "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
			"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false", "attributes": "+queue.type=BatchCQ",
		}})
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Code).To(BeZero(), answer.Remark)
		sent := produce(ctx, v, nil, "--nameserver", c.NameServer(), "--topic", topic, "--count", "6", "--batch", "3", "--queue", "0", "--tag", "paid")
		Expect(sent).To(HaveLen(2))
		Expect(pull(ctx, c, topic, 0, 0)).To(HaveLen(2), "two records, each of three messages")
		got := consuming(ctx, c.NameServer(), topic, troupe.Config{})
		places := map[string]int64{}
		for range 6 {
			var m *troupe.Message
			Eventually(got).WithContext(ctx).WithTimeout(time.Minute).Should(Receive(&m))
			Expect(m.Tag()).To(Equal("paid"))
			places[string(m.GetBody())] = m.GetQueueOffset()
		}
		Expect(places).To(Equal(map[string]int64{
			"message-0": 0, "message-1": 1, "message-2": 2, "message-3": 3, "message-4": 4, "message-5": 5,
		}))
		Consistently(got).WithContext(ctx).WithTimeout(time.Second).ShouldNot(Receive())

		// A group that stands within a batch gets the rest of it.
		group := unique("InnerBatchGroup")
		Expect(c.CreateGroup(ctx, group, nil)).To(Succeed())
		commit, err := c.Call(ctx, c.BrokerAddr(), apachebroker.Request{Code: int(wire.UpdateConsumerOffset), Header: map[string]string{
			"consumerGroup": group, "topic": topic, "queueId": "0", "commitOffset": "4",
		}})
		Expect(err).NotTo(HaveOccurred())
		Expect(commit.Code).To(BeZero(), commit.Remark)
		rest := consumingAs(ctx, group, c.NameServer(), topic, troupe.Config{})
		offsets := []int64{}
		for range 2 {
			var m *troupe.Message
			Eventually(rest).WithContext(ctx).WithTimeout(time.Minute).Should(Receive(&m))
			offsets = append(offsets, m.GetQueueOffset())
		}
		Expect(offsets).To(ConsistOf(int64(4), int64(5)))
		Consistently(rest).WithContext(ctx).WithTimeout(time.Second).ShouldNot(Receive())
	}, SpecTimeout(3*time.Minute))

	It("arrive unpacked, whatever packed them", func(ctx SpecContext) {
		topic := unique("Packed")
		Expect(cluster(ctx).CreateTopic(ctx, topic, 1)).To(Succeed())
		everyCodec(ctx, v, cluster(ctx).NameServer(), topic)
	}, SpecTimeout(3*time.Minute))
})

// everyCodec lets Java send bodies packed in all the ways it has.
func everyCodec(ctx context.Context, v apachebroker.Version, nameServer, topic string) {
	GinkgoHelper()
	got := consuming(ctx, nameServer, topic, troupe.Config{})
	// The client of 4.x has zlib only and marks it as clients before 5.0 do.
	codecs := []string{"ZLIB"}
	if v.Modern() {
		codecs = append(codecs, "LZ4", "ZSTD")
	}
	for _, codec := range codecs {
		produce(ctx, v, map[string]string{"rocketmq.message.compressType": codec}, "--nameserver", nameServer, "--topic", topic,
			"--size", "20000", "--compress-over", "1000", "--body", codec+"-")
		var m *troupe.Message
		Eventually(got).WithContext(ctx).WithTimeout(20 * time.Second).Should(Receive(&m))
		expected := codec + "-0"
		for len(expected) < 20000 {
			expected += string(rune('a' + len(expected)%26))
		}
		Expect(string(m.GetBody())).To(Equal(expected))
	}
}

var _ = Describe("A Java producer's messages on the embedded broker", Label("apache", "peers-on-embedded"), func() {
	It("arrive, whatever their kind: any property, delayed, in a batch, in a transaction, packed by any codec", func(ctx SpecContext) {
		broker, err := embedded.Start(ctx, embedded.Config{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(broker.Close()).To(Succeed()) })
		Expect(broker.CreateTopic("kinds", 2)).To(Succeed())
		Expect(broker.CreateTopic("packed", 1)).To(Succeed())
		everyKind(ctx, apachebroker.V5_3_3, broker.Addr(), "kinds")
		everyCodec(ctx, apachebroker.V5_3_3, broker.Addr(), "packed")
	}, SpecTimeout(3*time.Minute))
})
