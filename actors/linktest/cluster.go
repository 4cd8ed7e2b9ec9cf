package linktest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// Cluster is the whole fake: name server, brokers, and the record of what they were asked. Safe for concurrent use.
type Cluster struct {
	made      time.Time
	scripting sync.Mutex

	mu      sync.Mutex
	routes  map[string]*messages.TopicRoute
	queues  map[messages.QueueKey]*storedQueue
	offsets map[string]map[messages.QueueKey]int64
	members map[string][]string
	// subscriptions of members, by group and client.
	subscriptions map[string]map[string][]*messages.Subscription
	locks         map[lockKey]heldLock
	down          map[string]*Answer
	moved         map[string]string // addresses of masters, by broker
	rules         []*ruleEntry
	calls         []*Call
	links         []*link
	log           []*messages.Message
}

type storedQueue struct {
	min     int64
	stored  []*messages.Message // from min on
	changed chan struct{}
}

// New makes an empty cluster.
func New() *Cluster {
	return &Cluster{
		made: time.Now(), routes: make(map[string]*messages.TopicRoute), queues: make(map[messages.QueueKey]*storedQueue),
		offsets: make(map[string]map[messages.QueueKey]int64), members: make(map[string][]string), down: make(map[string]*Answer),
		moved: make(map[string]string), subscriptions: make(map[string]map[string][]*messages.Subscription), locks: make(map[lockKey]heldLock),
	}
}

// Address is where the fake keeps the master of a broker.
func Address(broker string) string { return broker + ":10911" }

// SlaveAddress is where the fake keeps slave 1 of a broker.
func SlaveAddress(broker string) string { return broker + "-slave:10911" }

// Topic makes or changes the route of a topic: so many queues on each broker.
func (c *Cluster) Topic(topic string, queues int32, brokers ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.topic(topic, queues, brokers...)
}

func (c *Cluster) topic(topic string, queues int32, brokers ...string) {
	r := &messages.TopicRoute{Topic: topic}
	for _, b := range brokers {
		r.Queues = append(r.Queues, &messages.QueueGroup{Broker: b, ReadQueues: queues, WriteQueues: queues, Perm: 6})
		r.Brokers = append(r.Brokers, &messages.BrokerAddresses{Broker: b, Addresses: c.addresses(b)})
	}
	c.routes[topic] = r
}

// Move gives a broker's master another address in every route, and takes its slave away. The fake answers there; let the old
// address be Down.
func (c *Cluster) Move(broker, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved[broker] = address
	for _, r := range c.routes {
		for _, b := range r.GetBrokers() {
			b.Addresses = c.addresses(b.GetBroker())
		}
	}
}

func (c *Cluster) addresses(broker string) map[int64]string {
	if address := c.moved[broker]; address != "" {
		return map[int64]string{0: address}
	}
	return map[int64]string{0: Address(broker), 1: SlaveAddress(broker)}
}

func (c *Cluster) brokerAt(address string) string {
	for broker, moved := range c.moved {
		if moved == address {
			return broker
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(address, ":10911"), "-slave")
}

// DropTopic makes the name server forget a topic.
func (c *Cluster) DropTopic(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.routes, topic)
}

// Key names a queue.
func Key(topic, broker string, id int32) messages.QueueKey {
	return messages.QueueKey{Topic: topic, Broker: broker, ID: id}
}

func (c *Cluster) queue(key messages.QueueKey) *storedQueue {
	q := c.queues[key]
	if q == nil {
		q = &storedQueue{changed: make(chan struct{})}
		c.queues[key] = q
	}
	return q
}

// Put stores messages with the given bodies.
func (c *Cluster) Put(key messages.QueueKey, bodies ...string) {
	for _, b := range bodies {
		c.Store(key, &messages.Message{Topic: key.Topic, Body: []byte(b)})
	}
}

// Fill stores n messages whose bodies are the queue's name and their offset.
func (c *Cluster) Fill(key messages.QueueKey, n int) {
	for range n {
		c.Put(key, fmt.Sprintf("%s/%d", key, c.Max(key)))
	}
}

// Store stores a message; its place is filled in.
func (c *Cluster) Store(key messages.QueueKey, m *messages.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(key, m)
}

func (c *Cluster) store(key messages.QueueKey, m *messages.Message) {
	q := c.queue(key)
	m.Broker, m.QueueId, m.QueueOffset = key.Broker, key.ID, q.min+int64(len(q.stored))
	m.CommitLogOffset = int64(len(c.log))
	c.log = append(c.log, m)
	q.stored = append(q.stored, m)
	close(q.changed)
	q.changed = make(chan struct{})
}

// Bounds makes a queue empty with its minimum and maximum at an offset.
func (c *Cluster) Bounds(key messages.QueueKey, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queue(key)
	q.min, q.stored = at, nil
}

