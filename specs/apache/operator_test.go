package apache_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// operator is an administrator of a cluster beside Apache's tool.
type operator struct {
	*troupe.Admin
	cluster      *apachebroker.Cluster
	version      apachebroker.Version
	topic, group string
	publisher    *troupe.Publisher
}

func newOperator(ctx context.Context, v apachebroker.Version, c *apachebroker.Cluster) *operator {
	GinkgoHelper()
	admin, err := troupe.OpenAdmin(rocketmq.Cluster{NameServers: []string{c.NameServer()}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(admin.Close)
	o := &operator{Admin: admin, cluster: c, version: v, topic: unique("Operated"), group: unique("OperatedGroup")}
	Expect(o.CreateTopic(ctx, o.topic, 2)).To(Succeed())
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}}, troupe.Config{})
	Expect(err).NotTo(HaveOccurred())
	Expect(rt.Start(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(rt.Shutdown(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
	o.publisher = rt.Publisher(troupe.PublisherConfig{})
	return o
}

// publish stores n messages with a key and gives their receipts.
func (o *operator) publish(ctx context.Context, n int, key string) (receipts []*troupe.Receipt) {
	GinkgoHelper()
	for i := range n {
		r, err := o.publisher.Send(ctx, troupe.NewMessage(o.topic, fmt.Append(nil, i)).WithKeys(key))
		Expect(err).NotTo(HaveOccurred())
		receipts = append(receipts, r)
	}
	return receipts
}

// consume commits n messages for a group.
func (o *operator) consume(ctx context.Context, group string, n int) {
	GinkgoHelper()
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{o.cluster.NameServer()}}, troupe.Config{})
	Expect(err).NotTo(HaveOccurred())
	g := rt.Pull(group, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset})
	Expect(g.Subscribe(o.topic, troupe.AllTags())).To(Succeed())
	Expect(rt.Start(ctx)).To(Succeed())
	for got := 0; got < n; {
		batch, err := g.Poll(ctx)
		Expect(err).NotTo(HaveOccurred())
		got += len(batch.Messages)
	}
	Expect(g.CommitAll(ctx)).To(Succeed())
	Expect(rt.Shutdown(ctx)).To(Succeed())
}

func (o *operator) mqadmin(ctx context.Context, args ...string) string {
	GinkgoHelper()
	text, err := apachebroker.MQAdmin(ctx, o.version, o.cluster.NameServer(), args...)
	Expect(err).NotTo(HaveOccurred())
	return text
}

// progress is what mqadmin consumerProgress says of a group in the topic, by queue: broker offset, consumer offset, diff.
func (o *operator) progress(ctx context.Context, group string) map[string][]string {
	GinkgoHelper()
	out := make(map[string][]string)
	for _, f := range rows(o.mqadmin(ctx, "consumerProgress", "-g", group)) {
		if f[0] == o.topic {
			n := slices.IndexFunc(f[5:], func(s string) bool { _, err := strconv.Atoi(s); return err == nil }) // a client's address may stand before
			out[f[2]] = []string{f[3], f[4], f[5:][n]}
		}
	}
	return out
}

