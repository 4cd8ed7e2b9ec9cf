package apache_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// asked is a member that Apache's tools are asked about, with ten messages consumed from two queues.
type asked struct {
	cluster      *apachebroker.Cluster
	version      apachebroker.Version
	topic, group string
	runtime      *troupe.Runtime
	publisher    *troupe.Publisher

	mu        sync.Mutex
	ids       []string
	resets    []*troupe.Event
	corrected []*troupe.Event
}

// Observe notes where queues were moved.
func (a *asked) Observe(e *troupe.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.GetKind() {
	case messages.EventKind_EVENT_KIND_OFFSET_RESET:
		a.resets = append(a.resets, e)
	case messages.EventKind_EVENT_KIND_OFFSET_CORRECTED:
		a.corrected = append(a.corrected, e)
	}
}

func (a *asked) consumed() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ids)
}

// moved gives where queues were put: by brokers that tell their clients, and by brokers that answer the next pull.
func (a *asked) moved() (resets, corrected int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.resets), len(a.corrected)
}

func newAsked(ctx context.Context, v apachebroker.Version, c *apachebroker.Cluster) *asked {
	GinkgoHelper()
	a := &asked{cluster: c, version: v, topic: unique("Asked"), group: unique("AskedGroup")}
	Expect(c.CreateTopic(ctx, a.topic, 2)).To(Succeed())
	var err error
	a.runtime, err = troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}},
		troupe.Config{OffsetPersistInterval: 200 * time.Millisecond}, troupe.WithObserver(a))
	Expect(err).NotTo(HaveOccurred())
	a.runtime.Concurrent(a.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
		Handle(a.topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.ids = append(a.ids, m.OffsetID())
			return nil
		})
	Expect(a.runtime.Start(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(a.runtime.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
	a.publisher = a.runtime.Publisher(troupe.PublisherConfig{})
	a.publish(ctx, 10)
	Eventually(a.consumed).WithContext(ctx).WithTimeout(20 * time.Second).Should(Equal(10))
	Eventually(a.persisted).WithContext(ctx).WithTimeout(20 * time.Second).Should(Equal(int64(10)))
	return a
}

func (a *asked) publish(ctx context.Context, n int) {
	GinkgoHelper()
	for i := range n {
		_, err := a.publisher.Send(ctx, troupe.NewMessage(a.topic, fmt.Append(nil, i)))
		Expect(err).NotTo(HaveOccurred())
	}
}

// persisted sums what the broker has acknowledged of the topic's queues.
func (a *asked) persisted() (sum int64) {
	for _, g := range a.runtime.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetQueue().GetTopic() == a.topic {
				sum += max(0, q.GetPersistedOffset())
			}
		}
	}
	return sum
}

// mqadmin gives what the tool prints; it must not look like an error.
func (a *asked) mqadmin(ctx context.Context, args ...string) string {
	GinkgoHelper()
	text, err := apachebroker.MQAdmin(ctx, a.version, a.cluster.NameServer(), args...)
	Expect(err).NotTo(HaveOccurred())
	for _, trouble := range []string{"Exception", "rror", "not online", "Usage:", "usage:", "imeout"} {
		Expect(strings.ReplaceAll(text, "consumeTimeout", "")).NotTo(ContainSubstring(trouble))
	}
	return text
}

// patiently asks again until the answer has a mark: a tool gives a member three seconds, which a busy machine may need for itself.
func (a *asked) patiently(ctx context.Context, mark string, args ...string) (text string) {
	GinkgoHelper()
	Eventually(func() (string, error) {
		var err error
		text, err = apachebroker.MQAdmin(ctx, a.version, a.cluster.NameServer(), args...)
		return text, err
	}).WithContext(ctx).WithTimeout(90 * time.Second).WithPolling(time.Second).Should(ContainSubstring(mark))
	return text
}

// rows splits a table into its fields, by line.
func rows(text string) (out [][]string) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// row finds the line that begins with the given fields.
func row(text string, begin ...string) []string {
	for _, f := range rows(text) {
		if len(f) >= len(begin) && slices.Equal(f[:len(begin)], begin) {
			return f
		}
	}
	return nil
}

