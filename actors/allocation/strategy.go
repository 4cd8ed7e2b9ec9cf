package allocation

import (
	"slices"

	"github.com/troupe-mq/troupe/messages"
)

// Strategy divides the queues of one topic among the members of a group. All members of a group must use the same one.
// Implementations are pure: safe for concurrent use, and the arguments stay as they are.
type Strategy interface {
	// Name under which Java clients and brokers know the strategy, e.g. AVG.
	Name() string
	// Allocate gives the queues of member me, or nil if me is not among the members (its heartbeat was not seen yet). The
	// lists may come in any order.
	Allocate(me string, members []string, queues []messages.QueueKey) []messages.QueueKey
}

// Average is Averagely as a Strategy, the default of the Java client.
type Average struct{}

// Name is AVG.
func (Average) Name() string { return "AVG" }

// Allocate calls Averagely.
func (Average) Allocate(me string, members []string, queues []messages.QueueKey) []messages.QueueKey {
	return Averagely(me, members, queues)
}

// Circle is ByCircle as a Strategy.
type Circle struct{}

// Name is AVG_BY_CIRCLE.
func (Circle) Name() string { return "AVG_BY_CIRCLE" }

// Allocate calls ByCircle.
func (Circle) Allocate(me string, members []string, queues []messages.QueueKey) []messages.QueueKey {
	return ByCircle(me, members, queues)
}

// ranked puts both lists into the order that every member uses, and finds the caller's place among the members; -1 if it
// is not there.
func ranked(me string, members []string, queues []messages.QueueKey) (place, count int, sorted []messages.QueueKey) {
	ids := slices.SortedFunc(slices.Values(members), messages.CompareText)
	sorted = slices.SortedFunc(slices.Values(queues), messages.QueueKey.Compare)
	return slices.Index(ids, me), len(ids), sorted
}
