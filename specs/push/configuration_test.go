package push_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// faultsOf takes a joined error apart.
func faultsOf(err error) []*troupe.ConfigError {
	GinkgoHelper()
	joined, ok := err.(interface{ Unwrap() []error })
	Expect(ok).To(BeTrue(), "%v", err)
	var out []*troupe.ConfigError
	for _, e := range joined.Unwrap() {
		var fault *troupe.ConfigError
		Expect(errors.As(e, &fault)).To(BeTrue(), "%v", e)
		out = append(out, fault)
	}
	return out
}

func ignore(context.Context, *troupe.Message) error { return nil }

// untouched is a cluster whose dialer must not be used.
func untouched() rocketmq.Cluster {
	return rocketmq.Cluster{
		NameServers: []string{"127.0.0.1:9"},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			defer GinkgoRecover()
			Fail("a faulty configuration caused traffic")
			return nil, errors.New("no")
		},
	}
}

var _ = Describe("A faulty configuration", func() {
	It("of the Runtime is told whole, before any connection", Label("A38"), func() {
		_, err := troupe.New(rocketmq.Cluster{NameServers: []string{"nowhere", "a:b"}}, troupe.Config{
			ClientID: strings.Repeat("x", 256), DrainTimeout: -1, MemoryLimit: -1, HeartbeatInterval: time.Hour, RouteRefreshInterval: time.Millisecond,
			RebalanceInterval: time.Nanosecond, OffsetPersistInterval: -time.Second, HeapHeadroom: -2,
			TraceTopic: "bad topic", TraceBatch: 21,
		})
		var fields []string
		for _, f := range faultsOf(err) {
			fields = append(fields, f.Field)
			Expect(f.Reason).NotTo(BeEmpty())
		}
		Expect(fields).To(ConsistOf("Cluster.NameServers[0]", "Cluster.NameServers[1]", "Config.ClientID", "Config.DrainTimeout", "Config.MemoryLimit",
			"Config.HeartbeatInterval", "Config.RouteRefreshInterval", "Config.RebalanceInterval", "Config.OffsetPersistInterval", "Config.HeapHeadroom",
			"Config.TraceTopic", "Config.TraceBatch"))
	})

	It("without a transport or name server names what is missing", func() {
		_, err := troupe.New(nil, troupe.Config{})
		Expect(err).To(MatchError(ContainSubstring("pass e.g. rocketmq.Cluster")))
		_, err = troupe.New(rocketmq.Cluster{}, troupe.Config{})
		Expect(err).To(MatchError(ContainSubstring("at least one address")))
	})

	DescribeTable("of a group is told by Start, before any connection", Label("A38"),
		func(ctx SpecContext, field string, group string, cfg troupe.ConcurrentConfig, declare func(*troupe.ConcurrentGroup)) {
			rt, err := troupe.New(untouched(), troupe.Config{})
			Expect(err).NotTo(HaveOccurred())
			g := rt.Concurrent(group, cfg)
			if declare == nil {
				declare = func(g *troupe.ConcurrentGroup) { g.Handle("topic", troupe.AllTags(), ignore) }
			}
			declare(g)
			faults := faultsOf(rt.Start(ctx))
			Expect(faults).To(HaveLen(1))
			Expect(faults[0].Field).To(HaveSuffix(field))
			Expect(rt.Shutdown(ctx)).To(Succeed())
		},
		Entry(nil, "group", "", troupe.ConcurrentConfig{}, nil),
		Entry(nil, "group", "two words", troupe.ConcurrentConfig{}, nil),
		Entry(nil, "group", strings.Repeat("g", 121), troupe.ConcurrentConfig{}, nil),
		Entry(nil, "group", "DEFAULT_CONSUMER", troupe.ConcurrentConfig{}, nil),
		Entry(nil, ".Workers", "g", troupe.ConcurrentConfig{Workers: 1001}, nil),
		Entry(nil, ".Workers", "g", troupe.ConcurrentConfig{Workers: -1}, nil),
		Entry(nil, ".PullBatch", "g", troupe.ConcurrentConfig{PullBatch: 1025}, nil),
		Entry(nil, ".MaxCached", "g", troupe.ConcurrentConfig{MaxCached: 65536}, nil),
		Entry(nil, ".MaxCachedBytes", "g", troupe.ConcurrentConfig{MaxCachedBytes: 1}, nil),
		Entry(nil, ".MaxSpan", "g", troupe.ConcurrentConfig{MaxSpan: -5}, nil),
		Entry(nil, ".MaxRetries", "g", troupe.ConcurrentConfig{MaxRetries: -2}, nil),
		Entry(nil, ".RevokeGrace", "g", troupe.ConcurrentConfig{RevokeGrace: -1}, nil),
		Entry(nil, ".RedeliverAfter", "g", troupe.ConcurrentConfig{RedeliverAfter: 1}, nil),
		Entry(nil, ".LongPoll", "g", troupe.ConcurrentConfig{LongPoll: time.Hour}, nil),
		Entry(nil, ".ConsumeFrom", "g", troupe.ConcurrentConfig{ConsumeFrom: 7}, nil),
		Entry(nil, ".ConsumeTime", "g", troupe.ConcurrentConfig{ConsumeTime: time.Now()}, nil),
		Entry(nil, ".StrictLast", "g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, StrictLast: true}, nil),
		Entry(nil, ".PullBatch", "g", troupe.ConcurrentConfig{PullBatch: -1}, nil),
		Entry(nil, ".MaxCachedPerTopic", "g", troupe.ConcurrentConfig{MaxCachedPerTopic: -1}, nil),
		Entry(nil, ".MaxCachedPerTopic", "g", troupe.ConcurrentConfig{MaxCachedPerTopic: 6_553_501}, nil),
		Entry(nil, ".MaxCachedBytesPerTopic", "g", troupe.ConcurrentConfig{MaxCachedBytesPerTopic: 1<<20 - 1}, nil),
		Entry(nil, ".MaxCachedBytesPerTopic", "g", troupe.ConcurrentConfig{MaxCachedBytesPerTopic: 100<<30 + 1}, nil),
		Entry(nil, ".PullInterval", "g", troupe.ConcurrentConfig{PullInterval: -1}, nil),
		Entry(nil, ".PullInterval", "g", troupe.ConcurrentConfig{PullInterval: 65536 * time.Millisecond}, nil),
		Entry(nil, ".HandlerTimeout", "g", troupe.ConcurrentConfig{HandlerTimeout: time.Nanosecond}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.Configured()}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.Configured(nil)}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.Configured(
			&troupe.Queue{Topic: "t", Broker: "b"}, &troupe.Queue{Topic: "t", Broker: "b"})}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.MachineRoom()}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.MachineRoom("a@b")}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.MachineRoomNearby(troupe.ByCircle(), nil, nil)}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.MachineRoomNearby(troupe.ConsistentHash(-1), strings.ToLower, strings.ToLower)}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.ConsistentHash(-1)}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.ConsistentHash(10_001)}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.ConsistentHashBy(10, nil)}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.AllocateBy("mine", nil)}, nil),
		Entry(nil, ".Allocation", "g", troupe.ConcurrentConfig{Allocation: troupe.AllocateBy(" ",
			func(string, []string, []*troupe.Queue) ([]*troupe.Queue, error) { return nil, nil })}, nil),
		Entry(nil, "group g", "g", troupe.ConcurrentConfig{}, func(*troupe.ConcurrentGroup) {}),
		Entry(nil, "topic", "g", troupe.ConcurrentConfig{}, func(g *troupe.ConcurrentGroup) { g.Handle("bad topic", troupe.AllTags(), ignore) }),
		Entry(nil, "topic t: handler", "g", troupe.ConcurrentConfig{}, func(g *troupe.ConcurrentGroup) { g.Handle("t", troupe.AllTags(), nil) }),
		Entry(nil, "topic t: filter", "g", troupe.ConcurrentConfig{}, func(g *troupe.ConcurrentGroup) { g.Handle("t", troupe.Tags(), ignore) }),
		Entry(nil, "topic t: filter", "g", troupe.ConcurrentConfig{}, func(g *troupe.ConcurrentGroup) { g.Handle("t", troupe.Tags("a||b"), ignore) }),
		Entry(nil, "topic t: batch size", "g", troupe.ConcurrentConfig{}, func(g *troupe.ConcurrentGroup) {
			g.HandleBatch("t", troupe.AllTags(), 1025, func(context.Context, []*troupe.Message) error { return nil })
		}),
		Entry("a topic subscribed to twice", "topic", "g", troupe.ConcurrentConfig{}, Label("A15"), func(g *troupe.ConcurrentGroup) {
			g.Handle("t", troupe.AllTags(), ignore)
			g.Handle("t", troupe.Tags("a"), ignore)
		}),
	)

	It("of a group with faults everywhere is told whole, each fault with its value and what would be right", Label("A38"), func(ctx SpecContext) {
		rt, err := troupe.New(untouched(), troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		rt.Concurrent("two words", troupe.ConcurrentConfig{
			Workers: -1, PullBatch: 1025, MaxCached: -1, MaxCachedBytes: 1, MaxCachedPerTopic: -1, MaxCachedBytesPerTopic: 1, PullInterval: -1,
			MaxSpan: 65536, MaxRetries: -2, ConsumeFrom: -1, ConsumeTime: time.Now(), StrictLast: true, Allocation: troupe.MachineRoom("", "a@b"),
			RevokeGrace: -1, HandOff: 1, RedeliverAfter: -1, HandlerTimeout: 1, LongPoll: -1,
		}).Handle("bad topic", troupe.Tags(), nil)
		rt.Orderly("two words, too", troupe.OrderlyConfig{Workers: 1001, SuspendFor: 1, Turn: 1, PullInterval: time.Hour, Allocation: troupe.ConsistentHash(-1)}).
			Handle("t", troupe.AllTags(), ignore)
		var fields []string
		for _, f := range faultsOf(rt.Start(ctx)) {
			fields = append(fields, f.Field[strings.LastIndex(f.Field, ".")+1:])
			Expect(f.Reason).NotTo(BeEmpty())
			Expect(f.Error()).To(And(ContainSubstring(f.Field), ContainSubstring(f.Reason)))
		}
		Expect(fields).To(ConsistOf("Workers", "PullBatch", "MaxCached", "MaxCachedBytes", "MaxCachedPerTopic", "MaxCachedBytesPerTopic", "PullInterval",
			"MaxSpan", "MaxRetries", "ConsumeFrom", "ConsumeTime", "StrictLast", "Allocation", "Allocation", "RevokeGrace", "HandOff", "RedeliverAfter",
			"HandlerTimeout", "LongPoll", "group", ContainSubstring("topic"), ContainSubstring("filter"), ContainSubstring("handler"),
			"Workers", "SuspendFor", "Turn", "PullInterval", "Allocation", "group"))
		Expect(rt.Shutdown(ctx)).To(Succeed())
	})

	It("with a group declared twice is an error of Start", Label("A34"), func(ctx SpecContext) {
		rt, err := troupe.New(untouched(), troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		for range 2 {
			rt.Concurrent("g", troupe.ConcurrentConfig{}).Handle("t", troupe.AllTags(), ignore)
		}
		Expect(rt.Start(ctx)).To(MatchError(ContainSubstring("declared twice")))
	})

	It("with one client id for two members of a group is an error of the second Start, until the first has left", Label("A10"), func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{})
		Expect(b.CreateTopic("t", 1)).To(Succeed())
		member := func() *troupe.Runtime {
			rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{ClientID: "me"})
			Expect(err).NotTo(HaveOccurred())
			rt.Concurrent("g", troupe.ConcurrentConfig{}).Handle("t", troupe.AllTags(), ignore)
			return rt
		}
		one, two := member(), member()
		Expect(one.Start(ctx)).To(Succeed())
		Expect(b.Members("g")).To(ConsistOf("me"), "an id chosen by hand is used literally")
		Expect(two.Start(ctx)).To(MatchError(ContainSubstring("already a member of group g")))
		Expect(one.Shutdown(ctx)).To(Succeed())
		Expect(two.Start(ctx)).To(Succeed())
		Expect(two.Shutdown(ctx)).To(Succeed())
	}, SpecTimeout(time.Minute))

	It("is not needed for ids that differ: Runtimes of one process never share one", Label("A10"), func() {
		seen := map[string]bool{}
		for range 100 {
			rt, err := troupe.New(untouched(), troupe.Config{})
			Expect(err).NotTo(HaveOccurred())
			Expect(rt.ClientID()).To(MatchRegexp(`^[0-9.]+@\d+#[0-9a-f]{16}$`))
			seen[rt.ClientID()] = true
		}
		Expect(seen).To(HaveLen(100))
	})
})
