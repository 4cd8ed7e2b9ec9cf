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
	// watched are the topics whose routes are looked after, with how they are pulled: those of the heartbeat, or, of a group whose
	// program chose its queues itself, those of the queues.
	watched []*messages.Subscription
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

// newSubscriptions gives the state of the start; the retry topic is subscribed to as Java does: not when broadcasting, and not by
// pull groups.
func newSubscriptions(spec *GroupSpec) *subscriptions {
	s := &subscriptions{
		specs: spec.Subscriptions, revision: 1,
		data: &messages.GroupData{Group: spec.Name, Model: spec.model(), ConsumeFrom: spec.Start.From, Active: spec.Poll != nil},
	}
	for _, sub := range spec.Subscriptions {
		s.watched = append(s.watched, sub.Subscription)
		s.version = max(s.version, sub.Subscription.GetVersion())
	}
	if spec.retries() {
		s.watched = append(s.watched, retrySubscription(spec.Name, s.version))
	}
	if spec.Poll == nil || spec.Poll.Assigned == nil {
		s.data.Subscriptions = s.watched
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
	next.watched = slices.DeleteFunc(slices.Clone(s.watched),
		func(sub *messages.Subscription) bool { return sub.GetTopic() == m.Topic })
	if m.Spec != nil {
		spec := *m.Spec
		spec.Subscription = proto.CloneOf(spec.Subscription)
		next.version = max(s.version+1, spec.Subscription.GetVersion())
		spec.Subscription.Version = next.version
		next.specs = append(next.specs, &spec)
		next.watched = append(next.watched, spec.Subscription)
	}
	next.data.Subscriptions = next.watched
	return next
}

// AssignQueues makes a pull group consume these queues, whoever else does. Tell it to the group's actor (Client.Tell).
type AssignQueues struct {
	Queues []messages.QueueKey
	// Kind and Expression are the filter.
	Kind       messages.FilterKind
	Expression string
	Tags       []string
}

// choosing gives the state in which a program has chosen its queues. Brokers hear of no subscription: other members would take
// it that queues fall to this one (DefaultLitePullConsumerImpl.assign). A topic whose filter stays keeps its version, and so its queues.
func (s *subscriptions) choosing(m *AssignQueues) *subscriptions {
	next := &subscriptions{revision: s.revision + 1, version: s.version, data: proto.CloneOf(s.data)}
	next.data.Subscriptions = nil
	for _, key := range m.Queues {
		if next.of(key.Topic) != nil {
			continue
		}
		spec := s.of(key.Topic)
		if spec == nil || spec.Subscription.GetKind() != m.Kind || spec.Subscription.GetExpression() != m.Expression {
			next.version++
			spec = &SubscriptionSpec{Topic: key.Topic, Subscription: &messages.Subscription{
				Topic: key.Topic, Kind: m.Kind, Expression: m.Expression, Tags: m.Tags, Version: next.version,
			}}
		}
		next.specs = append(next.specs, spec)
		next.watched = append(next.watched, spec.Subscription)
	}
	return next
}
