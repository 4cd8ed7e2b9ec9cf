package workpool

import "context"

// Group is a pull handed to the workers. Fields are set before Submit and not changed after; a Group is submitted once and
// left to the garbage collector, because a worker may look at it after its last message was run.
type Group struct {
	// Lane in which the group waits, of the pool it is submitted to.
	Lane *Lane
	// Len is the number of messages.
	Len int
	// Run runs message i; each of 0 to Len-1 once, in any order, on several goroutines at once. ctx is the worker's own (see
	// Config.Context). Run must contain the panics of user code: one that gets out counts as a completed message.
	Run func(ctx context.Context, i int)
}

// piece is a stretch of a group that no worker has claimed.
type piece struct {
	group    *Group
	from, to int
	// single says that its messages go to workers one at a time.
	single bool
}

// pieces is a queue of pieces with two ends, a ring that grows.
type pieces struct {
	ring  []piece
	first int
	count int
}

func (q *pieces) at(i int) *piece { return &q.ring[(q.first+i)%len(q.ring)] }

func (q *pieces) grow() {
	if q.count < len(q.ring) {
		return
	}
	ring := make([]piece, max(8, 2*len(q.ring)))
	for i := range q.count {
		ring[i] = *q.at(i)
	}
	q.ring, q.first = ring, 0
}

func (q *pieces) pushBack(p piece) {
	q.grow()
	q.count++
	*q.at(q.count - 1) = p
}

func (q *pieces) pushFront(p piece) {
	q.grow()
	q.first = (q.first + len(q.ring) - 1) % len(q.ring)
	q.count++
	*q.at(0) = p
}

func (q *pieces) popFront() {
	*q.at(0) = piece{}
	q.first = (q.first + 1) % len(q.ring)
	q.count--
}

// remove takes out the pieces of a group and gives the number of their messages.
func (q *pieces) remove(g *Group) (messages int) {
	kept := 0
	for i := range q.count {
		if p := *q.at(i); p.group == g {
			messages += p.to - p.from
		} else {
			*q.at(kept) = p
			kept++
		}
	}
	for i := kept; i < q.count; i++ {
		*q.at(i) = piece{}
	}
	q.count = kept
	return messages
}
