package push_test

import (
	"context"
	"errors"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
)

var _ = Describe("Middleware of a group", func() {
	It("is around each handler, the first one outermost, sees the verdict and may change it", func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{DelayLevels: levels()})
		Expect(b.CreateTopic("t", 1)).To(Succeed())
		fill(b, "t", 1, 1)
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{OffsetPersistInterval: 100 * time.Millisecond})
		Expect(err).NotTo(HaveOccurred())
		var mu sync.Mutex
		var steps []string
		note := func(step string) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, step)
		}
		around := func(name string, change func(error) error) troupe.Middleware {
			return func(next troupe.Handler) troupe.Handler {
				return func(ctx context.Context, m *troupe.Message) error {
					note(name + " in")
					err := next(ctx, m)
					note(name + " out")
					return change(err)
				}
			}
		}
		refused := errors.New("refused")
		var seen error
		g := rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
		g.Use(around("first", func(err error) error { seen = err; return nil }), around("second", func(err error) error { return err }))
		g.Handle("t", troupe.AllTags(), func(context.Context, *troupe.Message) error { note("handler"); return refused })
		start(ctx, rt)
		Eventually(func() int64 { n, _ := b.Committed("g", "t", 0); return n }, "10s").Should(Equal(int64(1)))
		Expect(rt.Shutdown(ctx)).To(Succeed())
		Expect(steps).To(Equal([]string{"first in", "second in", "handler", "second out", "first out"}))
		Expect(seen).To(Equal(refused))
		Expect(b.CountMessages("%RETRY%g")).To(BeZero(), "the first one has made a success of it")
	}, SpecTimeout(time.Minute))
})
