package apache_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
	"github.com/troupe-mq/troupe/specs/conformance"
)

// apacheCluster is a real cluster as the conformance suite wants it.
type apacheCluster struct{ *apachebroker.Cluster }

func (c apacheCluster) NameServers() []string { return []string{c.NameServer()} }

func (c apacheCluster) Kill(ctx context.Context) error {
	if err := c.Broker().Kill(); err != nil {
		return err
	}
	return c.Broker().Start(ctx)
}

func (c apacheCluster) Bounce(ctx context.Context) error { return c.Broker().Restart(ctx) }

func (apacheCluster) FirstRetry() time.Duration { return 10 * time.Second }

var _ = onEveryVersion("A Runtime", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	shared := func(ctx context.Context) conformance.Cluster { return apacheCluster{cluster(ctx)} }
	Describe("a concurrent group", func() { conformance.Consuming(shared) })
	Describe("a broadcasting group", func() { conformance.Broadcasting(shared) })
	Describe("what a group settles", func() { conformance.Settling(shared) })
	Describe("a message body", func() { conformance.Bodies(shared) })
	Describe("what tools ask of a member", func() { conformance.Asking(shared) })
	Describe("a publisher", func() { conformance.Publishing(shared) })
	Describe("a pull group that polls", func() { conformance.Polling(shared) })
	Describe("a pull group that pulls by hand", func() { conformance.PullingByHand(shared) })
	Describe("an orderly group", func() { conformance.Ordering(shared) })
	Describe("a queue that is handed over", func() { conformance.HandingOver(shared, 3) })
	Describe("the subscriptions of a group", func() { conformance.Subscribing(shared) })
	Describe("a group whose topic grows", func() { conformance.Growing(shared) })
	Describe("a filter that the broker evaluates", func() { conformance.Filtering(shared) })
	Describe("a filter that the broker does not evaluate", Ordered, func() {
		var own *apachebroker.Cluster
		BeforeAll(func(ctx SpecContext) {
			var err error
			own, err = apachebroker.Start(ctx, apachebroker.Options{Version: v, Config: map[string]string{"enablePropertyFilter": "false"}})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(own.Close()).To(Succeed()) })
		}, NodeTimeout(3*time.Minute))
		conformance.NotFiltering(func(context.Context) conformance.Cluster { return apacheCluster{own} })
	})
	Describe("an operator", func() { conformance.Operating(shared) })
	// These kill the broker: they have a cluster of their own.
	Describe("the life of a group", Ordered, func() {
		var own *apachebroker.Cluster
		BeforeAll(func(ctx SpecContext) {
			var err error
			own, err = apachebroker.Start(ctx, apachebroker.Options{Version: v})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(own.Close()).To(Succeed()) })
		}, NodeTimeout(3*time.Minute))
		conformance.Living(func(context.Context) conformance.Cluster { return apacheCluster{own} })
		conformance.HandingOverAroundRestarts(func(context.Context) conformance.Cluster { return apacheCluster{own} }, 1)
	})
})
