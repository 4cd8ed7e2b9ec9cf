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
	return cmp.Or(CompareText(k.Topic, o.Topic), CompareText(k.Broker, o.Broker), cmp.Compare(k.ID, o.ID))
}

// CompareText orders texts as Java's String.compareTo does, by UTF-16 code units: a character beyond U+FFFF, which UTF-16
// writes with surrogates, comes before U+E000 to U+FFFF. Everywhere else that is the order of the bytes. Members of a group
// written in any language must sort queues and client ids alike.
func CompareText(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		// Only here do the orders differ: a four-byte sequence (first byte F0 and up) against EE or EF.
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

// Text writes topic@broker/id for error texts and logs.
func (q *Queue) Text() string {
	return q.GetTopic() + "@" + q.GetBroker() + "/" + strconv.Itoa(int(q.GetId()))
}