var _ = onEveryVersion("What an operator sees and does", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	It("has the figures of Apache's mqadmin", Label("A47"), func(ctx SpecContext) {
		o := newOperator(ctx, v, cluster(ctx))
		o.publish(ctx, 12, "k")
		o.consume(ctx, o.group, 12)
		o.publish(ctx, 5, "k")

		var theirs []string
		for _, f := range rows(o.mqadmin(ctx, "topicList")) {
			theirs = append(theirs, f[0])
		}
		ours, err := o.Topics(ctx, true)
		Expect(err).NotTo(HaveOccurred())
		Expect(ours).To(ContainElement(o.topic))
		for _, topic := range ours {
			Expect(theirs).To(ContainElement(topic))
		}

		info, err := o.DescribeTopic(ctx, o.topic)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Groups).To(ContainElement(o.group))
		status := o.mqadmin(ctx, "topicStatus", "-t", o.topic)
		Expect(info.Queues).To(HaveLen(2))
		for _, q := range info.Queues {
			r := row(status, q.Queue.GetBroker(), fmt.Sprint(q.Queue.GetId()))
			Expect(r[2:4]).To(Equal([]string{fmt.Sprint(q.MinOffset), fmt.Sprint(q.MaxOffset)}))
			Expect(strings.Join(r[4:6], " ")).To(HavePrefix(q.LastStored.Local().Format("2006-01-02 15:04:05")))
		}

		group, err := o.DescribeGroup(ctx, o.group)
		Expect(err).NotTo(HaveOccurred())
		Expect(group.Members).To(BeEmpty())
		Expect(group.Lag()).To(Equal(int64(5)))
		progress := o.progress(ctx, o.group)
		Expect(progress).To(HaveLen(2))
		for _, q := range group.Queues {
			if q.Queue.GetTopic() == o.topic {
				Expect(progress[fmt.Sprint(q.Queue.GetId())]).To(Equal([]string{fmt.Sprint(q.MaxOffset), fmt.Sprint(q.Committed), fmt.Sprint(q.Lag())}))
			}
		}
		Expect(o.Groups(ctx, false)).To(ContainElement(o.group))
	}, SpecTimeout(2*time.Minute))

	It("is what mqadmin sees afterwards: groups moved, cloned and deleted, topics deleted", Label("A07"), func(ctx SpecContext) {
		o := newOperator(ctx, v, cluster(ctx))
		o.publish(ctx, 10, "k")
		o.consume(ctx, o.group, 10)
		moved, err := o.ResetOffsets(ctx, o.group, o.topic, troupe.ResetToFirst())
		Expect(err).NotTo(HaveOccurred())
		Expect(moved).To(HaveLen(2))
		for _, m := range moved {
			Expect([]int64{m.From, m.To}).To(Equal([]int64{5, 0}))
		}
		Expect(o.progress(ctx, o.group)).To(Equal(map[string][]string{"0": {"5", "0", "5"}, "1": {"5", "0", "5"}}))
		_, err = o.ResetOffsets(ctx, o.group, o.topic, troupe.ResetToOffset(3))
		Expect(err).NotTo(HaveOccurred())

		twin := unique("Cloned")
		_, err = o.CloneOffsets(ctx, o.group, twin)
		Expect(err).NotTo(HaveOccurred())
		info, err := o.DescribeGroup(ctx, twin)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Lag()).To(Equal(int64(4)))
		o.consume(ctx, twin, 4)
		Expect(o.progress(ctx, twin)).To(Equal(map[string][]string{"0": {"5", "5", "0"}, "1": {"5", "5", "0"}}))
		Expect(o.progress(ctx, o.group)).To(Equal(map[string][]string{"0": {"5", "3", "2"}, "1": {"5", "3", "2"}}))

		// Brokers of 5.x without their timer wheel, like these, fail at the end of every deletion of a topic, when it is deleted: mqadmin gives
		// up there and leaves the topic at the name servers.
		Expect(o.DeleteGroup(ctx, o.group)).To(Succeed())
		Expect(o.Groups(ctx, true)).NotTo(ContainElement(o.group))
		Expect(o.Groups(ctx, true)).To(ContainElement(twin))
		info, err = o.DescribeGroup(ctx, o.group)
		Expect(err).To(MatchError(troupe.ErrNoGroup), "%+v", info)
		Expect(o.DeleteTopic(ctx, o.topic)).To(Succeed())
		var left []string
		for _, f := range rows(o.mqadmin(ctx, "topicList")) {
			left = append(left, f[0])
		}
		Expect(left).NotTo(Or(ContainElement(o.topic), ContainElement("%RETRY%"+o.group)))
	}, SpecTimeout(3*time.Minute))

	It("moves members that run", Label("A07"), func(ctx SpecContext) {
		o := newOperator(ctx, v, cluster(ctx))
		o.publish(ctx, 10, "k")
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{o.cluster.NameServer()}}, troupe.Config{OffsetPersistInterval: 200 * time.Millisecond})
		Expect(err).NotTo(HaveOccurred())
		g := rt.Pull(o.group, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, LongPoll: time.Second})
		Expect(g.Subscribe(o.topic, troupe.AllTags())).To(Succeed())
		Expect(rt.Start(ctx)).To(Succeed())
		take := func(n int) {
			for got := 0; got < n; {
				batch, err := g.Poll(ctx)
				Expect(err).NotTo(HaveOccurred())
				got += len(batch.Messages)
			}
			Expect(g.CommitAll(ctx)).To(Succeed())
		}
		take(10)
		_, err = o.ResetOffsets(ctx, o.group, o.topic, troupe.ResetToFirst())
		Expect(err).NotTo(HaveOccurred())
		take(10)
		moved, err := o.ResetOffsets(ctx, o.group, o.topic, troupe.ResetToOffset(3))
		if !v.Modern() {
			// Brokers of 4.x know no offset to go to: they would put the members at the end of every queue.
			Expect(err).To(MatchError(troupe.ErrMembersOnline))
			Expect(o.progress(ctx, o.group)).To(Equal(map[string][]string{"0": {"5", "5", "0"}, "1": {"5", "5", "0"}}))
		} else {
			Expect(err).NotTo(HaveOccurred())
			Expect(moved).To(HaveLen(2))
			take(4)
		}
		Expect(rt.Shutdown(ctx)).To(Succeed())
	}, SpecTimeout(2*time.Minute))

	It("finds messages by id, by key and by time, and follows a topic, with nothing left behind", func(ctx SpecContext) {
		o := newOperator(ctx, v, cluster(ctx))
		before, err := o.Groups(ctx, true)
		Expect(err).NotTo(HaveOccurred())
		key := unique("key")
		receipts := o.publish(ctx, 4, key)
		m, err := o.Message(ctx, receipts[1].GetMessageId(), "")
		Expect(err).NotTo(HaveOccurred())
		Expect(string(m.GetBody())).To(Equal("1"))
		Expect(m.GetTopic()).To(Equal(o.topic))
		// The index follows the log.
		Eventually(func() (string, error) {
			m, err := o.Message(ctx, receipts[2].GetUniqueIds()[0], o.topic)
			if err != nil {
				return "", err
			}
			return string(m.GetBody()), nil
		}).WithContext(ctx).WithTimeout(30 * time.Second).Should(Equal("2"))
		Eventually(func() (int, error) {
			found, err := o.MessagesByKey(ctx, o.topic, key, 10)
			return len(found), err
		}).WithContext(ctx).WithTimeout(30 * time.Second).Should(Equal(4))
		Expect(o.MessagesByKey(ctx, o.topic, key+"x", 10)).To(BeEmpty())
		n := 0
		for m, err := range o.MessagesByTime(ctx, o.topic, time.Now().Add(-time.Minute), time.Now().Add(time.Minute)) {
			Expect(err).NotTo(HaveOccurred())
			Expect(m.Keys()).To(Equal([]string{key}))
			n++
		}
		Expect(n).To(Equal(4))
		for _, err := range o.MessagesByTime(ctx, o.topic, time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)) {
			Expect(err).NotTo(HaveOccurred())
			Fail("nothing was stored then")
		}

		tailing, stop := context.WithCancel(ctx)
		bodies := make(chan string, 10)
		go func() {
			defer close(bodies)
			for m, err := range o.Tail(tailing, o.topic) {
				if err == nil {
					bodies <- string(m.GetBody())
				}
			}
		}()
		Eventually(func() bool {
			o.publish(ctx, 1, "late")
			return len(bodies) > 0
		}).WithContext(ctx).WithTimeout(30 * time.Second).WithPolling(500 * time.Millisecond).Should(BeTrue())
		stop()
		Eventually(bodies).WithContext(ctx).WithTimeout(30 * time.Second).Should(BeClosed())
		after, err := o.Groups(ctx, true)
		Expect(err).NotTo(HaveOccurred())
		Expect(slices.DeleteFunc(after, func(g string) bool {
			// Groups of the specs before come and go: a broker that holds a pull of a member that has left makes its group again.
			return slices.Contains(before, g) || strings.HasPrefix(g, "OperatedGroup-") || strings.HasPrefix(g, "Cloned-")
		})).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))
})
