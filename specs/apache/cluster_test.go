package apache_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// Request codes of the frames below.
const (
	sendMessageV2 = 310
	pullMessage   = 11
)

var _ = onEveryVersion("A real cluster", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	It("serves raw frames: what is sent can be pulled", func(ctx SpecContext) {
		c := cluster(ctx)
		AddReportEntry("start", fmt.Sprintf("%s: name server %v, broker boot %v, registered %v", v,
			c.NameServerBoot().Round(time.Millisecond), c.Broker().StartTimes().Boot.Round(time.Millisecond),
			c.Broker().StartTimes().Registered.Round(time.Millisecond)))
		topic := unique("Raw")
		Expect(c.CreateTopic(ctx, topic, 4)).To(Succeed())

		Expect(send(ctx, c, topic, 3, "hello")).To(BeEquivalentTo(0))
		Expect(send(ctx, c, topic, 3, "again")).To(BeEquivalentTo(1))

		Expect(pull(ctx, c, topic, 3, 0)).To(Equal([]string{"hello", "again"}))
		Expect(pull(ctx, c, topic, 3, 1)).To(Equal([]string{"again"}))
	}, SpecTimeout(3*time.Minute))

	It("answers mqadmin", func(ctx SpecContext) {
		out, err := apachebroker.MQAdmin(ctx, v, cluster(ctx).NameServer(), "clusterList")
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(And(ContainSubstring("broker-a"), ContainSubstring(cluster(ctx).BrokerAddr())))
	}, SpecTimeout(3*time.Minute))

	When("its broker is stopped and started again", func() {
		DescribeTable("it keeps its address and its messages", func(ctx SpecContext, stop func(context.Context, *apachebroker.Broker) error) {
			c, err := apachebroker.Start(ctx, apachebroker.Options{Version: v})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(c.Close)
			topic := unique("Restart")
			Expect(c.CreateTopic(ctx, topic, 1)).To(Succeed())
			Expect(send(ctx, c, topic, 0, "before")).To(BeEquivalentTo(0))
			addr := c.BrokerAddr()

			Expect(stop(ctx, c.Broker())).To(Succeed())
			Expect(c.Broker().PID()).To(BeZero())
			_, err = apachebroker.Call(ctx, addr, apachebroker.Request{Code: pullMessage})
			Expect(err).To(HaveOccurred())

			Expect(c.Broker().Start(ctx)).To(Succeed())
			Expect(c.BrokerAddr()).To(Equal(addr))
			Expect(send(ctx, c, topic, 0, "after")).To(BeEquivalentTo(1))
			Expect(pull(ctx, c, topic, 0, 0)).To(Equal([]string{"before", "after"}))
		},
			Entry("after SIGTERM", func(ctx context.Context, b *apachebroker.Broker) error { return b.Stop(ctx) }, SpecTimeout(4*time.Minute)),
			Entry("after SIGKILL", func(_ context.Context, b *apachebroker.Broker) error { return b.Kill() }, SpecTimeout(4*time.Minute)),
		)
	})
})

var _ = Describe("A cluster of two brokers", Label("apache"), func() {
	It("gives out one route over both", func(ctx SpecContext) {
		c, err := apachebroker.Start(ctx, apachebroker.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(c.Close)
		b, err := c.AddBroker(ctx, "broker-b", nil)
		Expect(err).NotTo(HaveOccurred())
		topic := unique("Two")
		Expect(c.CreateTopic(ctx, topic, 2)).To(Succeed())

		route, err := apachebroker.Call(ctx, c.NameServer(), apachebroker.Request{Code: 105, Header: map[string]string{"topic": topic}})
		Expect(err).NotTo(HaveOccurred())
		Expect(string(route.Body)).To(And(ContainSubstring(c.BrokerAddr()), ContainSubstring(b.Addr())))
	}, SpecTimeout(3*time.Minute))
})

// send publishes one message over a raw frame and returns its queue offset.
func send(ctx context.Context, c *apachebroker.Cluster, topic string, queue int, body string) int64 {
	GinkgoHelper()
	a, err := apachebroker.Call(ctx, c.BrokerAddr(), apachebroker.Request{Code: sendMessageV2, Body: []byte(body), Header: map[string]string{
		"a": "SPEC", "b": topic, "c": "TBW102", "d": "4", "e": strconv.Itoa(queue), "f": "0", "g": strconv.FormatInt(time.Now().UnixMilli(), 10),
		"h": "0", "i": "", "j": "0", "k": "false", "m": "false",
	}})
	Expect(err).NotTo(HaveOccurred())
	Expect(a.Code).To(BeZero(), a.Remark)
	offset, err := strconv.ParseInt(a.Header["queueOffset"], 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return offset
}

// pull reads the bodies of a queue from an offset on, over a raw frame that names no consumer group.
func pull(ctx context.Context, c *apachebroker.Cluster, topic string, queue int, offset int64) []string {
	GinkgoHelper()
	a, err := apachebroker.Call(ctx, c.BrokerAddr(), apachebroker.Request{Code: pullMessage, Header: map[string]string{
		"consumerGroup": "CLIENT_INNER_CONSUMER_SPEC", "topic": topic, "queueId": strconv.Itoa(queue), "queueOffset": strconv.FormatInt(offset, 10),
		"maxMsgNums": "32", "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0",
		"expressionType": "TAG",
	}})
	Expect(err).NotTo(HaveOccurred())
	Expect(a.Code).To(BeZero(), a.Remark)
	var bodies []string
	for rest := a.Body; len(rest) > 0; {
		size := binary.BigEndian.Uint32(rest)
		n := binary.BigEndian.Uint32(rest[84:]) // the body's length stands at 84 when hosts are IPv4
		bodies = append(bodies, string(rest[88:88+n]))
		rest = rest[size:]
	}
	return bodies
}
