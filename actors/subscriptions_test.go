package actors_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("The subscriptions of a running group", func() {
	const broker = "broker-a"
	orders, refunds := linktest.Key("Orders", broker, 0), linktest.Key("Refunds", broker, 0)

	// change tells the group what to do about a topic; no filter: unsubscribe.
	change := func(s *stage, topic, filter string) {
		m := &actors.ChangeSubscription{Topic: topic}
		if filter != "" {
			m.Spec = &actors.SubscriptionSpec{
				Topic: topic, One: s.handler(func(context.Context, *messages.Message) error { return nil }),
				Subscription: &messages.Subscription{Topic: topic, Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: filter, Version: 1},
			}
			if filter != "*" {
				m.Spec.Subscription.Tags = []string{filter}
			}
		}
		s.client.Tell(group, m)
	}
	// announced gives version and filter of each topic in the last heartbeat.
	announced := func(s *stage) map[string]string {
		beats := s.calls(linktest.Heartbeat)
		out := make(map[string]string)
		for _, sub := range beats[len(beats)-1].Request.(*messages.Heartbeat).GetGroups()[0].GetSubscriptions() {
			out[sub.GetTopic()] = sub.GetExpression()
		}
		return out
	}
	versions := func(calls []linktest.Call) (out []int64) {
		for _, call := range calls {
			out = append(out, call.Request.(*messages.PullRequest).GetSubscriptionVersion())
		}
		return out
	}

	It("lose a topic at once: no pull, a heartbeat without it, offsets committed, what was not begun dropped (A38)", Label("A38"), func() {
		bubble(func() {
			s := newStage("Orders", "Refunds")
			s.cluster.Topic("Orders", 1, broker)
			s.cluster.Topic("Refunds", 1, broker)
			s.cluster.Fill(orders, 10)
			s.cluster.Fill(refunds, 5)
			s.spec.Groups[0].Workers = 1
			s.start()
			s.pass(time.Second)
			h, release := s.block()
			s.client.Tell(group, &actors.ChangeSubscription{Topic: "Orders", Spec: &actors.SubscriptionSpec{
				Topic: "Orders", One: s.handler(h),
				Subscription: &messages.Subscription{Topic: "Orders", Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: "*", Version: 1},
			}})
			s.pass(time.Second)
			s.cluster.Fill(orders, 20)
			s.pass(time.Second)
			before := len(s.bodies())
			pulls, beats := len(s.calls(linktest.Pull, about("Orders"))), len(s.calls(linktest.Heartbeat))

			change(s, "Orders", "")
			s.pass(900 * time.Millisecond)
			release()
			s.pass(100 * time.Millisecond)
			Expect(len(s.calls(linktest.Heartbeat))).To(Equal(beats+2), "one to the master and one to the slave")
			Expect(announced(s)).To(And(Not(HaveKey("Orders")), HaveKey("Refunds"), HaveKey("%RETRY%"+group)))
			Expect(s.owned("Orders")).To(BeEmpty())
			Expect(s.cluster.Offset(group, orders)).To(Equal(int64(11)), "the one that ran")
			revoked := s.seen(messages.EventKind_EVENT_KIND_QUEUE_REVOKED)
			Expect(revoked[len(revoked)-1].GetText()).To(Equal("topic unsubscribed"))
			s.cluster.Fill(refunds, 5)
			s.pass(time.Minute)
			Expect(s.calls(linktest.Pull, about("Orders"))).To(HaveLen(pulls))
			Expect(s.bodies()).To(HaveLen(before+5), "Refunds go on, what was cached of Orders is dropped")
			Expect(s.owned("Refunds")).NotTo(BeEmpty())
			Expect(s.owned("%RETRY%" + group)).NotTo(BeEmpty())

			change(s, "Orders", "*")
			s.pass(time.Second)
			Expect(s.bodies()).To(HaveLen(before+5+19), "delivered from the committed offset on")
			s.stop(time.Second)
		})
	})

	It("get a topic that is pulled from each broker as soon as it knows of it", func() {
		bubble(func() {
			s := newStage("Orders")
			s.cluster.Topic("Orders", 1, broker, "broker-b")
			s.cluster.Topic("Refunds", 1, broker, "broker-b")
			s.cluster.Fill(refunds, 3)
			s.cluster.Fill(linktest.Key("Refunds", "broker-b", 0), 4)
			s.start()
			s.pass(time.Second)
			s.cluster.On(linktest.Heartbeat, linktest.For(
				func(c linktest.Call) bool { return c.Address == linktest.Address("broker-b") },
				linktest.Always(linktest.Answer{Delay: 2 * time.Second})))
			change(s, "Refunds", "*")
			s.pass(time.Second)
			Expect(s.bodies()).To(HaveLen(3))
			Expect(s.calls(linktest.Pull, about("Refunds"), on(refunds))).NotTo(BeEmpty())
			Expect(s.calls(linktest.Pull, on(linktest.Key("Refunds", "broker-b", 0)))).To(BeEmpty(), "it does not know yet")
			s.pass(1500 * time.Millisecond)
			Expect(s.bodies()).To(HaveLen(7))
			s.stop(time.Second)
		})
	})

	It("change a filter: a higher version goes to the brokers first, then pulls carry it", func() {
		bubble(func() {
			s := newStage("Orders")
			s.cluster.Topic("Orders", 1, broker)
			s.start()
			s.pass(time.Second)
			s.cluster.On(linktest.Heartbeat, linktest.Always(linktest.Answer{Delay: 500 * time.Millisecond}))
			n := len(s.calls(linktest.Pull, on(orders)))
			change(s, "Orders", "paid")
			s.pass(400 * time.Millisecond)
			Expect(s.calls(linktest.Pull, on(orders))).To(HaveLen(n), "the broker does not know yet")
			s.pass(time.Second)
			Expect(announced(s)).To(HaveKeyWithValue("Orders", "paid"))
			Expect(versions(s.calls(linktest.Pull, on(orders))[n:])).To(HaveEach(int64(2)))
			Expect(s.calls(linktest.Pull, on(orders))).To(HaveLen(n + 1))
			s.stop(time.Second)
		})
	})

	It("end where the last of many changes says", func() {
		bubble(func() {
			s := newStage("Orders")
			s.cluster.Topic("Orders", 1, broker)
			s.cluster.Topic("Refunds", 1, broker)
			s.start()
			for range 50 {
				change(s, "Refunds", "*")
				change(s, "Refunds", "")
				change(s, "Orders", "")
				change(s, "Orders", "*")
			}
			s.pass(10 * time.Second)
			Expect(announced(s)).To(And(HaveKey("Orders"), Not(HaveKey("Refunds"))))
			Expect(s.owned("Refunds")).To(BeEmpty())
			s.cluster.Fill(orders, 3)
			s.pass(time.Second)
			Expect(s.bodies()).To(HaveLen(3))
			report, _ := s.stop(time.Second)
			Expect(report.GetUnpersisted()).To(BeEmpty())
		})
	})

	Describe("with a filter that brokers evaluate", func() {
		sql := func(s *stage) {
			sub := s.spec.Groups[0].Subscriptions[0].Subscription
			sub.Kind, sub.Expression = messages.FilterKind_FILTER_KIND_SQL92, "price > 5"
		}
		It("are pulled when every broker has taken it", func() {
			bubble(func() {
				s := newStage("Orders")
				sql(s)
				s.cluster.Topic("Orders", 1, broker, "broker-b")
				s.cluster.On(linktest.CheckSubscription, linktest.Always(linktest.Answer{Delay: 300 * time.Millisecond}))
				s.start()
				Expect(s.calls(linktest.Pull, about("Orders"))).To(BeEmpty())
				s.pass(time.Second)
				Expect(s.calls(linktest.CheckSubscription)).To(HaveLen(2))
				pulls := s.calls(linktest.Pull, about("Orders"))
				Expect(pulls).To(HaveLen(2))
				Expect(pulls[0].Request.(*messages.PullRequest).GetKind()).To(Equal(messages.FilterKind_FILTER_KIND_SQL92))
				s.stop(time.Second)
			})
		})
		It("end the start at once if a broker refuses it", func() {
			bubble(func() {
				s := newStage("Orders")
				sql(s)
				s.cluster.Topic("Orders", 1, broker)
				s.cluster.On(linktest.CheckSubscription, linktest.Always(linktest.Answer{Err: linktest.Refusal(23)}))
				client := s.launch()
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				at := time.Now()
				Expect(client.WaitReady(ctx)).To(MatchError(actors.ErrRejected))
				Expect(time.Since(at)).To(BeNumerically("<", time.Second))
				Expect(client.Obstacles()[group]).To(MatchError(And(ContainSubstring(`topic Orders: filter "price > 5" refused`), ContainSubstring("(23)"))))
				Expect(s.calls(linktest.Pull, about("Orders"))).To(BeEmpty())
				Expect(s.seen(messages.EventKind_EVENT_KIND_SUBSCRIPTION_REJECTED)).NotTo(BeEmpty())
				s.stop(time.Second)
			})
		})
	})

	It("go along with each pull if that is asked for", func() {
		bubble(func() {
			s := newStage("Orders")
			s.spec.Groups[0].CarrySubscription = true
			s.cluster.Topic("Orders", 1, broker)
			s.start()
			Expect(s.calls(linktest.Pull, on(orders))[0].Request.(*messages.PullRequest).GetSubscription().GetExpression()).To(Equal("*"))
			s.stop(time.Second)
		})
	})
})
