package apache_test

import (
	"context"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/messages"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

var _ = onEveryVersion("A broker that is asked about a group", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	It("tells who is in it and lets its Java member say what it subscribes to", Label("A15"), func(ctx SpecContext) {
		topic, group := unique("Members"), unique("MembersGroup")
		c := cluster(ctx)
		Expect(c.CreateTopic(ctx, topic, 2)).To(Succeed())
		java := javaPeer(ctx, v, "PushConsumer", "--nameserver", c.NameServer(), "--group", group, "--topic", topic, "--tags", "paid || late")
		Expect(java.Await(ctx, "ready", 1)).Error().NotTo(HaveOccurred())
		link, err := rocketmq.Cluster{NameServers: []string{c.NameServer()}}.Open(actors.LinkConfig{
			ClientID: "asker", Log: logrus.New(), Jitter: rand.Float64, Changed: func(*messages.ConnectionChanged) {},
			Calls: func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply {
				return &messages.BrokerCallReply{Code: 1}
			},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(link.Close)

		filters := func(of []*messages.Subscription) map[string][]string {
			out := make(map[string][]string)
			for _, s := range of {
				out[s.GetTopic()] = s.GetTags()
			}
			return out
		}
		subscribed := And(HaveKeyWithValue(topic, ConsistOf("paid", "late")), HaveKey("%RETRY%"+group))
		var member string
		Eventually(func(g Gomega) {
			view, err := link.Connections(ctx, c.BrokerAddr(), group)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(view.GetMembers()).To(HaveLen(1))
			g.Expect(filters(view.GetSubscriptions())).To(subscribed)
			member = view.GetMembers()[0].GetClientId()
			g.Expect(view.GetMembers()[0].GetLanguage()).To(Equal("JAVA"))
		}).WithContext(ctx).WithTimeout(30 * time.Second).Should(Succeed())
		theirs, err := link.SubscriptionsOf(ctx, c.BrokerAddr(), group, member)
		Expect(err).NotTo(HaveOccurred())
		Expect(filters(theirs)).To(subscribed)
		Expect(link.SubscriptionsOf(ctx, c.BrokerAddr(), group, "nobody")).Error().To(MatchError(ContainSubstring("nobody")))
		Expect(link.Connections(ctx, c.BrokerAddr(), unique("NoGroup"))).Error().To(HaveOccurred())
	}, SpecTimeout(2*time.Minute))
})
