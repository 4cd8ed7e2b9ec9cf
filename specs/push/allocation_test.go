package push_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// queuesOf gives the ids of a topic's queues that a Runtime has, in order.
func queuesOf(rt *troupe.Runtime, topic string) []int {
	ids := []int{}
	for _, g := range rt.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetQueue().GetTopic() == topic {
				ids = append(ids, int(q.GetQueue().GetId()))
			}
		}
	}
	slices.Sort(ids)
	return ids
}

var _ = Describe("Two members of a group", func() {
	room := func(name string) string { r, _, _ := strings.Cut(name, "#"); return r }
	listed := func(ids ...int32) (out []*troupe.Queue) {
		for _, id := range ids {
			out = append(out, &troupe.Queue{Topic: "t", Broker: "east@a", Id: id})
		}
		return out
	}
	upTo := func(me string, members []string, queues []*troupe.Queue) ([]*troupe.Queue, error) {
		if len(members) > 2 {
			return nil, errors.New("made for two")
		}
		if me == members[0] {
			return queues[:1], nil
		}
		return queues[1:], nil
	}

	DescribeTable("share the queues of a topic as they were told to", Label("A11"),
		func(ctx SpecContext, one, two troupe.Allocation, first, second []int) {
			b := broker(ctx, embedded.Config{BrokerName: "east@a"})
			Expect(b.CreateTopic("t", 5)).To(Succeed())
			var members []*troupe.Runtime
			for i, a := range []troupe.Allocation{one, two} {
				rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{ClientID: []string{"east#1", "west#2"}[i]})
				Expect(err).NotTo(HaveOccurred())
				rt.Concurrent("g", troupe.ConcurrentConfig{Allocation: a}).Handle("t", troupe.AllTags(), ignore)
				start(ctx, rt)
				members = append(members, rt)
			}
			Eventually(func() []int { return queuesOf(members[0], "t") }, "20s").Should(Equal(first))
			Eventually(func() []int { return queuesOf(members[1], "t") }, "20s").Should(Equal(second))
		},
		Entry("averagely, if nothing is said", troupe.Allocation{}, troupe.Allocation{}, []int{0, 1, 2}, []int{3, 4}, SpecTimeout(time.Minute)),
		Entry("averagely", troupe.Averagely(), troupe.Averagely(), []int{0, 1, 2}, []int{3, 4}, SpecTimeout(time.Minute)),
		Entry("by circle", troupe.ByCircle(), troupe.ByCircle(), []int{0, 2, 4}, []int{1, 3}, SpecTimeout(time.Minute)),
		Entry("by configuration", troupe.Configured(listed(0, 4, 9)...), troupe.Configured(listed(1, 2)...), []int{0, 4}, []int{1, 2}, SpecTimeout(time.Minute)),
		Entry("by machine room", troupe.MachineRoom("east"), troupe.MachineRoom("east"), []int{0, 1, 4}, []int{2, 3}, SpecTimeout(time.Minute)),
		Entry("by machine room, of a room without brokers", troupe.MachineRoom("north"), troupe.MachineRoom("north"), []int{}, []int{}, SpecTimeout(time.Minute)),
		Entry("near by",
			troupe.MachineRoomNearby(troupe.Averagely(), func(string) string { return "east" }, room),
			troupe.MachineRoomNearby(troupe.Averagely(), func(string) string { return "east" }, room), []int{0, 1, 2, 3, 4}, []int{}, SpecTimeout(time.Minute)),
		Entry("by a function", troupe.AllocateBy("FIRST", upTo), troupe.AllocateBy("FIRST", upTo), []int{0}, []int{1, 2, 3, 4}, SpecTimeout(time.Minute)),
	)
})

var _ = Describe("A limit for a topic", func() {
	It("bounds what a member holds of all its queues together", func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{})
		Expect(b.CreateTopic("t", 4)).To(Succeed())
		fill(b, "t", 400, 4)
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		gate := make(chan struct{})
		rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, MaxCachedPerTopic: 40}).
			Handle("t", troupe.AllTags(), func(ctx context.Context, _ *troupe.Message) error {
				select {
				case <-gate:
				case <-ctx.Done():
				}
				return ctx.Err()
			})
		start(ctx, rt)
		cached := func() (sum int64) {
			for _, q := range rt.Topology().GetGroups()[0].GetQueues() {
				sum += q.GetCachedMessages()
			}
			return sum
		}
		Eventually(cached, "20s").Should(Equal(int64(40)))
		Consistently(cached, "500ms").Should(BeNumerically("<=", 40))
		close(gate)
		Eventually(func() int64 { return b.Lag("g", "t") }, "30s").Should(BeZero())
	}, SpecTimeout(time.Minute))
})
