package allocation

import "github.com/troupe-mq/troupe/messages"

// Custom is a function as a Strategy. What it gives is checked by who asks: it may fail, panic, or name queues that the topic
// does not have.
type Custom struct {
	// As is the strategy's name.
	As string
	// Divide gives the queues of member me. Both lists are sorted copies.
	Divide func(me string, members []string, queues []*messages.Queue) ([]*messages.Queue, error)
}

// Name is the given one.
func (s Custom) Name() string { return s.As }

// Allocate calls Divide with copies of the lists in the order that every member sees.
func (s Custom) Allocate(me string, members []string, queues []messages.QueueKey) ([]messages.QueueKey, error) {
	ids, sorted := inOrder(members, queues)
	given := make([]*messages.Queue, len(sorted))
	for i, q := range sorted {
		given[i] = q.Queue()
	}
	share, err := s.Divide(me, ids, given)
	if err != nil {
		return nil, err
	}
	mine := make([]messages.QueueKey, len(share))
	for i, q := range share {
		mine[i] = q.Key()
	}
	return mine, nil
}
