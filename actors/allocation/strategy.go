package allocation

import (
	"slices"

	"github.com/troupe-mq/troupe/messages"
)

// Strategy divides the queues of one topic among the members of a group. All members of a group must use the same one.
// Implementations are safe for concurrent use, and the arguments stay as they are.
type Strategy interface {
	// Name under which Java clients and brokers know the strategy, e.g. AVG.
	Name() string
	// Allocate gives the queues of member me, or nil if me is not among the members (its heartbeat was not seen yet). The
	// lists may come in any order. An error means that the division is not known: nothing may change.
	Allocate(me string, members []string, queues []messages.QueueKey) ([]messages.QueueKey, error)
}

// Average is Averagely as a Strategy, the default of the Java client.
type Average struct{}

// Name is AVG.
func (Average) Name() string { return "AVG" }

// Allocate calls Averagely; it never fails.
func (Average) Allocate(me string, members []string, queues []messages.QueueKey) ([]messages.QueueKey, error) {
	return Averagely(me, members, queues), nil
}

// Circle is ByCircle as a Strategy.
type Circle struct{}

// Name is AVG_BY_CIRCLE.
func (Circle) Name() string { return "AVG_BY_CIRCLE" }

// Allocate calls ByCircle; it never fails.
func (Circle) Allocate(me string, members []string, queues []messages.QueueKey) ([]messages.QueueKey, error) {
	return ByCircle(me, members, queues), nil
}

// ranked puts both lists into the order that every member uses, and finds the caller's place among the members; -1 if it
// is not there.
func ranked(me string, members []string, queues []messages.QueueKey) (place, count int, sorted []messages.QueueKey) {
	ids, sorted := inOrder(members, queues)
	return slices.Index(ids, me), len(ids), sorted
}

// inOrder gives sorted copies of both lists.
func inOrder(members []string, queues []messages.QueueKey) ([]string, []messages.QueueKey) {
	return slices.SortedFunc(slices.Values(members), messages.CompareText),
		slices.SortedFunc(slices.Values(queues), messages.QueueKey.Compare)
}
