package processqueue

import (
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// generation is the time between two resets of a window. Batches point at theirs, so that what comes late raises a flag
// that nobody looks at.
type generation struct {
	// dirty says that something was settled since the owner last looked. It stays raised when the generation is over.
	dirty atomic.Bool
}

// Batch is one pull in a window: the handle through which its messages are settled.
type Batch struct {
	generation *generation
	segment    *segment
	// lead is the place of the first message in segment.
	lead int
	// number of the first message among all messages of the generation.
	number      int64
	first, next int64
	messages    []messages.Message
	at          time.Time
}

// Messages gives the slab, in offset order. It belongs to the window; do not write to it.
func (b *Batch) Messages() []messages.Message { return b.messages }

// Len is the number of messages.
func (b *Batch) Len() int { return len(b.messages) }

// First is the offset that was pulled from.
func (b *Batch) First() int64 { return b.first }

// Next is the offset behind the pull.
func (b *Batch) Next() int64 { return b.next }

// Settle marks message i of the batch as settled, whatever the verdict was. Any goroutine may call it, also twice for the
// same message, and also after the window was reset, when it changes nothing. It is true if the window was clean before:
// then, and only then, the owner must be told to call Advance, so one burst causes one notification. The slab may be reused
// as soon as its last message is settled: take what is needed of it before.
func (b *Batch) Settle(i int) (notify bool) {
	if uint(i) >= uint(len(b.messages)) {
		panic("processqueue: no such message in the batch")
	}
	b.segment.settle(b.lead + i)
	// If the flag is up, the owner lowers it later and then looks at the bits, so it finds the bit set above.
	return !b.generation.dirty.Load() && !b.generation.dirty.Swap(true)
}

// Settled tells whether message i is settled. Any goroutine may ask.
func (b *Batch) Settled(i int) bool { return b.segment.isSettled(b.lead + i) }
