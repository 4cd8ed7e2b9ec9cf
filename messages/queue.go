package messages

import (
	"cmp"
	"strconv"
)

// QueueKey is a Queue as a comparable value, for use as a map key.
type QueueKey struct {
	Topic  string
	Broker string
	ID     int32
}

// Key gives the comparable form.
func (q *Queue) Key() QueueKey {
	return QueueKey{Topic: q.GetTopic(), Broker: q.GetBroker(), ID: q.GetId()}
}

// Queue gives the message form.
func (k QueueKey) Queue() *Queue { return &Queue{Topic: k.Topic, Broker: k.Broker, Id: k.ID} }

// String writes topic@broker:id, the name under which a queue's actors run.
func (k QueueKey) String() string {
	return k.Topic + "@" + k.Broker + ":" + strconv.Itoa(int(k.ID))
}

// Compare orders by topic, broker name and id, as Java's MessageQueue does, so that all members sort queues alike.
func (k QueueKey) Compare(o QueueKey) int {
	return cmp.Or(cmp.Compare(k.Topic, o.Topic), cmp.Compare(k.Broker, o.Broker), cmp.Compare(k.ID, o.ID))
}

// Text writes topic@broker/id for error texts and logs.
func (q *Queue) Text() string {
	return q.GetTopic() + "@" + q.GetBroker() + "/" + strconv.Itoa(int(q.GetId()))
}
