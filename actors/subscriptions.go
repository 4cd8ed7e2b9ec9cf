package actors

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/messages"
)

// subscriptions is one state of what a group subscribes to. It is never changed: the ConsumerGroup makes another one.
type subscriptions struct {
	specs []*SubscriptionSpec
	// data is the group's part of a heartbeat.
	data *messages.GroupData
	// revision numbers the states, from 1.
	revision int64
	// version is the highest that any subscription of the group has had.
	version int64
}

// ChangeSubscription makes a running group subscribe to a topic, or subscribe differently. Without Spec the group gives the
// topic up. Tell it to the group's actor (Client.Tell).
type ChangeSubscription struct {
	Topic string
	Spec  *SubscriptionSpec
}

// subscriptionsChanged hands a new state down to the Rebalancer.
type subscriptionsChanged struct{ to *subscriptions }

// topicLeft says that the last queue of a topic that was given up has ended.
type topicLeft struct{ topic string }

// newSubscriptions gives the state of the start; the retry topic is subscribed to as Java does: not when broadcasting.
func newSubscriptions(spec *GroupSpec) *subscriptions {
	s := &subscriptions{
		specs: spec.Subscriptions, revision: 1,
		data: &messages.GroupData{Group: spec.Name, Model: spec.model(), ConsumeFrom: spec.Start.From},
	}
	for _, sub := range spec.Subscriptions {
		s.data.Subscriptions = append(s.data.Subscriptions, sub.Subscription)
		s.version = max(s.version, sub.Subscription.GetVersion())
	}
	if !spec.broadcasts() {
		s.data.Subscriptions = append(s.data.Subscriptions, retrySubscription(spec.Name, s.version))
	}
	return s
}

// of finds the subscription of a topic; nil if the group does not subscribe to it.
func (s *subscriptions) of(topic string) *SubscriptionSpec {
	if i := slices.IndexFunc(s.specs, func(sub *SubscriptionSpec) bool { return sub.Topic == topic }); i >= 0 {
		return s.specs[i]
	}
	return nil
}

// with gives the state after a change. What is new has a higher version than anything before: brokers keep the highest.
func (s *subscriptions) with(m *ChangeSubscription) *subscriptions {
	next := &subscriptions{revision: s.revision + 1, version: s.version, data: proto.CloneOf(s.data)}
	next.specs = slices.DeleteFunc(slices.Clone(s.specs), func(sub *SubscriptionSpec) bool { return sub.Topic == m.Topic })
	next.data.Subscriptions = slices.DeleteFunc(slices.Clone(s.data.GetSubscriptions()),
		func(sub *messages.Subscription) bool { return sub.GetTopic() == m.Topic })
	if m.Spec != nil {
		spec := *m.Spec
		spec.Subscription = proto.CloneOf(spec.Subscription)
		next.version = max(s.version+1, spec.Subscription.GetVersion())
		spec.Subscription.Version = next.version
		next.specs = append(next.specs, &spec)
		next.data.Subscriptions = append(next.data.Subscriptions, spec.Subscription)
	}
	return next
}
