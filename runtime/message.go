package troupe

import "github.com/troupe-mq/troupe/messages"

// Message is one RocketMQ message, received or to be published. A received message is immutable and may be kept as long as
// wanted. Tag, keys and properties are methods.
type Message = messages.Message

// Receipt tells where a published message was stored.
type Receipt = messages.SendReceipt

// Queue names one message queue: Topic, Broker, Id.
type Queue = messages.Queue

// QueueGroup is the queues that one broker has of a topic.
type QueueGroup = messages.QueueGroup

// Topology is a snapshot of a Runtime's living tree.
type Topology = messages.Topology

// Event is something that happened: every directive of the supervision and every fact worth telling.
type Event = messages.Event

// NewMessage makes a message to be published.
func NewMessage(topic string, body []byte) *Message { return messages.NewMessage(topic, body) }
