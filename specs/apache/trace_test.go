package apache_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

var _ = onEveryVersion("A traced message", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	if !v.Modern() {
		return // the tool of 4.x has no such command
	}
	It("is found by Apache's mqadmin, with what Java sent and what we consumed", Label("A48"), func(ctx SpecContext) {
		c, topic, traces := cluster(ctx), unique("Traced"), unique("Traces")
		Expect(c.CreateTopic(ctx, topic, 1)).To(Succeed())
		Expect(c.CreateTopic(ctx, traces, 1)).To(Succeed())
		got := consuming(ctx, c.NameServer(), topic, troupe.Config{Trace: true, TraceTopic: traces})
		sent := produce(ctx, v, nil, "--nameserver", c.NameServer(), "--topic", topic, "--key", "k", "--trace-topic", traces)
		Eventually(got).WithContext(ctx).WithTimeout(20 * time.Second).Should(Receive())
		// We send traces within 5 s; then the broker has to index them.
		Eventually(func(g Gomega) {
			text, err := apachebroker.MQAdmin(ctx, v, c.NameServer(), "queryMsgTraceById", "-i", sent[0].MsgID, "-t", traces)
			g.Expect(err).NotTo(HaveOccurred())
			var kinds []string
			for _, row := range rows(text) {
				kinds = append(kinds, row...)
			}
			g.Expect(text).To(ContainSubstring("KindsGroup"), text)
			g.Expect(slices.Contains(kinds, "Pub")).To(BeTrue(), text)
			g.Expect(slices.Contains(kinds, "success")).To(BeTrue(), text)
		}).WithContext(ctx).WithTimeout(90 * time.Second).WithPolling(2 * time.Second).Should(Succeed())
	}, SpecTimeout(3*time.Minute))
})
