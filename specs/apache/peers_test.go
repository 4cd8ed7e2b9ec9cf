package apache_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"

	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

var _ = onEveryVersion("The Java peers", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	var topic, group string
	BeforeEach(func(ctx SpecContext) {
		topic, group = unique("Peers"), unique("PeersGroup")
		Expect(cluster(ctx).CreateTopic(ctx, topic, 2)).To(Succeed())
	}, NodeTimeout(3*time.Minute))

	It("hand messages from the producer to the consumer, and stop gracefully", func(ctx SpecContext) {
		consumer := javaPeer(ctx, v, "PushConsumer", "--nameserver", cluster(ctx).NameServer(), "--group", group, "--topic", topic, "--tags", "paid")
		Expect(consumer.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())

		sent := produce(ctx, v, nil, "--nameserver", cluster(ctx).NameServer(), "--topic", topic, "--count", "10", "--tag", "paid", "--key", "order", "--queue", "1")
		Expect(sent).To(HaveLen(10))
		got, err := consumer.Await(ctx, "message", 10)
		Expect(err).NotTo(HaveOccurred())

		seen := map[int64]apachebroker.Event{}
		for _, e := range got {
			seen[e.Offset] = e
		}
		for i, s := range sent {
			Expect(s).To(MatchFields(IgnoreExtras, Fields{"Queue": BeEquivalentTo(1), "Offset": BeEquivalentTo(i), "Status": Equal("SEND_OK")}))
			Expect(seen[s.Offset]).To(MatchFields(IgnoreExtras, Fields{
				"MsgID": Equal(s.MsgID), "Topic": Equal(topic), "Queue": Equal(s.Queue), "Tags": Equal("paid"),
				"Keys": Equal("order-" + string(rune('0'+i))), "ReconsumeTimes": BeZero(), "Accepted": BeTrue(),
			}))
		}
		Expect(consumer.Stop(ctx)).To(Succeed())
		Expect(consumer.Of("stopped")).To(HaveLen(1))
	}, SpecTimeout(3*time.Minute))

	It("send batches that arrive as single messages", func(ctx SpecContext) {
		sent := produce(ctx, v, nil, "--nameserver", cluster(ctx).NameServer(), "--topic", topic, "--count", "6", "--batch", "3", "--queue", "0")
		Expect(sent).To(HaveLen(2))
		Expect(pull(ctx, cluster(ctx), topic, 0, 0)).To(Equal([]string{"message-0", "message-1", "message-2", "message-3", "message-4", "message-5"}))
	}, SpecTimeout(3*time.Minute))

	DescribeTable("send compressed bodies that the consumer unpacks", func(ctx SpecContext, codec string) {
		if !v.Modern() && codec != "ZLIB" {
			Skip("the client of 4.x compresses with zlib only")
		}
		produce(ctx, v, map[string]string{"rocketmq.message.compressType": codec},
			"--nameserver", cluster(ctx).NameServer(), "--topic", topic, "--size", "20000", "--compress-over", "1000", "--queue", "0")
		stored := pull(ctx, cluster(ctx), topic, 0, 0)
		Expect(stored).To(HaveLen(1))
		Expect(len(stored[0])).To(BeNumerically("<", 2000))
		Expect(stored[0]).To(HavePrefix(map[string]string{"ZLIB": "\x78", "LZ4": "\x04\x22\x4d\x18", "ZSTD": "\x28\xb5\x2f\xfd"}[codec]))

		consumer := javaPeer(ctx, v, "PushConsumer", "--nameserver", cluster(ctx).NameServer(), "--group", group, "--topic", topic)
		got, err := consumer.Await(ctx, "message", 1)
		Expect(err).NotTo(HaveOccurred())
		Expect(got[0].Size).To(Equal(20000))
		Expect(got[0].Body).To(HavePrefix("message-0"))
		Expect(consumer.Stop(ctx)).To(Succeed())
	},
		Entry("with zlib", "ZLIB", SpecTimeout(3*time.Minute)),
		Entry("with LZ4", "LZ4", SpecTimeout(3*time.Minute)),
		Entry("with zstd", "ZSTD", SpecTimeout(3*time.Minute)),
	)

	It("delay messages, and refuse them until the given attempt", func(ctx SpecContext) {
		consumer := javaPeer(ctx, v, "PushConsumer", "--nameserver", cluster(ctx).NameServer(), "--group", group, "--topic", topic, "--fail", "1")
		Expect(consumer.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())
		produce(ctx, v, nil, "--nameserver", cluster(ctx).NameServer(), "--topic", topic, "--delay", "1")
		got, err := consumer.Await(ctx, "message", 2)
		Expect(err).NotTo(HaveOccurred())
		Expect(got[0]).To(MatchFields(IgnoreExtras, Fields{"ReconsumeTimes": BeEquivalentTo(0), "Accepted": BeFalse()}))
		Expect(got[0].StoreTimestamp-got[0].BornTimestamp).To(BeNumerically(">=", 900), "delay level 1 is one second")
		Expect(got[1]).To(MatchFields(IgnoreExtras, Fields{"ReconsumeTimes": BeEquivalentTo(1), "Accepted": BeTrue(), "MsgID": Equal(got[0].MsgID)}))
		Expect(consumer.Stop(ctx)).To(Succeed())
	}, SpecTimeout(3*time.Minute))
})

var _ = Describe("A machine without the tool chain", func() {
	It("is told what to install", func(ctx SpecContext) {
		GinkgoT().Setenv("PATH", "")
		GinkgoT().Setenv("JAVA_HOME", "")
		GinkgoT().Setenv(apachebroker.CacheVariable, GinkgoT().TempDir())
		_, err := apachebroker.Start(ctx, apachebroker.Options{})
		Expect(err).To(MatchError(And(ContainSubstring("java not found"), ContainSubstring("install a JDK 11 or newer"))))
		_, err = apachebroker.Prepare(ctx, apachebroker.V5_3_3)
		Expect(err).To(MatchError(And(ContainSubstring("mvn not found"), ContainSubstring("install Maven"))))
	}, SpecTimeout(10*time.Second))

	It("is told about a release that does not exist", func() {
		GinkgoT().Setenv(apachebroker.VersionsVariable, "5.3.3, 5.9")
		_, err := apachebroker.Versions()
		Expect(err).To(MatchError(ContainSubstring(`"5.9"`)))
		GinkgoT().Setenv(apachebroker.VersionsVariable, "5.5.0,5.3.3")
		Expect(apachebroker.Versions()).To(Equal([]apachebroker.Version{apachebroker.V5_5_0, apachebroker.V5_3_3}))
	})
})

// javaPeer starts a Java program that ends with the spec.
func javaPeer(ctx context.Context, v apachebroker.Version, main string, args ...string) *apachebroker.Peer {
	GinkgoHelper()
	p, err := apachebroker.Java(ctx, apachebroker.Program{Version: v, Main: main, Args: args})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Close)
	return p
}

// produce runs the Java producer to its end and returns what it sent.
func produce(ctx context.Context, v apachebroker.Version, properties map[string]string, args ...string) []apachebroker.Event {
	GinkgoHelper()
	p, err := apachebroker.Java(ctx, apachebroker.Program{Version: v, Main: "Producer", Args: args, Properties: properties})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.Close)
	Expect(p.Wait(ctx)).To(Succeed(), strings.TrimSpace(p.Log()))
	return p.Of("sent")
}
