package actors

import (
	"context"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// AdminPort is what administrators do; the Link of a Transport may implement it. It has the rules of a Link.
type AdminPort interface {
	// Topics lists every topic that a name server knows (206).
	Topics(ctx context.Context) ([]string, error)
	// Brokers lists every broker that a name server knows (106).
	Brokers(ctx context.Context) ([]*messages.BrokerAddresses, error)
	// CreateTopic makes a topic at one broker, or changes it (17).
	CreateTopic(ctx context.Context, address string, t *messages.TopicConfig) error
	// DeleteTopic deletes a topic with its messages at one broker (215); ForgetTopic takes it off every name server (216).
	DeleteTopic(ctx context.Context, address, topic string) error
	ForgetTopic(ctx context.Context, topic string) error
	// TopicStats tells what one broker has of a topic (202).
	TopicStats(ctx context.Context, address, topic string) ([]*messages.QueueStats, error)
	// Consumers lists the groups that consume a topic at one broker now, or have (300).
	Consumers(ctx context.Context, address, topic string) ([]string, error)
	// Groups lists the groups that one broker knows, also the cluster's own (201).
	Groups(ctx context.Context, address string) ([]*messages.GroupConfig, error)
	// CreateGroup makes a group at one broker, or changes it (200); DeleteGroup deletes it with its offsets (207).
	CreateGroup(ctx context.Context, address string, g *messages.GroupConfig) error
	DeleteGroup(ctx context.Context, address, group string) error
	// ConsumeStats tells where a group stands at one broker, in a topic or, if that is empty, in all (208).
	ConsumeStats(ctx context.Context, address, group, topic string) ([]*messages.QueueProgress, error)
	// KeepsResets tells whether a broker carries resets out itself (26: useServerSideResetOffset). Others, all before 5.2, tell the members,
	// and can only go to a time.
	KeepsResets(ctx context.Context, address string) (bool, error)
	// ResetOffsets moves a group in a topic at one broker to a time, the zero one being the end, and gives where the queues are to go (222).
	// ResetOffset moves it in a queue to an offset, at a broker that carries resets out itself: others move all queues, to their ends.
	ResetOffsets(ctx context.Context, address, group, topic string, at time.Time) ([]*messages.QueueOffset, error)
	ResetOffset(ctx context.Context, address, group string, q *messages.Queue, offset int64) error
	// FindMessages looks for messages by key at one broker (12); none are no error.
	FindMessages(ctx context.Context, address, broker string, query *messages.MessageQuery) ([]messages.Message, error)
	// MessageAt reads the message at a place in one broker's commit log (33).
	MessageAt(ctx context.Context, address, broker string, offset int64) (*messages.Message, error)
}
