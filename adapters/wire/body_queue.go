package wire

import (
	"cmp"

	"github.com/troupe-mq/troupe/messages"
)

// MessageQueue is a queue as JSON bodies name it.
type MessageQueue struct {
	Topic   string
	Broker  string
	QueueID int32
}

// QueueOf names a queue for JSON bodies.
func QueueOf(k messages.QueueKey) MessageQueue {
	return MessageQueue{Topic: k.Topic, Broker: k.Broker, QueueID: k.ID}
}

// Key gives the name the actors use.
func (q MessageQueue) Key() messages.QueueKey {
	return messages.QueueKey{Topic: q.Topic, Broker: q.Broker, ID: q.QueueID}
}

// Compare orders by topic, broker name and id, as Java's MessageQueue does.
func (q MessageQueue) Compare(o MessageQueue) int {
	return cmp.Or(cmp.Compare(q.Topic, o.Topic), cmp.Compare(q.Broker, o.Broker), cmp.Compare(q.QueueID, o.QueueID))
}

func (q *MessageQueue) json(j *jsonCodec) {
	j.text("brokerName", &q.Broker)
	j.int32("queueId", &q.QueueID)
	j.text("topic", &q.Topic)
}

// LockRequest is the body of LOCK_BATCH_MQ (41) and UNLOCK_BATCH_MQ (42).
type LockRequest struct {
	Group    string
	ClientID string
	// OnlyThisBroker keeps a broker set from locking at its other members.
	OnlyThisBroker bool
	Queues         []MessageQueue
}

func (b *LockRequest) json(j *jsonCodec) {
	j.text("clientId", &b.ClientID)
	j.text("consumerGroup", &b.Group)
	objects(j, "mqSet", &b.Queues)
	j.bool("onlyThisBroker", &b.OnlyThisBroker)
}

// Encode writes strict JSON.
func (b *LockRequest) Encode() []byte { return encodeJSON(b) }

// DecodeLockRequest reads the body of 41 and 42.
func DecodeLockRequest(body []byte) (*LockRequest, error) {
	b := &LockRequest{}
	return b, decodeJSON("lock request", body, b)
}

// LockResponse is the body of the answer to LOCK_BATCH_MQ: the queues that the client holds now.
type LockResponse struct{ Queues []MessageQueue }

func (b *LockResponse) json(j *jsonCodec) { objects(j, "lockOKMQSet", &b.Queues) }

// Encode writes strict JSON.
func (b *LockResponse) Encode() []byte { return encodeJSON(b) }

// DecodeLockResponse reads the body of the answer to 41.
func DecodeLockResponse(body []byte) (*LockResponse, error) {
	b := &LockResponse{}
	return b, decodeJSON("lock response", body, b)
}
