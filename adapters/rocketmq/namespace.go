package rocketmq

import (
	"errors"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// deadLetterPrefix begins the topic of a group's dead letters.
const deadLetterPrefix = "%DLQ%"

// systemTopics belong to the cluster, so no namespace has its own (TopicValidator). Names that begin with systemPrefix do, too.
var systemTopics = map[string]bool{
	"BenchmarkTest": true, "CHECKPOINT_TOPIC": true, "OFFSET_MOVED_EVENT": true, "RMQ_SYS_TRACE_TOPIC": true,
	"RMQ_SYS_TRANS_HALF_TOPIC": true, "RMQ_SYS_TRANS_OP_HALF_TOPIC": true, "SCHEDULE_TOPIC_XXXX": true, "SELF_TEST_TOPIC": true,
	defaultTopic: true, "TRANS_CHECK_MAX_TIME_TOPIC": true,
}

const (
	systemPrefix      = "rmq_sys_"
	systemGroupPrefix = "CID_RMQ_SYS_"
	// innerProducer is the group under which clients send what is not their users' own; it stays as it is on the wire.
	innerProducer = "CLIENT_INNER_PRODUCER"
	// toolsConsumer is the group in whose name tools read; brokers have it from their start, so that nothing of it is left behind.
	toolsConsumer = "TOOLS_CONSUMER"
)

// namespace is the map between the names that a program uses and those on the wire: N%topic, N%group, %RETRY%N%group and
// %DLQ%N%group (NamespaceUtil, protocol.md 1.10). A name that carries the namespace already stays as it is, in both directions.
type namespace struct {
	name string
	// asGiven are the wire's names that the program uses in this form itself.
	asGiven sync.Map
}

// wire gives the wire's name of a topic or group.
func (n *namespace) wire(name string) string {
	if name == "" || isSystemName(name) {
		return name
	}
	prefix, rest := splitPrefix(name)
	if strings.HasPrefix(rest, n.name+"%") {
		if _, known := n.asGiven.Load(name); !known {
			n.asGiven.Store(name, true)
		}
		return name
	}
	return prefix + n.name + "%" + rest
}

// plain gives the program's name of a topic or group on the wire. A name of another namespace stays as it is.
func (n *namespace) plain(name string) string {
	prefix, rest := splitPrefix(name)
	short, ours := strings.CutPrefix(rest, n.name+"%")
	if !ours {
		return name
	}
	if _, given := n.asGiven.Load(name); given {
		return name
	}
	return prefix + short
}

// isSystemName tells the names that no namespace has its own of.
func isSystemName(name string) bool {
	return systemTopics[name] || name == innerProducer || name == toolsConsumer || strings.HasPrefix(name, systemPrefix) || strings.HasPrefix(name, systemGroupPrefix)
}

// splitPrefix takes the prefix of a retry or dead letter topic off.
func splitPrefix(name string) (prefix, rest string) {
	for _, p := range []string{wire.RetryTopicPrefix, deadLetterPrefix} {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return p, rest
		}
	}
	return "", name
}

// wireQueue gives a queue with the wire's name of its topic.
func (n *namespace) wireQueue(q *messages.Queue) *messages.Queue {
	if q == nil {
		return nil
	}
	return &messages.Queue{Topic: n.wire(q.GetTopic()), Broker: q.GetBroker(), Id: q.GetId()}
}

// plainQueue gives a queue with the program's name of its topic.
func (n *namespace) plainQueue(q *messages.Queue) *messages.Queue {
	if q == nil {
		return nil
	}
	return &messages.Queue{Topic: n.plain(q.GetTopic()), Broker: q.GetBroker(), Id: q.GetId()}
}

func (n *namespace) wireQueues(queues []*messages.Queue) []*messages.Queue {
	out := make([]*messages.Queue, len(queues))
	for i, q := range queues {
		out[i] = n.wireQueue(q)
	}
	return out
}

func (n *namespace) plainQueues(queues []*messages.Queue) []*messages.Queue {
	out := make([]*messages.Queue, len(queues))
	for i, q := range queues {
		out[i] = n.plainQueue(q)
	}
	return out
}

// group gives what a heartbeat says of a group with the wire's names.
func (n *namespace) group(g *messages.GroupData) *messages.GroupData {
	if g == nil {
		return nil
	}
	g = proto.CloneOf(g)
	g.Group = n.wire(g.GetGroup())
	for _, s := range g.GetSubscriptions() {
		s.Topic = n.wire(s.GetTopic())
	}
	return g
}

// subscriptions gives subscriptions of the wire the program's names, in place.
func (n *namespace) subscriptions(of []*messages.Subscription) {
	for _, s := range of {
		s.Topic = n.plain(s.GetTopic())
	}
}

// heartbeat gives a heartbeat with the wire's names.
func (n *namespace) heartbeat(h *messages.Heartbeat) *messages.Heartbeat {
	out := &messages.Heartbeat{ClientId: h.GetClientId()}
	for _, g := range h.GetGroups() {
		out.Groups = append(out.Groups, n.group(g))
	}
	for _, p := range h.GetProducerGroups() {
		out.ProducerGroups = append(out.ProducerGroups, n.wire(p))
	}
	return out
}

// properties writes what Java writes into a message that goes into a namespace: the namespace's name, and in a message that
// goes to a retry topic the wire's name of the topic it came from.
func (n *namespace) properties(topic string, properties []byte) []byte {
	if isSystemName(topic) {
		return properties
	}
	out := make([]byte, 0, len(properties)+len(messages.PropertyInstanceID)+len(n.name)+4)
	set := func(key, value string) {
		out = append(append(append(append(out, key...), propertyIs), value...), propertyEnd)
	}
	m := messages.Message{RawProperties: properties}
	for key, value := range m.Properties() {
		switch {
		case key == messages.PropertyInstanceID:
			continue
		case key == messages.PropertyRetryTopic && strings.HasPrefix(topic, wire.RetryTopicPrefix):
			value = n.wire(value)
		}
		set(key, value)
	}
	set(messages.PropertyInstanceID, n.name)
	return out
}

// Separators of the property text (protocol.md 4.3).
const (
	propertyIs  = 1
	propertyEnd = 2
)

// messages gives decoded messages the program's names of their topics; of the queue's own topic, exactly that text.
func (n *namespace) messages(slab []messages.Message, onWire, plain string) {
	var last, lastPlain string
	for i := range slab {
		switch t := slab[i].GetTopic(); t {
		case onWire:
			slab[i].Topic = plain
		case last:
			slab[i].Topic = lastPlain
		default:
			last, lastPlain = t, n.plain(t)
			slab[i].Topic = lastPlain
		}
	}
}

// fault gives an error the program's names.
func (n *namespace) fault(err error) error {
	var unknown *messages.NoRouteError
	var refused *messages.BrokerError
	switch {
	case errors.As(err, &unknown):
		return &messages.NoRouteError{Topic: n.plain(unknown.Topic)}
	case errors.As(err, &refused) && refused.GetQueue() != nil:
		refused = proto.CloneOf(refused)
		refused.Queue = n.plainQueue(refused.GetQueue())
		return refused
	}
	return err
}
