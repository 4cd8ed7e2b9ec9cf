package embedded

import (
	"fmt"
	"sort"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// Committed gives the offset a group has committed on a queue; false if it has none.
func (b *Broker) Committed(group, topic string, queue int32) (int64, bool) {
	return b.offsets.query(groupQueue{group, topic, queue})
}

// Commit stores an offset for a group, as a client's commit would.
func (b *Broker) Commit(group, topic string, queue int32, offset int64) {
	b.groups.find(group)
	b.offsets.commit(groupQueue{group, topic, queue}, offset)
	b.events.happened()
}

// ResetOffset moves a group on a queue as an administrator would (222): the group's next pull of the queue is answered
// PULL_OFFSET_MOVED with the offset, commits until then are ignored. A held pull is not woken.
func (b *Broker) ResetOffset(group, topic string, queue int32, offset int64) {
	b.groups.find(group)
	b.offsets.reset(groupQueue{group, topic, queue}, offset)
	b.events.happened()
}

// MinOffset is the lowest offset a queue still has, MaxOffset the one its next message will get.
func (b *Broker) MinOffset(topic string, queue int32) int64 {
	lo, _ := b.store.queue(topic, queue).bounds()
	return lo
}

// MaxOffset is the offset that a queue's next message will get.
func (b *Broker) MaxOffset(topic string, queue int32) int64 {
	_, hi := b.store.queue(topic, queue).bounds()
	return hi
}

// CountMessages counts the messages a topic has in all its queues.
func (b *Broker) CountMessages(topic string) (n int64) {
	for _, id := range b.store.queues(topic) {
		lo, hi := b.store.queue(topic, id).bounds()
		n += hi - lo
	}
	return n
}

// Lag counts the messages of a topic that a group has not committed.
func (b *Broker) Lag(group, topic string) (n int64) {
	for _, id := range b.store.queues(topic) {
		lo, hi := b.store.queue(topic, id).bounds()
		o, _ := b.Committed(group, topic, id)
		n += hi - max(lo, o)
	}
	return n
}

// Members lists the client ids of a group in the order they came; the id of a client that is reconnecting may be there
// twice.
func (b *Broker) Members(group string) []string {
	if life := b.running(); life != nil {
		return life.members.clients(group)
	}
	return nil
}

// LockHolder is the client that holds the lock of a queue for a group; "" if nobody does.
func (b *Broker) LockHolder(group, topic string, queue int32) string {
	if life := b.running(); life != nil {
		return life.locks.holder(groupQueue{group, topic, queue})
	}
	return ""
}

// HeldPulls counts the pulls that wait for messages of a queue.
func (b *Broker) HeldPulls(topic string, queue int32) int {
	if life := b.running(); life != nil {
		return life.holds.waiting(queueID{topic, queue})
	}
	return 0
}

// Connections counts the clients that are connected.
func (b *Broker) Connections() int {
	if life := b.running(); life != nil {
		return life.endpoint.count()
	}
	return 0
}

// MessagesIn copies the messages of a topic, queue by queue in the order of their offsets, as they are stored: bodies that
// the producer compressed stay compressed, a retried message has its retry topic.
func (b *Broker) MessagesIn(topic string) []*messages.Message {
	var out []*messages.Message
	for _, id := range b.store.queues(topic) {
		ix := b.store.queue(topic, id)
		at, hi := ix.bounds()
		for at < hi {
			batch := ix.entries(make([]entry, 0, scanEntries), at)
			if len(batch) == 0 {
				break
			}
			for _, e := range batch {
				rec, ok := b.store.record(e.physical, e.size)
				if !ok {
					continue
				}
				if m, err := decodeRecord(rec); err == nil {
					m = m.Clone()
					m.Broker = b.cfg.BrokerName
					out = append(out, m)
				}
			}
			at += int64(len(batch))
		}
	}
	return out
}

// Topics lists the names of all topics, those that the broker keeps for itself included.
func (b *Broker) Topics() []string { return b.topics.names() }

// Trim forgets the messages of a queue below an offset, as retention does: its minimum rises.
func (b *Broker) Trim(topic string, queue int32, min int64) {
	b.store.queue(topic, queue).trim(min)
	b.events.happened()
}

// TrimLog forgets the commit log before a physical offset, as far as whole megabytes allow, and raises the minimum of
// every queue accordingly.
func (b *Broker) TrimLog(before int64) {
	b.LoseLog(before)
	lo, _ := b.store.bounds()
	for _, topic := range b.topics.names() {
		for _, id := range b.store.queues(topic) {
			trimToLog(b.store.queue(topic, id), lo)
		}
	}
	b.events.happened()
}

// trimToLog raises a queue's minimum to its first message that the log still has.
func trimToLog(ix queueIndex, logStart int64) {
	at, hi := ix.bounds()
	gone := sort.Search(int(hi-at), func(i int) bool {
		var buf [1]entry
		es := ix.entries(buf[:0], at+int64(i))
		return len(es) == 0 || es[0].physical >= logStart
	})
	ix.trim(at + int64(gone))
}

// LoseLog forgets the commit log before a physical offset but leaves the queues' indexes as they are: what a broker looks
// like between the two steps of its retention. Pulls of such messages are answered MESSAGE_WAS_REMOVING.
func (b *Broker) LoseLog(before int64) {
	b.store.discard(before)
	b.events.happened()
}

// CreateTopic makes a topic with that many queues for reading and writing, or changes the numbers of an existing one.
func (b *Broker) CreateTopic(name string, queues int) error {
	if wrong := checkTopicName(name); wrong != "" {
		return fmt.Errorf("create topic: %s", wrong)
	}
	if queues < 1 || queues > maxQueues {
		return fmt.Errorf("create topic %s: %d queues; 1 to %d are possible", name, queues, maxQueues)
	}
	b.putTopic(queueTopic(name, int32(queues)))
	return nil
}

// ConfigureTopic makes or changes a topic: numbers of queues for reading and for writing, and whether clients may read and
// write it.
func (b *Broker) ConfigureTopic(name string, readQueues, writeQueues int, read, write bool) error {
	if wrong := checkTopicName(name); wrong != "" {
		return fmt.Errorf("configure topic: %s", wrong)
	}
	c := &topicConfig{name: name, readQueues: int32(readQueues), writeQueues: int32(writeQueues)}
	if read {
		c.perm |= wire.PermRead
	}
	if write {
		c.perm |= wire.PermWrite
	}
	b.putTopic(c)
	return nil
}

// DeleteTopic forgets a topic, its messages and all offsets on it.
func (b *Broker) DeleteTopic(name string) {
	b.topics.remove(name)
	b.store.dropTopic(name)
	b.offsets.forgetTopic(name)
	b.nameServer.events.happened()
	b.events.happened()
}

// ConfigureGroup makes or changes a consumer group's configuration.
func (b *Broker) ConfigureGroup(name string, g GroupConfig) error {
	if wrong := checkGroupName(name); wrong != "" {
		return fmt.Errorf("configure group: %s", wrong)
	}
	b.groups.put(name, g)
	b.events.happened()
	return nil
}

// ensureTopic gives a topic, made with c if it did not exist; name servers know it at once.
func (b *Broker) ensureTopic(c *topicConfig) *topicConfig {
	t, made := b.topics.ensure(c)
	if made {
		b.nameServer.events.happened()
		b.events.happened()
	}
	return t
}

func (b *Broker) putTopic(c *topicConfig) {
	b.topics.put(c)
	b.nameServer.events.happened()
	b.events.happened()
}
