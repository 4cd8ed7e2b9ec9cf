package processqueue_test

import (
	"math/rand/v2"
	"slices"

	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// model is what a window promises, in the plainest form: a map of what is not settled.
type model struct {
	open map[int64]int
	next int64
}

func (m *model) committed() int64 {
	least := m.next
	for o := range m.open {
		least = min(least, o)
	}
	return least
}

func (m *model) bytes() (sum int64) {
	for _, size := range m.open {
		sum += int64(size)
	}
	return sum
}

func (m *model) offsets() []int64 {
	var all []int64
	for o := range m.open {
		all = append(all, o)
	}
	slices.Sort(all)
	return all
}

// slab makes messages at some of the offsets from first on; gaps stay between them.
func slab(r *rand.Rand, first int64, most int) (ms []messages.Message, next int64) {
	n := r.IntN(most + 1)
	ms, next = make([]messages.Message, n), first
	dense := r.IntN(2) == 0
	for i := range ms {
		if !dense && r.IntN(4) == 0 {
			next += int64(r.IntN(2000))
		}
		ms[i].QueueOffset = next
		ms[i].Body = make([]byte, r.IntN(40))
		next++
	}
	if !dense {
		next += int64(r.IntN(3))
	}
	return ms, next
}

// consecutive makes messages of one size at consecutive offsets.
func consecutive(first int64, n, size int) []messages.Message {
	ms := make([]messages.Message, n)
	body := make([]byte, size)
	for i := range ms {
		ms[i].QueueOffset = first + int64(i)
		ms[i].Body = body
	}
	return ms
}

// handle is one message as a worker holds it.
type handle struct {
	b *processqueue.Batch
	i int
}

func (h handle) offset() int64 { return h.b.Messages()[h.i].QueueOffset }
