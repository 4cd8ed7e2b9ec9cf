package apache_test

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/offsetfile"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

var _ = onEveryVersion("The offsets of a broadcasting group", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	It("go from the Java client to ours and back in one file: each goes on where the other has left off", Label("A51"), func(ctx SpecContext) {
		topic, group, dir := unique("Broadcast"), unique("BroadcastGroup"), GinkgoT().TempDir()
		c := cluster(ctx)
		Expect(c.CreateTopic(ctx, topic, 2)).To(Succeed())
		publish := func(n string) {
			produce(ctx, v, nil, "--nameserver", c.NameServer(), "--topic", topic, "--count", n)
		}
		java := func(n int) {
			GinkgoHelper()
			p, err := apachebroker.Java(ctx, apachebroker.Program{
				Version: v, Main: "PushConsumer", Properties: map[string]string{"rocketmq.client.localOffsetStoreDir": dir},
				Args: []string{"--nameserver", c.NameServer(), "--group", group, "--topic", topic, "--model", "broadcasting", "--instance", "fixed"},
			})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(p.Close)
			Expect(p.Await(ctx, "message", n)).Error().NotTo(HaveOccurred())
			Expect(p.Stop(ctx)).To(Succeed())
			Expect(p.Of("message")).To(HaveLen(n), "nothing twice")
		}
		publish("10")
		java(10)

		clients, err := filepath.Glob(filepath.Join(dir, "*@fixed"))
		Expect(err).NotTo(HaveOccurred())
		Expect(clients).To(HaveLen(1))
		Expect(saved(ctx, clients[0], group)).To(BeEquivalentTo(10), "what the Java client has noted")
		publish("7")
		var mu sync.Mutex
		ours := 0
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Broadcast(group, troupe.BroadcastConfig{Offsets: offsetfile.At(clients[0])}).
			Handle(topic, troupe.AllTags(), func(context.Context, *troupe.Message) error {
				mu.Lock()
				defer mu.Unlock()
				ours++
				return nil
			})
		Expect(rt.Start(ctx)).To(Succeed())
		DeferCleanup(rt.Shutdown)
		Eventually(func() int { mu.Lock(); defer mu.Unlock(); return ours }).WithContext(ctx).WithTimeout(30 * time.Second).Should(Equal(7))
		Expect(rt.Shutdown(ctx)).To(Succeed())
		Expect(ours).To(Equal(7))
		Expect(saved(ctx, clients[0], group)).To(BeEquivalentTo(17), "what we have noted")

		publish("5")
		java(5)
	}, SpecTimeout(3*time.Minute))
})

// saved sums the offsets that the file of a group holds: how many messages of its topics are done.
func saved(ctx context.Context, dir, group string) (sum int64) {
	GinkgoHelper()
	table, err := offsetfile.At(dir).Open(ctx, group)
	Expect(err).NotTo(HaveOccurred())
	offsets, warning := table.Saved()
	Expect(warning).To(BeEmpty())
	for _, offset := range offsets {
		sum += offset
	}
	Expect(table.Close()).To(Succeed())
	return sum
}