// Max is the offset behind the last message of a queue.
func (c *Cluster) Max(key messages.QueueKey) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queue(key)
	return q.min + int64(len(q.stored))
}

// SetOffset stores a group's offset.
func (c *Cluster) SetOffset(group string, key messages.QueueKey, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setOffset(group, key, offset)
}

func (c *Cluster) setOffset(group string, key messages.QueueKey, offset int64) {
	if c.offsets[group] == nil {
		c.offsets[group] = make(map[messages.QueueKey]int64)
	}
	c.offsets[group][key] = offset
}

// Offset is a group's stored offset, -1 if there is none.
func (c *Cluster) Offset(group string, key messages.QueueKey) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := c.offsets[group][key]; ok {
		return o
	}
	return -1
}

// Join adds members to a group that are no clients of the fake; Leave takes them out. Nobody is notified.
func (c *Cluster) Join(group string, clients ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range clients {
		if !slices.Contains(c.members[group], id) {
			c.members[group] = append(c.members[group], id)
		}
	}
}

// Leave takes members out of a group.
func (c *Cluster) Leave(group string, clients ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[group] = slices.DeleteFunc(c.members[group], func(id string) bool { return slices.Contains(clients, id) })
}

// MemberIDs lists the members of a group.
func (c *Cluster) MemberIDs(group string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.members[group])
}

// Down lets an address answer every call in one way; nil ends that. Rules of On go before.
func (c *Cluster) Down(address string, a *Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down[address] = a
}

// Notify tells every client that the members of a group changed (40).
func (c *Cluster) Notify(group string) {
	for _, l := range c.open() {
		l.config.Calls(l.closed, &messages.BrokerCall{
			Code: 40, OneWay: true,
			Question: &messages.BrokerCall_MembersChanged{MembersChanged: &messages.MembersChanged{Group: group}},
		})
	}
}

// Ask lets a broker ask every client something, and gives the answers; it waits for them as long as ctx allows.
func (c *Cluster) Ask(ctx context.Context, call *messages.BrokerCall) (replies []*messages.BrokerCallReply) {
	for _, l := range c.open() {
		replies = append(replies, l.config.Calls(ctx, call))
	}
	return replies
}

// Records gives what a pull answers that holds the messages at these offsets of a queue, in this order.
func (c *Cluster) Records(key messages.QueueKey, offsets ...int64) (records []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queue(key)
	for _, o := range offsets {
		records = encode(records, q.stored[o-q.min])
	}
	return records
}

// Reconnected tells every client that its connection to an address was lost and made again.
func (c *Cluster) Reconnected(address string) {
	for _, l := range c.open() {
		l.config.Changed(&messages.ConnectionChanged{Address: address, Reason: "lost"})
		l.config.Changed(&messages.ConnectionChanged{Address: address, Up: true})
	}
}

func (c *Cluster) open() (out []*link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.links {
		if l.closed.Err() == nil {
			out = append(out, l)
		}
	}
	return out
}

// makeRetryTopic does what a broker does at the first heartbeat of a group.
func (c *Cluster) makeRetryTopic(group, broker string) {
	var brokers []string
	for _, b := range c.routes[actors.RetryTopic(group)].GetBrokers() {
		if b.GetBroker() == broker {
			return
		}
		brokers = append(brokers, b.GetBroker())
	}
	c.topic(actors.RetryTopic(group), 1, append(brokers, broker)...)
}

// retry puts a message that was handed back into the group's retry topic after its delay, or into the dead letter topic.
func (c *Cluster) retry(group, broker string, of *messages.Message, level, maxTimes int32) {
	topic := actors.RetryTopic(group)
	m := &messages.Message{
		Topic: of.GetTopic(), Body: of.GetBody(), RawProperties: of.GetRawProperties(), ReconsumeTimes: of.GetReconsumeTimes() + 1,
	}
	if level < 0 || of.GetReconsumeTimes() >= maxTimes {
		c.store(Key(actors.DeadLetterTopic(group), broker, 0), m)
		return
	}
	if level == 0 {
		level = 3 + of.GetReconsumeTimes()
	}
	delay := actors.DelayLevels[min(int(level), len(actors.DelayLevels))-1]
	time.AfterFunc(delay, func() { c.Store(Key(topic, broker, 0), m) })
}

// DeadLetters gives the bodies in a group's dead letter topic.
func (c *Cluster) DeadLetters(group string) (bodies []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, q := range c.queues {
		if strings.HasPrefix(key.Topic, actors.DeadLetterTopic(group)) {
			for _, m := range q.stored {
				bodies = append(bodies, string(m.GetBody()))
			}
		}
	}
	return bodies
}
