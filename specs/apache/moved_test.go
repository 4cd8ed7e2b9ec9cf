package apache_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

var _ = onEveryVersion("A group on two brokers", func(v apachebroker.Version, _ func(context.Context) *apachebroker.Cluster) {
	It("goes on with one while the other is killed and comes back at another address, and loses nothing", Label("A12", "A13"), func(ctx SpecContext) {
		own, err := apachebroker.Start(ctx, apachebroker.Options{Version: v})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(own.Close()).To(Succeed()) })
		stays, topic := own.Broker(), unique("Moved")
		Expect(own.CreateTopic(ctx, topic, 4)).To(Succeed())

		var mu sync.Mutex
		got := map[string]int{}        // by body
		last := map[string]time.Time{} // by broker
		var pause time.Duration        // the longest of the broker that stays
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{own.NameServer()}}, troupe.Config{RouteRefreshInterval: 2 * time.Second})
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent(unique("MovedGroup"), troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
				mu.Lock()
				defer mu.Unlock()
				got[string(m.GetBody())]++
				if before, ok := last[m.GetBroker()]; ok && m.GetBroker() == stays.Name() {
					pause = max(pause, time.Since(before))
				}
				last[m.GetBroker()] = time.Now()
				return nil
			})
		Expect(rt.Start(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))

		// A new broker is found without a restart.
		moves, err := own.AddBroker(ctx, "broker-b", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(own.CreateTopic(ctx, topic, 4)).To(Succeed())
		Eventually(func() int { return ownedOf(rt, topic) }).WithContext(ctx).WithTimeout(60 * time.Second).Should(Equal(8))

		stop, acknowledged := flow(ctx, own, topic)
		heard := func(broker string, since time.Time) func() bool {
			return func() bool {
				mu.Lock()
				defer mu.Unlock()
				return last[broker].After(since)
			}
		}
		begin := time.Now()
		Eventually(heard(moves.Name(), begin)).WithContext(ctx).WithTimeout(30 * time.Second).Should(BeTrue())
		Eventually(heard(stays.Name(), begin)).WithContext(ctx).WithTimeout(30 * time.Second).Should(BeTrue())
		old := moves.Addr()
		Expect(moves.Kill()).To(Succeed())
		Expect(moves.Move(ctx)).To(Succeed())
		Expect(moves.Addr()).NotTo(Equal(old))
		back := time.Now()
		Eventually(heard(moves.Name(), back)).WithContext(ctx).WithTimeout(60 * time.Second).Should(BeTrue())
		AddReportEntry("recovery", ReportEntryVisibilityAlways, string(v)+": consumed again "+time.Since(back).Round(time.Millisecond).String()+" after it is back")
		stop()
		Expect(len(acknowledged())).To(BeNumerically(">", 100))
		Eventually(func() (missing int) {
			mu.Lock()
			defer mu.Unlock()
			for _, body := range acknowledged() {
				if got[body] == 0 {
					missing++
				}
			}
			return missing
		}).WithContext(ctx).WithTimeout(30 * time.Second).Should(BeZero())
		mu.Lock()
		defer mu.Unlock()
		// While the virtual machine of the other one starts on the same two cores.
		Expect(pause).To(BeNumerically("<", 5*time.Second), "the broker that stays is not held up")
	}, SpecTimeout(4*time.Minute))
})
