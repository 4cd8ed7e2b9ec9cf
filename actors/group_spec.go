package actors

import (
	"context"
	"time"

	"github.com/troupe-mq/troupe/actors/allocation"
	"github.com/troupe-mq/troupe/messages"
)

// GroupSpec is everything a ConsumerGroup needs to know. It is complete and checked: runtime fills in the defaults. It is
// not changed after the start; what the group subscribes to may be, see ChangeSubscription.
type GroupSpec struct {
	Name string
	// Subscriptions are those of the start.
	Subscriptions []*SubscriptionSpec
	// Broadcast makes every member get everything; nil shares the queues among the members (clustering).
	Broadcast *BroadcastSpec
	// Workers is how many handlers run at once over all topics of the group.
	Workers int
	// PullBatch is how many messages a pull asks for.
	PullBatch int32
	// PullBytes is the size limit that a pull asks for; brokers of this protocol version ignore it.
	PullBytes int32
	// CarrySubscription sends the filter along with every pull, so that it holds whatever the broker knows of the group.
	CarrySubscription bool
	// Suspend is how long the broker may hold a pull when there is nothing new; PullTimeout must exceed it by more than 5 s,
	// the step in which brokers look after held pulls.
	Suspend, PullTimeout time.Duration
	Limits               Limits
	// MaxReconsumes is how often a message is retried before it goes to %DLQ%group.
	MaxReconsumes int32
	Start         StartRule
	// RevokeGrace is how long handlers may go on when their queue moves to another member.
	RevokeGrace time.Duration
	// RedeliverAfter is the wait before a message is tried again here when neither hand-back nor fallback succeeded.
	RedeliverAfter time.Duration
	// HandlerTimeout is how long a handler may run; 0: as long as it likes.
	HandlerTimeout time.Duration
	// PullInterval is the pause between a pull that brought messages and the next.
	PullInterval time.Duration
	Allocate     allocation.Strategy
	// Order is set for an orderly group: one handler at a time for a queue, in the order of the queue.
	Order *OrderSpec
	// Poll is set for a pull group: the program comes for what was pulled.
	Poll *PollSpec
	// HandOff is how long a concurrent group waits for the former owner of a queue to give its lock up; 0: the group takes no
	// locks.
	HandOff time.Duration
}

// OrderSpec is what an orderly group needs to know besides.
type OrderSpec struct {
	// Suspend is how long a queue waits after a failure before it goes on with the same message.
	Suspend time.Duration
	// Turn is how long a worker stays with one queue.
	Turn time.Duration
}

// BroadcastSpec is what a broadcasting group has beyond others: the cluster keeps neither its offsets nor what failed.
type BroadcastSpec struct {
	// Offsets is the group's opened table; the Client closes it at its end.
	Offsets OffsetTable
	// LocalRetries is how often a failed message is tried again here before it is dropped, RetryDelay the wait before.
	LocalRetries int
	RetryDelay   time.Duration
}

// broadcasts tells whether every member gets everything.
func (s *GroupSpec) broadcasts() bool { return s.Broadcast != nil }

// retries tells whether the group gets what failed from its retry topic.
func (s *GroupSpec) retries() bool { return !s.broadcasts() && s.Poll == nil }

// model is the group's message model as brokers are told.
func (s *GroupSpec) model() messages.MessageModel {
	if s.broadcasts() {
		return messages.MessageModel_MESSAGE_MODEL_BROADCASTING
	}
	return messages.MessageModel_MESSAGE_MODEL_CLUSTERING
}

// expires tells whether the messages of an overdue handler go back to the broker, whatever it says later.
func (s *GroupSpec) expires() bool { return s.HandlerTimeout > 0 && s.Order == nil }

// locks tells whether the group locks its queues: nobody takes over those of a member that broadcasts.
func (s *GroupSpec) locks() bool { return !s.broadcasts() && (s.Order != nil || s.HandOff > 0) }

// Limits bound what is pulled but not settled, for one queue.
type Limits struct {
	Messages int64
	Bytes    int64
	// Span is how far the youngest pulled message may be ahead of the oldest unsettled one, in offsets.
	Span int64
	// TopicMessages and TopicBytes bound all queues of a topic that this member has, which get equal parts; 0: no such bound.
	TopicMessages int64
	TopicBytes    int64
}

// amongst gives the limits of one queue when its topic has so many here.
func (l Limits) amongst(queues int64) Limits {
	queues = max(queues, 1)
	if l.TopicMessages > 0 {
		l.Messages = min(l.Messages, max(l.TopicMessages/queues, 1))
	}
	if l.TopicBytes > 0 {
		l.Bytes = min(l.Bytes, max(l.TopicBytes/queues, 1))
	}
	return l
}

// SubscriptionSpec is one topic of a group with its handler; exactly one of One and Batch is set, neither in a pull group.
type SubscriptionSpec struct {
	Topic        string
	Subscription *messages.Subscription
	One          func(context.Context, *messages.Message) error
	Batch        func(context.Context, []*messages.Message) error
	// BatchMax is how many messages Batch gets at the most.
	BatchMax int
	// Listen pulls nothing: the program is told which queues are this member's (PollSpec.OnAssignment).
	Listen bool
}

func retrySubscription(group string, version int64) *messages.Subscription {
	return &messages.Subscription{
		Topic: RetryTopic(group), Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: "*", Version: version,
	}
}
