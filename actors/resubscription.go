package actors

import (
	"context"
	"errors"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// What the Rebalancer does when the group's subscriptions change, and before it consumes by a filter that brokers evaluate.

// subscriptionChecked is the end of the question whether brokers take a filter.
type subscriptionChecked struct {
	subscription *messages.Subscription
	address      string
	err          error
}

// resubscribe takes over a new state. Queues of topics that are gone, or that are subscribed to differently, are given up with
// what was pulled for them: it is not settled, so that it is delivered again by the new filter.
func (a *Rebalancer) resubscribe(c *kit.Context, to *subscriptions) {
	if a.revoking != nil || to.revision <= a.revision {
		return
	}
	a.revision = to.revision
	now := make(map[string]*messages.Subscription)
	for _, sub := range to.watched {
		now[sub.GetTopic()] = sub
	}
	for topic := range a.topics {
		if now[topic] == nil {
			delete(a.topics, topic)
			a.dropTopic(c, topic, messages.RevokeReason_REVOKE_REASON_UNSUBSCRIBED)
			a.leave(c, topic)
		}
	}
	for topic, sub := range now {
		t := a.topics[topic]
		switch {
		case t == nil:
			a.topics[topic] = &balancedTopic{subscription: sub, since: to.revision}
			c.Tell(a.group.routes, &messages.WatchTopic{Topic: topic})
		case t.subscription.GetVersion() != sub.GetVersion():
			t.subscription, t.since, t.checked, t.refused = sub, to.revision, false, nil
			a.dropTopic(c, topic, messages.RevokeReason_REVOKE_REASON_RESUBSCRIBED)
		}
	}
	a.trigger(c)
}

func (a *Rebalancer) dropTopic(c *kit.Context, topic string, reason messages.RevokeReason) {
	for key, owned := range a.queues {
		if key.Topic == topic && !owned.revoking {
			a.drop(c, owned, reason, a.group.spec.RevokeGrace)
		}
	}
}

// leave tells the group when nothing of a topic that it gave up is left.
func (a *Rebalancer) leave(c *kit.Context, topic string) {
	if a.topics[topic] != nil {
		return
	}
	for key := range a.queues {
		if key.Topic == topic {
			return
		}
	}
	c.Tell(c.Parent(), &topicLeft{topic: topic})
}

// known tells whether a broker has the subscription by which its queues are to be pulled. For those of the start a refused
// pull and another heartbeat do; a changed one would be served by the old filter.
func (a *Rebalancer) known(broker string, t *balancedTopic) bool {
	if t.since <= 1 {
		return true
	}
	for _, set := range t.route.GetBrokers() {
		if set.GetBroker() != broker {
			continue
		}
		if master, ok := set.GetAddresses()[masterID]; ok {
			return a.acknowledged[master] >= t.since
		}
		for _, address := range set.GetAddresses() {
			if a.acknowledged[address] >= t.since {
				return true
			}
		}
	}
	return false
}

// checking tells whether a topic has to wait for the brokers' consent to its filter, and asks for it.
func (a *Rebalancer) checking(c *kit.Context, topic string, t *balancedTopic) bool {
	if t.checked || t.subscription.GetKind() != messages.FilterKind_FILTER_KIND_SQL92 {
		return false
	}
	if t.asking {
		return true
	}
	t.asking = true
	link, group, sub, brokers := a.env.Link, a.group.spec.Name, t.subscription, a.env.Directory.BrokersOf(topic)
	c.Go(2*checkTimeout, func(ctx context.Context) kit.Message {
		done := &subscriptionChecked{subscription: sub}
		if len(brokers) == 0 {
			done.err = &messages.NoRouteError{Topic: topic}
		}
		for _, set := range brokers {
			for _, done.address = range set {
				one, cancel := context.WithTimeout(ctx, checkTimeout)
				done.err = contained(func() error { return link.CheckSubscription(one, done.address, group, sub) })
				cancel()
				if !unreached(done.err) {
					break // any broker of the set may answer
				}
			}
			if done.err != nil {
				break
			}
		}
		return done
	})
	return true
}

func (a *Rebalancer) checked(c *kit.Context, m *subscriptionChecked) {
	t := a.topics[m.subscription.GetTopic()]
	if t == nil {
		return
	}
	t.asking = false
	if t.subscription.GetVersion() != m.subscription.GetVersion() {
		a.trigger(c) // another one by now
		return
	}
	if m.err == nil {
		t.checked, t.refused = true, nil
		a.trigger(c)
		return
	}
	t.refused = messages.FailureOf(m.err)
	var refusal *messages.BrokerError
	if !errors.As(m.err, &refusal) || refusal.GetCode() == codeSystemBusy || refusal.GetCode() == codeFlowControl {
		a.reportReadiness(c)
		a.triggerIn(c, roundRetry)
		return
	}
	// Asked again with the next regular round: brokers can be configured.
	t.refused = messages.FailureOf(&messages.SubscriptionError{
		Topic: m.subscription.GetTopic(), Expression: m.subscription.GetExpression(), Refusal: refusal,
	})
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_SUBSCRIPTION_REJECTED, Group: a.group.spec.Name, Topic: m.subscription.GetTopic(),
		Address: m.address, Failure: t.refused,
	})
	a.reportReadiness(c)
}