var _ = onEveryVersion("Apache's mqadmin, used on a running member,", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	It("shows it, its queues, its speed and its tree", Label("A47"), func(ctx SpecContext) {
		a := newAsked(ctx, v, cluster(ctx))
		id := a.runtime.ClientID()

		all := a.patiently(ctx, "Rebalance OK", "consumerStatus", "-g", a.group)
		Expect(all).To(ContainSubstring(id))
		Expect(all).To(ContainSubstring("Same subscription in the same group of consumer"))
		Expect(all).To(ContainSubstring("Rebalance OK"))

		one := a.patiently(ctx, "#Consumer jstack#", "consumerStatus", "-g", a.group, "-i", id, "-s")
		Expect(row(one, "PROP_CONSUME_TYPE")).To(Equal([]string{"PROP_CONSUME_TYPE", ":", "CONSUME_PASSIVELY"}))
		Expect(row(one, "messageModel")).To(Equal([]string{"messageModel", ":", "CLUSTERING"}))
		Expect(row(one, "pullBatchSize")).To(Equal([]string{"pullBatchSize", ":", "32"}))
		Expect(row(one, "001", "Topic:", "%RETRY%"+a.group)).NotTo(BeNil())
		Expect(row(one, "002", "Topic:", a.topic)).NotTo(BeNil())
		for _, queue := range []string{"0", "1"} {
			Expect(row(one, a.topic, "broker-a", queue)).To(Equal([]string{a.topic, "broker-a", queue, "5"}), "offset of queue "+queue)
		}
		Expect(one).To(ContainSubstring("ProcessQueueInfo [commitOffset=5"))
		speed := one[strings.Index(one, "#Consumer RT&TPS#"):]
		Expect(row(speed, a.topic)).To(HaveLen(7), "topic, pull time and speed, consume time, good and bad speed, failures")
		tree := one[strings.Index(one, "#Consumer jstack#"):]
		Expect(tree).To(ContainSubstring("group-" + a.group + " [ConsumerGroup] running"))

		connection := a.mqadmin(ctx, "consumerConnection", "-g", a.group)
		Expect(row(connection, id)[2]).To(Equal("GO"))
		Expect(row(connection, a.topic)).To(Equal([]string{a.topic, "*"}))
		Expect(connection).To(ContainSubstring("MessageModel: CLUSTERING"))
		Expect(connection).To(ContainSubstring("ConsumeFromWhere: CONSUME_FROM_FIRST_OFFSET"))

		progress := a.mqadmin(ctx, "consumerProgress", "-g", a.group)
		for _, queue := range []string{"0", "1"} {
			Expect(row(progress, a.topic, "broker-a", queue)[:6]).To(Equal([]string{a.topic, "broker-a", queue, "5", "5", "0"}))
		}
		Expect(progress).To(MatchRegexp(`Diff Total: 0\b`))
	}, SpecTimeout(4*time.Minute))

	It("lets it consume a message directly, once", Label("A47"), func(ctx SpecContext) {
		a := newAsked(ctx, v, cluster(ctx))
		a.mu.Lock()
		id := a.ids[3]
		a.mu.Unlock()
		args := []string{"queryMsgById", "-i", id, "-g", a.group, "-d", a.runtime.ClientID()}
		if v.Modern() {
			args = append(args, "-t", a.topic)
		}
		result := a.mqadmin(ctx, args...)
		Expect(result).To(ContainSubstring("consumeResult=CR_SUCCESS"))
		Expect(result).To(ContainSubstring("order=false, autoCommit=true"))
		Expect(a.consumed()).To(Equal(11))
		Expect(a.ids[10]).To(Equal(id))
		Expect(a.persisted()).To(Equal(int64(10)))
	}, SpecTimeout(2*time.Minute))

	reset := func(ctx context.Context, a *asked) string {
		GinkgoHelper()
		text := a.mqadmin(ctx, "resetOffsetByTime", "-g", a.group, "-t", a.topic, "-s", "1000", "-f", "true")
		for _, queue := range []string{"0", "1"} {
			Expect(row(text, "broker-a", queue)).To(Equal([]string{"broker-a", queue, "0"}))
		}
		return text
	}

	It("resets its offsets through the broker that tells it: it goes on there within two seconds", Label("A07"), func(ctx SpecContext) {
		c := cluster(ctx)
		if v.Modern() {
			Expect(c.Configure(ctx, map[string]string{"useServerSideResetOffset": "false"})).To(Succeed())
			DeferCleanup(func(ctx SpecContext) {
				Expect(c.Configure(ctx, map[string]string{"useServerSideResetOffset": "true"})).To(Succeed())
			}, NodeTimeout(time.Minute))
		}
		a := newAsked(ctx, v, c)
		reset(ctx, a)
		// Two seconds, and a margin for a busy machine.
		Eventually(a.consumed).WithContext(ctx).WithTimeout(10 * time.Second).Should(Equal(20))
		resets, _ := a.moved()
		Expect(resets).To(Equal(2))
		Eventually(a.persisted).WithContext(ctx).WithTimeout(5 * time.Second).Should(Equal(int64(10)))
	}, SpecTimeout(2*time.Minute))

	It("resets its offsets at the broker: it goes on there with its next pull", Label("A07"), func(ctx SpecContext) {
		if !v.Modern() {
			Skip("brokers of 4.x tell their clients only")
		}
		a := newAsked(ctx, v, cluster(ctx))
		reset(ctx, a)
		// The broker does not wake the pulls that wait, so that they end by a message or by their time.
		a.publish(ctx, 2)
		Eventually(a.consumed).WithContext(ctx).WithTimeout(25 * time.Second).Should(Equal(22))
		_, corrected := a.moved()
		Expect(corrected).To(Equal(2))
		Eventually(a.persisted).WithContext(ctx).WithTimeout(5 * time.Second).Should(Equal(int64(12)))
	}, SpecTimeout(2*time.Minute))
})
