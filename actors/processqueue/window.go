package processqueue

import (
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// Window is the process queue of one message queue. Put, Skip, Advance, Reset, Pending and Oldest belong to the owner, one
// goroutine at a time; Committed, Next, Span and Cached may be read from anywhere and tell what the owner last knew.
type Window struct {
	committed, next atomic.Int64
	count, bytes    atomic.Int64
	generation      *generation
	head, tail      *segment
	headNumber      int64 // number of the first message of head
	base            int64 // lowest number not known to be settled
	put             int64 // number of the next message
	batches         []*Batch
	gone            int // batches before this index are settled
}

// New makes a window that begins at an offset.
func New(offset int64) *Window {
	w := &Window{}
	w.Reset(offset)
	return w
}

// Reset discards everything and begins again at an offset. Results of messages put before change nothing from now on.
func (w *Window) Reset(offset int64) {
	if w.generation != nil {
		// A raised flag never gives another edge. One that was given just before finds nothing to advance.
		w.generation.dirty.Store(true)
	}
	w.generation = &generation{}
	w.head, w.tail = nil, nil
	w.headNumber, w.base, w.put = 0, 0, 0
	w.batches, w.gone = nil, 0
	w.committed.Store(offset)
	w.next.Store(offset)
	w.count.Store(0)
	w.bytes.Store(0)
}

// OrderError says that a pull does not fit: it does not begin where the window ends, or its messages are not within its
// bounds in ascending order. Nothing was put.
type OrderError struct {
	// Window is the end of the window, First and Next are the bounds of the pull.
	Window, First, Next int64
	// Message is the offset of the message that is out of order, -1 if the bounds are wrong already.
	Message int64
}

// Error names the offsets.
func (e *OrderError) Error() string {
	if e.Message >= 0 {
		return fmt.Sprintf("message at offset %d out of order in a pull of %d to %d", e.Message, e.First, e.Next)
	}
	return fmt.Sprintf("pull of %d to %d put into a window that ends at %d", e.First, e.Next, e.Window)
}

func (w *Window) fits(first, next int64) error {
	if end := w.next.Load(); first != end || next < first {
		return &OrderError{Window: end, First: first, Next: next, Message: -1}
	}
	return nil
}

// Put caches the messages of a pull of the offsets from first up to, but not including, next. The pull must begin where
// the window ends, the messages must stand in ascending order; offsets that none of them has are settled at once. The bytes
// of a message are those of its body, as in the Java client's limits. Error: *OrderError.
func (w *Window) Put(first, next int64, slab []messages.Message) (*Batch, error) {
	if err := w.fits(first, next); err != nil {
		return nil, err
	}
	least := first
	for i := range slab {
		if o := slab[i].QueueOffset; o < least || o >= next {
			return nil, &OrderError{Window: first, First: first, Next: next, Message: o}
		}
		least = slab[i].QueueOffset + 1
	}
	b := &Batch{generation: w.generation, number: w.put, first: first, next: next, messages: slab, at: time.Now()}
	if len(slab) > 0 {
		b.segment, b.lead = w.hold(slab)
		w.batches = append(w.batches, b)
	}
	w.next.Store(next)
	w.commit()
	return b, nil
}

// hold gives numbers to messages and notes their sizes.
func (w *Window) hold(slab []messages.Message) (*segment, int) {
	if w.tail == nil {
		w.head = &segment{}
		w.tail, w.headNumber = w.head, w.put
	}
	place := int((w.put - w.headNumber) % segmentBits)
	if place == 0 && w.put > w.headNumber {
		w.tail.next = &segment{}
		w.tail = w.tail.next
	}
	start, lead := w.tail, place
	var bytes int64
	for i := range slab {
		if place == segmentBits {
			w.tail.next = &segment{}
			w.tail, place = w.tail.next, 0
		}
		size := len(slab[i].Body)
		w.tail.sizes[place] = int32(size)
		bytes += int64(size)
		place++
	}
	w.put += int64(len(slab))
	w.count.Store(w.count.Load() + int64(len(slab)))
	w.bytes.Store(w.bytes.Load() + bytes)
	return start, lead
}

// Skip passes offsets without messages: what a filter at the broker left out. It must begin where the window ends. Error:
// *OrderError.
func (w *Window) Skip(first, next int64) error {
	if err := w.fits(first, next); err != nil {
		return err
	}
	w.next.Store(next)
	w.commit()
	return nil
}

// Advance takes into account what has been settled since the last call, and gives the lowest offset that is not settled and
// the messages and bytes that are not cached any more. It lowers the flag first: what is settled meanwhile is either seen
// now or causes a new notification.
func (w *Window) Advance() (committed int64, freedMessages int, freedBytes int64) {
	if !w.generation.dirty.Load() {
		return w.committed.Load(), 0, 0
	}
	w.generation.dirty.Store(false)
	number := w.headNumber
	for s := w.head; s != nil && number < w.put; s, number = s.next, number+segmentBits {
		from, to := 0, int(min(w.put-number+wordBits-1, segmentBits)/wordBits)
		if s == w.head {
			from = int(w.base-number) / wordBits
		}
		n, size := s.count(from, to)
		freedMessages += n
		freedBytes += size
	}
	if freedMessages > 0 {
		w.count.Store(w.count.Load() - int64(freedMessages))
		w.bytes.Store(w.bytes.Load() - freedBytes)
		w.moveBase()
		w.commit()
	}
	return w.committed.Load(), freedMessages, freedBytes
}

// moveBase finds the lowest unsettled message, and lets go of the segments and batches before it.
func (w *Window) moveBase() {
	for w.head != nil {
		place := w.head.firstUnsettled(int(w.base - w.headNumber))
		w.base = w.headNumber + int64(place)
		if place < segmentBits {
			break
		}
		w.head, w.headNumber = w.head.next, w.headNumber+segmentBits
	}
	if w.head == nil {
		w.tail = nil
	}
	for w.gone < len(w.batches) && w.batches[w.gone].end() <= w.base {
		w.batches[w.gone] = nil
		w.gone++
	}
	if w.gone > len(w.batches)/2 {
		n := copy(w.batches, w.batches[w.gone:])
		clear(w.batches[n:])
		w.batches, w.gone = w.batches[:n], 0
	}
}

// end is the number behind the batch's last message.
func (b *Batch) end() int64 { return b.number + int64(len(b.messages)) }

// commit notes the lowest unsettled offset.
func (w *Window) commit() {
	if b := w.oldest(); b != nil {
		w.committed.Store(b.messages[w.base-b.number].QueueOffset)
		return
	}
	w.committed.Store(w.next.Load())
}

func (w *Window) oldest() *Batch {
	if w.gone == len(w.batches) {
		return nil
	}
	return w.batches[w.gone]
}

// Committed is the lowest offset that is not settled, or Next if everything is: what may be committed.
func (w *Window) Committed() int64 { return w.committed.Load() }

// Next is the offset behind everything put or skipped: where the next pull begins.
func (w *Window) Next() int64 { return w.next.Load() }

// Span is the number of offsets from Committed to Next, with and without messages: what a stuck message makes the next
// owner of the queue repeat.
func (w *Window) Span() int64 { return w.next.Load() - w.committed.Load() }

// Cached gives the number of unsettled messages and the bytes of their bodies.
func (w *Window) Cached() (count, bytes int64) { return w.count.Load(), w.bytes.Load() }

// Oldest gives the message that holds the committed offset back and when it was put; nil if everything is settled.
func (w *Window) Oldest() (m *messages.Message, at time.Time) {
	b := w.oldest()
	if b == nil {
		return nil, time.Time{}
	}
	return &b.messages[w.base-b.number], b.at
}

// Pending goes through the unsettled messages in offset order, as they are when it meets them: batch and index.
func (w *Window) Pending() iter.Seq2[*Batch, int] {
	return func(yield func(*Batch, int) bool) {
		for _, b := range w.batches[w.gone:] {
			for i := range b.messages {
				if !b.Settled(i) && !yield(b, i) {
					return
				}
			}
		}
	}
}
