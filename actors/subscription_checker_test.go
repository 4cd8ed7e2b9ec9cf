package actors_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Members that subscribe differently", Label("A15"), func() {
	const broker = "broker-a"
	sub := func(topic string, version int64, tags ...string) *messages.Subscription {
		s := &messages.Subscription{Topic: topic, Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: "*", Version: version, Tags: tags}
		if len(tags) > 0 {
			s.Expression = fmt.Sprint(tags)
		}
		return s
	}
	retry := sub("%RETRY%"+group, 1)
	warnings := func(s *stage) (out []string) {
		for _, e := range s.seen(messages.EventKind_EVENT_KIND_SUBSCRIPTION_MISMATCH) {
			out = append(out, e.GetText())
		}
		return out
	}
	newScene := func() *stage {
		s := newStage("Orders")
		s.cluster.Topic("Orders", 4, broker)
		return s
	}

	It("are named with what differs, once, and again when that changes", func() {
		bubble(func() {
			s := newScene()
			s.cluster.Join(group, "alike", "other", "silent")
			s.cluster.Subscribes(group, "alike", sub("Orders", 2), retry)
			s.cluster.Subscribes(group, "other", sub("Orders", 1, "b", "a"), sub("Refunds", 1))
			s.start()
			s.pass(50 * time.Second)
			Expect(warnings(s)).To(BeEmpty())
			s.pass(20 * time.Second)
			const first = `other (GO) subscribes to Orders with "a || b" instead of "*", subscribes to Refunds, too`
			Expect(warnings(s)).To(HaveExactElements(first))
			s.pass(10 * time.Minute)
			Expect(warnings(s)).To(HaveLen(1))
			Expect(s.lines()).To(ContainElement(And(ContainSubstring("level=warning"), ContainSubstring("Refunds, too"), ContainSubstring("align their topics and filters"))))

			s.cluster.Subscribes(group, "other", sub("Orders", 3))
			s.pass(2 * time.Minute)
			Expect(warnings(s)).To(HaveLen(1))
			s.cluster.Subscribes(group, "silent", &messages.Subscription{Topic: "Orders", Kind: messages.FilterKind_FILTER_KIND_SQL92, Expression: "x > 1", Version: 4})
			s.cluster.Subscribes(group, "alike", sub("Refunds", 5))
			s.pass(2 * time.Minute)
			Expect(warnings(s)).To(HaveExactElements(first,
				`alike (GO) does not subscribe to Orders, subscribes to Refunds, too; silent (GO) subscribes to Orders with SQL92 "x > 1" instead of "*"`))
			s.cluster.Leave(group, "alike", "silent")
			s.pass(2 * time.Minute)
			s.cluster.Join(group, "alike")
			s.pass(2 * time.Minute)
			Expect(warnings(s)).To(HaveExactElements(HavePrefix("other"), HavePrefix("alike"), Equal("alike (GO) does not subscribe to Orders, subscribes to Refunds, too")))
			s.stop(time.Second)
		})
	})

	It("are looked for with one request a minute while all is well, and one for each new member", func() {
		bubble(func() {
			s := newScene()
			for i := range 10 {
				id := fmt.Sprint("member-", i)
				s.cluster.Join(group, id)
				s.cluster.Subscribes(group, id, sub("Orders", 1), retry)
			}
			s.start()
			s.pass(61 * time.Second)
			Expect(s.calls(linktest.Connections)).To(HaveLen(1))
			Expect(s.calls(linktest.SubscriptionsOf)).To(HaveLen(4), "not all at once")
			s.pass(9 * time.Minute)
			Expect(s.calls(linktest.Connections)).To(HaveLen(10))
			asked := make(map[any]int)
			for _, call := range s.calls(linktest.SubscriptionsOf) {
				asked[call.Request]++
			}
			Expect(asked).To(HaveLen(10))
			Expect(s.calls(linktest.SubscriptionsOf)).To(HaveLen(10))
			Expect(warnings(s)).To(BeEmpty())
			s.stop(time.Second)
		})
	})

	It("are looked for less often in a large group", func() {
		bubble(func() {
			s := newScene()
			for i := range 150 {
				id := fmt.Sprint("member-", i)
				s.cluster.Join(group, id)
				s.cluster.Subscribes(group, id, sub("Orders", 1), retry)
			}
			s.start()
			s.pass(61*time.Second + time.Minute + 10*5*time.Minute)
			Expect(s.calls(linktest.Connections)).To(HaveLen(12), "each five minutes, once it is known how many there are")
			s.stop(time.Second)
		})
	})

	It("make brokers refuse pulls: those go on with a pause, a heartbeat goes out, and there is one warning a minute", func() {
		bubble(func() {
			s := newScene()
			s.start()
			s.pass(3 * time.Minute)
			s.cluster.Join(group, "other")
			s.cluster.Subscribes(group, "other", sub("Orders", 9, "a"))
			begin, beats := s.cluster.Now(), len(s.calls(linktest.Heartbeat))
			key := linktest.Key("Orders", broker, 0)
			end := s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Always(linktest.Answer{Err: linktest.Refusal(25)})))
			s.pass(3*time.Minute + 20*time.Second)
			since := func(c linktest.Call) bool { return c.At > begin }
			pulls := s.calls(linktest.Pull, on(key), since)
			Expect(len(pulls)).To(BeNumerically(">", 30))
			for i := 1; i < len(pulls); i++ {
				Expect(pulls[i].At - pulls[i-1].At).To(BeNumerically(">=", time.Second))
			}
			Expect(len(s.calls(linktest.Heartbeat)) - beats).To(BeNumerically(">", 8))
			seen := s.seen(messages.EventKind_EVENT_KIND_SUBSCRIPTION_MISMATCH)
			Expect(len(seen)).To(BeNumerically("~", 3, 1))
			for i, e := range seen {
				Expect(e.GetText()).To(Equal(`other (GO) subscribes to Orders with "a" instead of "*"`))
				Expect(e.GetFailure().Err()).To(MatchError(ContainSubstring("25")))
				if i > 0 {
					Expect(e.GetAt() - seen[i-1].GetAt()).To(BeNumerically(">=", time.Minute.Milliseconds()))
				}
			}
			end()
			s.cluster.Leave(group, "other")
			s.pass(time.Minute)
			was := len(warnings(s))
			s.pass(5 * time.Minute)
			Expect(warnings(s)).To(HaveLen(was))
			s.stop(time.Second)
		})
	})

	It("have time to follow when this one subscribes anew", func() {
		bubble(func() {
			s := newScene()
			s.cluster.Join(group, "other")
			s.cluster.Subscribes(group, "other", sub("Orders", 1), retry)
			s.start()
			s.pass(70 * time.Second)
			s.client.Tell(group, &actors.ChangeSubscription{Topic: "Orders", Spec: &actors.SubscriptionSpec{
				Topic: "Orders", One: s.spec.Groups[0].Subscriptions[0].One, Subscription: sub("Orders", 1, "a"),
			}})
			s.pass(70 * time.Second)
			Expect(warnings(s)).To(BeEmpty())
			s.pass(time.Minute)
			Expect(warnings(s)).To(HaveExactElements(`other (GO) subscribes to Orders with "*" instead of "a"`))
			s.stop(time.Second)
		})
	})

	It("are not asked for where brokers do not permit it; a broker that refuses pulls is told all the same", func() {
		bubble(func() {
			s := newScene()
			s.cluster.On(linktest.Connections, linktest.Always(linktest.Answer{Err: linktest.Refusal(16)}))
			s.start()
			s.pass(3 * time.Minute)
			Expect(warnings(s)).To(BeEmpty())
			s.cluster.On(linktest.Pull, linktest.For(on(linktest.Key("Orders", broker, 0)), linktest.Always(linktest.Answer{Err: linktest.Refusal(25)})))
			s.pass(70 * time.Second)
			Expect(warnings(s)).To(HaveExactElements("no member was found that does; it may be gone, or not answer"))
			s.stop(time.Second)
		})
	})
})
