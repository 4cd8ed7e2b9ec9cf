package push_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	troupe "github.com/troupe-mq/troupe/runtime"
)

var _ = Describe("The end of a Runtime", Label("A32"), func() {
	var b *embedded.Broker
	BeforeEach(func(ctx SpecContext) {
		b = broker(ctx, embedded.Config{DelayLevels: levels()})
		Expect(b.CreateTopic("t", 1)).To(Succeed())
	})

	It("takes no time when nothing is in flight, and a second one changes nothing", func(ctx SpecContext) {
		rt := member(b, troupe.ConcurrentConfig{}, ignore)
		start(ctx, rt)
		begin := time.Now()
		Expect(rt.Shutdown(ctx)).To(Succeed())
		Expect(time.Since(begin)).To(BeNumerically("<", 2*time.Second), "half a second, and a margin for a busy machine")
		Expect(rt.Shutdown(ctx)).To(Succeed())
		Expect(rt.Done()).To(BeClosed())
		Expect(rt.Start(ctx)).To(MatchError(troupe.ErrClosed))
	}, SpecTimeout(time.Minute))

	It("tells how many handlers it has left behind that do not heed their context", func(ctx SpecContext) {
		fill(b, "t", 3, 1)
		entered, release := make(chan struct{}, 3), make(chan struct{})
		rt := member(b, troupe.ConcurrentConfig{}, func(context.Context, *troupe.Message) error {
			entered <- struct{}{}
			<-release
			return nil
		})
		start(ctx, rt)
		for range 3 {
			Eventually(entered, "10s").Should(Receive())
		}
		deadline, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		err := rt.Shutdown(deadline)
		var cut *troupe.ShutdownError
		Expect(errors.As(err, &cut)).To(BeTrue(), "%v", err)
		Expect(cut.Abandoned).To(Equal(int64(3)))
		Expect(err).To(MatchError(context.DeadlineExceeded))
		close(release)
		offset, _ := b.Committed("g", "t", 0)
		Expect(offset).To(BeZero(), "what they were about is delivered again")
		Expect(b.Members("g")).To(BeEmpty())
	}, SpecTimeout(time.Minute))

	It("tells which offsets the broker did not take", func(ctx SpecContext) {
		fill(b, "t", 3, 1)
		done := make(chan struct{}, 3)
		// Neither the 5 s timer nor a pull has told the broker yet: it is the last word that is refused.
		b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.UpdateConsumerOffset}, Answer: wire.SystemError, Remark: "scripted"})
		rt := member(b, troupe.ConcurrentConfig{}, func(context.Context, *troupe.Message) error { done <- struct{}{}; return nil })
		start(ctx, rt)
		for range 3 {
			Eventually(done, "10s").Should(Receive())
		}
		err := rt.Shutdown(ctx)
		var cut *troupe.ShutdownError
		Expect(errors.As(err, &cut)).To(BeTrue(), "%v", err)
		Expect(cut.Abandoned).To(BeZero())
		Expect(cut.Unpersisted).To(ContainElement(And(ContainSubstring("t@broker-a"), ContainSubstring("scripted"))))
	}, SpecTimeout(time.Minute))

	It("may be asked for in a handler, and does not wait for that one for ever", func(ctx SpecContext) {
		fill(b, "t", 1, 1)
		ended := make(chan error, 1)
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{DrainTimeout: 300 * time.Millisecond})
		Expect(err).NotTo(HaveOccurred())
		causes := make(chan error, 1)
		rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle("t", troupe.AllTags(), func(ctx context.Context, _ *troupe.Message) error {
				go func() { ended <- rt.Shutdown(context.Background()) }()
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return ctx.Err()
			})
		Expect(rt.Start(ctx)).To(Succeed())
		Eventually(ended, "20s").Should(Receive(BeNil()))
		Expect(causes).To(Receive(MatchError(troupe.ErrDraining)))
	}, SpecTimeout(time.Minute))

	It("follows the end of Run's context", func(ctx SpecContext) {
		fill(b, "t", 20, 1)
		rt := member(b, troupe.ConcurrentConfig{}, ignore)
		running, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- rt.Run(running) }()
		Eventually(func() int64 { n, _ := b.Committed("g", "t", 0); return n }, "10s").Should(Equal(int64(20)))
		cancel()
		Eventually(ended, "10s").Should(Receive(BeNil()))
		Expect(b.Members("g")).To(BeEmpty())
		Eventually(b.Connections, "5s").Should(BeZero())
	}, SpecTimeout(time.Minute))
})
