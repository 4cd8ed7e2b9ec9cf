package actors

import (
	"slices"

	"github.com/troupe-mq/troupe/messages"
)

// Permission bits of a topic at a broker (PermName, protocol.md 3.1).
const (
	permRead  = 4
	permWrite = 2
)

// SubscribeQueues gives the queues of a topic that a consumer may be assigned, sorted as every member sorts them.
func SubscribeQueues(r *messages.TopicRoute) []messages.QueueKey {
	var out []messages.QueueKey
	for _, g := range r.GetQueues() {
		if g.GetPerm()&permRead == 0 {
			continue
		}
		for id := range g.GetReadQueues() {
			out = append(out, messages.QueueKey{Topic: r.GetTopic(), Broker: g.GetBroker(), ID: id})
		}
	}
	slices.SortFunc(out, messages.QueueKey.Compare)
	return out
}

// PublishQueues gives the queues of a topic that take messages: writable ones of brokers with a master.
func PublishQueues(r *messages.TopicRoute) []messages.QueueKey {
	masters := make(map[string]bool)
	for _, b := range r.GetBrokers() {
		_, masters[b.GetBroker()] = b.GetAddresses()[masterID]
	}
	var out []messages.QueueKey
	for _, g := range r.GetQueues() {
		if g.GetPerm()&permWrite == 0 || !masters[g.GetBroker()] {
			continue
		}
		for id := range g.GetWriteQueues() {
			out = append(out, messages.QueueKey{Topic: r.GetTopic(), Broker: g.GetBroker(), ID: id})
		}
	}
	slices.SortFunc(out, messages.QueueKey.Compare)
	return out
}
