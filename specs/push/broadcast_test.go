package push_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/offsetfile"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/conformance"
)

var _ = Describe("A broadcasting group on the embedded broker", func() { conformance.Broadcasting(cluster) })

var _ = Describe("A broadcasting group that cannot be", func() {
	It("is told all its faults before any connection", Label("A38"), func(ctx SpecContext) {
		rt, err := troupe.New(untouched(), troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Broadcast("g", troupe.BroadcastConfig{
			Workers: -1, PullBatch: 1025, MaxCached: 65536, MaxCachedBytes: 1, MaxSpan: -1, LocalRetries: 1001, RetryDelay: time.Nanosecond,
			ConsumeTime: time.Now(), MaxCachedPerTopic: -1, MaxCachedBytesPerTopic: -1, PullInterval: -1, RevokeGrace: -1, HandlerTimeout: time.Nanosecond, LongPoll: time.Hour,
		})
		var fields []string
		for _, f := range faultsOf(rt.Start(ctx)) {
			fields = append(fields, f.Field)
		}
		const at = "group g: BroadcastConfig."
		Expect(fields).To(ConsistOf(at+"Workers", at+"PullBatch", at+"MaxCached", at+"MaxCachedBytes", at+"MaxSpan", at+"LocalRetries", at+"RetryDelay",
			at+"ConsumeTime", at+"MaxCachedPerTopic", at+"MaxCachedBytesPerTopic", at+"PullInterval", at+"RevokeGrace", at+"HandlerTimeout", at+"LongPoll", at+"Offsets", "group g"))
	}, SpecTimeout(10*time.Second))

	It("is told what is wrong with all stores at the start, before any connection; none stays locked", Label("A51"), func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600)).To(Succeed())
		rt, err := troupe.New(untouched(), troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Broadcast("sound", troupe.BroadcastConfig{Offsets: offsetfile.At(dir)}).Handle("t", troupe.AllTags(), ignore)
		rt.Broadcast("long", troupe.BroadcastConfig{Offsets: offsetfile.At("")}).Handle("t", troupe.AllTags(), ignore)
		rt.Broadcast("blocked", troupe.BroadcastConfig{Offsets: offsetfile.At(filepath.Join(dir, "plain"))}).Handle("t", troupe.AllTags(), ignore)
		for range 2 { // also the second time: the sound one was given free
			err = rt.Start(ctx)
			_, typed := errors.AsType[*troupe.ConfigError](err)
			Expect(typed).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(And(ContainSubstring("group long"), ContainSubstring("group blocked"), Not(ContainSubstring("group sound")))))
		}
	}, SpecTimeout(10*time.Second))

	It("gives its store free when a start fails, and at the end", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		nobody, err := troupe.New(rocketmq.Cluster{NameServers: []string{"127.0.0.1:1"}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		nobody.Broadcast("g", troupe.BroadcastConfig{Offsets: offsetfile.At(dir)}).Handle("t", troupe.AllTags(), ignore)
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		Expect(nobody.Start(short)).To(MatchError(context.DeadlineExceeded))
		b := broker(ctx, embedded.Config{})
		for range 2 {
			rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{})
			Expect(err).NotTo(HaveOccurred())
			rt.Broadcast("g", troupe.BroadcastConfig{Offsets: offsetfile.At(dir)}).Handle("t", troupe.AllTags(), ignore)
			Expect(rt.Start(ctx)).To(Succeed())
			Expect(rt.Shutdown(ctx)).To(Succeed())
		}
	}, SpecTimeout(30*time.Second))
})
