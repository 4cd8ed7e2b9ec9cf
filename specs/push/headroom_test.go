package push_test

import (
	"runtime"
	"runtime/metrics"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
)

var _ = Describe("The headroom of the collector", func() {
	const size = 64 << 20 // so much that nothing else is mistaken for it

	collect := func() int64 {
		runtime.GC()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		return int64(live[0].Value.Uint64())
	}
	start := func(ctx SpecContext, bytes int64) *troupe.Runtime {
		b := broker(ctx, embedded.Config{})
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{HeapHeadroom: bytes})
		Expect(err).NotTo(HaveOccurred())
		Expect(rt.Start(ctx)).To(Succeed())
		DeferCleanup(rt.Shutdown)
		return rt
	}

	It("is reserved once collections follow each other quickly, and given back by Shutdown", func(ctx SpecContext) {
		before := collect()
		rt := start(ctx, size)
		Expect(collect()-before).To(BeNumerically("<", size/2), "one collection is no reason")
		Eventually(collect).WithContext(ctx).Should(BeNumerically(">", before+size/2))
		Expect(rt.Shutdown(ctx)).To(Succeed())
		Eventually(collect).WithContext(ctx).Should(BeNumerically("<", before+size/2))
	}, SpecTimeout(30*time.Second))

	It("is not reserved in a program that keeps as much alive, nor when there is to be none", func(ctx SpecContext) {
		before := collect()
		start(ctx, troupe.NoHeadroom)
		for range 20 {
			Expect(collect()).To(BeNumerically("<", before+size/2))
		}
		kept := make([]byte, size+size/4)
		start(ctx, size)
		for range 20 {
			Expect(collect()).To(BeNumerically("<", before+2*size))
		}
		runtime.KeepAlive(kept)
	})
})
