package actors

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/messages"
)

// Transport is a way to reach one cluster: what runtime.New takes and an adapter implements (adapters/rocketmq). It holds
// configuration only; a Link made from it carries the traffic.
type Transport interface {
	// Check reports every fault of the configuration; it causes no traffic.
	Check() []*ConfigError
	// Open makes a Link. It opens no connection: those are made on demand.
	Open(LinkConfig) (Link, error)
}

// LinkConfig is what a Link needs from its owner.
type LinkConfig struct {
	// ClientID under which the client appears at the brokers.
	ClientID string
	// Log receives the adapter's lines; never nil.
	Log logrus.FieldLogger
	// Jitter gives numbers in [0,1) for back-off; never nil.
	Jitter func() float64
	// Calls receives what brokers ask of the client. It is called on a goroutine of the Link, may block until ctx ends, and
	// its answer goes back unless the call is one-way (then nil).
	Calls func(ctx context.Context, call *messages.BrokerCall) *messages.BrokerCallReply
	// Changed is told of connections made and lost. It must not block.
	Changed func(*messages.ConnectionChanged)
}

// Link carries the traffic of one client to one cluster. Every method may be called from any goroutine. Methods with a
// context block until answered, ctx ends or the method's own time-out passes. Refusals are *messages.BrokerError, faults of
// the network *messages.NetworkError.
type Link interface {
	RoutePort
	MembershipPort
	OffsetPort
	PullPort
	SendPort
	LockPort
	// Facts tells the state of every known connection.
	Facts() []*messages.ConnectionFacts
	// KeepBrokers closes connections to broker addresses that are not in the list. Name servers are not affected.
	KeepBrokers(addresses []string)
	// Close closes every connection and waits for the Link's goroutines. Pending requests end with an error.
	Close() error
}

// RoutePort asks name servers.
type RoutePort interface {
	// Route gives the route of a topic (105); *messages.NoRouteError if no name server knows the topic (code 17).
	Route(ctx context.Context, topic string) (*messages.TopicRoute, error)
	// NameServers gives the configured addresses, for error texts.
	NameServers() []string
}

// MembershipPort announces a client and asks who else is there.
type MembershipPort interface {
	// Heartbeat announces everything the client does to one broker (34).
	Heartbeat(ctx context.Context, address string, h *messages.Heartbeat) error
	// Unregister takes a consumer group (or a producer group, if consumer is empty) of this client off one broker (35).
	Unregister(ctx context.Context, address, consumerGroup, producerGroup string) error
	// CheckSubscription asks a broker whether it takes the filter of a subscription (46). SUBSCRIPTION_PARSE_FAILED (23) says that
	// the expression is wrong, SYSTEM_ERROR (1) that the broker has no property filter.
	CheckSubscription(ctx context.Context, address, group string, s *messages.Subscription) error
	// Members lists the client ids of a group (38). A group without members is a *messages.BrokerError, not an empty list.
	Members(ctx context.Context, address, group string) ([]string, error)
	// Connections asks a broker who is in a group, and what it takes all members to subscribe to (203).
	Connections(ctx context.Context, address, group string) (*messages.GroupConnections, error)
	// SubscriptionsOf asks a member of a group, through a broker, what it subscribes to (307).
	SubscriptionsOf(ctx context.Context, address, group, client string) ([]*messages.Subscription, error)
}

// OffsetPort reads and writes positions at a broker.
type OffsetPort interface {
	// Committed reads the group's offset (14); messages.ErrNoOffset only if the broker says QUERY_NOT_FOUND (22).
	Committed(ctx context.Context, address, group string, q *messages.Queue) (int64, error)
	// Commit stores the group's offset (15) and waits for the acknowledgement.
	Commit(ctx context.Context, address, group string, q *messages.Queue, offset int64) error
	// CommitOneWay stores the group's offset without waiting for an answer.
	CommitOneWay(ctx context.Context, address, group string, q *messages.Queue, offset int64) error
	// MinOffset (31), MaxOffset (30) and OffsetAt (29, first offset stored at or after a time) read a queue's bounds.
	MinOffset(ctx context.Context, address string, q *messages.Queue) (int64, error)
	MaxOffset(ctx context.Context, address string, q *messages.Queue) (int64, error)
	OffsetAt(ctx context.Context, address string, q *messages.Queue, at time.Time) (int64, error)
}

// OffsetStore keeps where broadcasting groups stand, since the cluster does not. Implement it to keep offsets elsewhere than
// in files (adapters/offsetfile).
type OffsetStore interface {
	// Open reads what was saved for a group. It is called once at each start, before any traffic, and may block until ctx ends.
	// A group for which nothing was saved has an empty table; an error ends the start.
	Open(ctx context.Context, group string) (OffsetTable, error)
}

// OffsetTable is what an OffsetStore has of one group, for one member of it. Calls come one after the other, from any
// goroutine.
type OffsetTable interface {
	// Saved gives the offsets that were found when the table was opened. A warning, if any, is told once, by an event.
	Saved() (offsets map[messages.QueueKey]int64, warning string)
	// Save replaces everything that is stored, all or nothing. The map must not be kept.
	Save(ctx context.Context, offsets map[messages.QueueKey]int64) error
	// Close gives the table up. Nothing is called afterwards.
	Close() error
}

// PullPort pulls messages.
type PullPort interface {
	// Pull sends a pull (11) and returns at once. done is told exactly once, on a goroutine of the Link. Until then the request must not
	// be changed.
	Pull(req *messages.PullRequest, done PullDone) PullUnderway
	// Decode turns the records of a reply into messages: one slab, bodies are sub-slices of the records. Corrupt records are
	// reported by their queue offset (-1 if unreadable) and skipped.
	Decode(reply *messages.PullReply, q *messages.Queue, group string) (slab []messages.Message, corrupt []CorruptRecord)
}

// PullDone is told how a pull ended: a reply or an error. It must not block.
type PullDone interface {
	Pulled(reply *messages.PullReply, err error)
}

// PullFunc is a PullDone that is a function.
type PullFunc func(reply *messages.PullReply, err error)

// Pulled calls the function.
func (f PullFunc) Pulled(reply *messages.PullReply, err error) { f(reply, err) }

// PullUnderway is a pull that was sent. Cancel gives it up: its PullDone is then told soon of an error.
type PullUnderway interface {
	Cancel()
}

// CorruptRecord is a stored message that could not be decoded.
type CorruptRecord struct {
	// QueueOffset of the record; -1 if that could not be read.
	QueueOffset int64
	Reason      string
}

// SendPort stores messages at a broker.
type SendPort interface {
	// SendBack hands a message back for a later try (36).
	SendBack(ctx context.Context, back *messages.SendBack) error
	// Send stores one message or an encoded batch (310, 320).
	Send(ctx context.Context, req *messages.SendRequest) (*messages.SendReceipt, error)
	// EncodeBatch encodes several messages as the body of one batch send.
	EncodeBatch(ms []*messages.Message) ([]byte, error)
	// UniqueID makes a client-side message id (UNIQ_KEY).
	UniqueID() string
}

// LockPort locks queues for a group at their broker. A lock that is not renewed ends by itself after 60 s; a broker that
// restarts forgets all (protocol.md 7.6).
type LockPort interface {
	// Lock asks for queues of one broker, new ones and those held already (41). It gives those that this client holds now;
	// others hold what is missing.
	Lock(ctx context.Context, address, group string, queues []*messages.Queue) ([]*messages.Queue, error)
	// Unlock gives back what a client holds of the queues (42); client is this one's id or that of a member that is gone.
	Unlock(ctx context.Context, address, group, client string, queues []*messages.Queue) error
}
