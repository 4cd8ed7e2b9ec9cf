package pollbuffer

import (
	"sync/atomic"

	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// Line is what waits of one queue, what of it was handed out and is not finished, and where the queue stands.
type Line struct {
	buffer *Buffer
	queue  *messages.Queue
	// settled says that the window's owner must look, or that a line that leaves may have nothing to wait for any more; it is called
	// without the lock.
	settled func()

	// Everything below is guarded by the buffer's lock.
	batches fifo[*processqueue.Batch]
	ready   bool
	// handed is what was given and not finished, and what was finished behind something that is not.
	handed fifo[*Handed]
	// position is behind what was polled, and behind what a filter left out after it.
	position int64
	// held is what stays committed after a Seek, until something behind it is finished; -1: nothing is held.
	held    int64
	paused  bool
	leaving bool
	ended   bool

	// unfinished counts what was handed out and is neither finished nor outdated.
	unfinished atomic.Int64
	// committed is written with the lock held and read by anybody.
	committed *atomic.Int64
}

// Line makes the line of a queue that begins at an offset. In committed it keeps the offset below which everything was finished:
// what may be stored for the group. settled is called when the window's owner must look, from any goroutine.
func (b *Buffer) Line(q *messages.Queue, offset int64, paused bool, committed *atomic.Int64, settled func()) *Line {
	l := &Line{buffer: b, queue: q, settled: settled, position: offset, held: -1, paused: paused, committed: committed}
	l.committed.Store(offset)
	return l
}

// Unfinished is how many batches were handed out and are neither finished nor outdated.
func (l *Line) Unfinished() int64 { return l.unfinished.Load() }

// Position is where the next Take from the queue continues.
func (l *Line) Position() int64 {
	l.buffer.mu.Lock()
	defer l.buffer.mu.Unlock()
	return l.position
}

// Put adds a pull at the end; one without anything unsettled is passed.
func (l *Line) Put(batch *processqueue.Batch) {
	b := l.buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	n := unsettled(batch)
	if n == 0 || l.leaving || l.ended {
		return
	}
	if at := l.batches.len(); at > 0 && l.batches.all()[at-1] == batch {
		return // a Consumer that failed over it gives it again
	}
	if l.batches.len() == 0 {
		l.position = max(l.position, batch.First())
	}
	l.batches.add(batch)
	b.messages.Add(int64(n))
	b.offer(l)
}

// Passed says how far everything was put or left out by filters: an empty line stands there.
func (l *Line) Passed(next int64) {
	l.buffer.mu.Lock()
	defer l.buffer.mu.Unlock()
	if l.batches.len() == 0 && !l.leaving {
		l.position = max(l.position, next)
	}
	l.note()
}

// Pause keeps the line from giving anything, Pause(false) undoes it. What waits is kept.
func (l *Line) Pause(paused bool) {
	b := l.buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	l.paused = paused
	if paused {
		b.withdraw(l)
		return
	}
	b.offer(l)
}

// Restart puts the line at another offset and drops what waits. What was handed out does not count any more; with earlier, that
// which lies below the offset does. With hold what is committed stays until something is finished, else the offset is committed.
func (l *Line) Restart(offset int64, earlier, hold bool) {
	b := l.buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	l.drop()
	all, n := l.handed.all(), 0
	for _, h := range all {
		if earlier && h.next <= offset {
			all[n] = h
			n++
		} else {
			h.become(outdated)
		}
	}
	l.handed.keep(all[:n])
	before, held := l.committed.Load(), l.held >= 0
	l.position, l.held = offset, -1
	if hold && (held || n == 0) {
		l.held = before
	}
	l.note()
}

// Hold commits an offset of the program's own choice: it stays until something is finished.
func (l *Line) Hold(offset int64) {
	l.buffer.mu.Lock()
	defer l.buffer.mu.Unlock()
	if !l.ended {
		l.held = offset
		l.note()
	}
}

// drop gives up what waits; with the lock held.
func (l *Line) drop() {
	for _, batch := range l.batches.all() {
		l.buffer.messages.Add(int64(-unsettled(batch)))
	}
	l.batches.keep(nil)
	l.buffer.withdraw(l)
}

// Leave gives nothing any more: the queue is about to be given up. What was handed out can still be finished.
func (l *Line) Leave() {
	l.buffer.mu.Lock()
	defer l.buffer.mu.Unlock()
	l.drop()
	l.leaving = true
}

// End gives the queue up: what was handed out and not finished is revoked.
func (l *Line) End() (unfinished int64) {
	l.buffer.mu.Lock()
	defer l.buffer.mu.Unlock()
	l.drop()
	l.ended = true
	unfinished = l.unfinished.Load()
	for _, h := range l.handed.all() {
		h.become(revoked)
	}
	return unfinished
}

// FinishAll finishes everything that was handed out, and commits a Seek.
func (l *Line) FinishAll() {
	l.buffer.mu.Lock()
	for _, h := range l.handed.all() {
		h.become(finished)
	}
	l.held = -1
	l.note()
	leaving := l.leaving
	l.buffer.mu.Unlock()
	if leaving {
		l.settled()
	}
}

// Awaited tells whether the caller is still to finish something.
func (l *Line) Awaited() bool {
	l.buffer.mu.Lock()
	defer l.buffer.mu.Unlock()
	for _, h := range l.handed.all() {
		if h.state == open && !h.abandoned {
			return true
		}
	}
	return false
}

func (l *Line) gives() bool {
	return l.batches.len() > 0 && !l.paused && !l.leaving && !l.ended
}

// take hands the oldest pull out; with the lock held. Its messages are settled: the window does not hold them any more.
func (l *Line) take() (h *Handed, out []*messages.Message, settled bool) {
	batch := l.batches.take()
	h = &Handed{line: l, first: batch.First(), next: batch.Next()}
	out = make([]*messages.Message, 0, batch.Len())
	ms := batch.Messages()
	for i := range ms {
		if !batch.Settled(i) {
			out = append(out, &ms[i])
			settled = batch.Settle(i) || settled
		}
	}
	l.buffer.messages.Add(int64(-len(out)))
	l.position = h.next
	l.handed.add(h)
	l.unfinished.Add(1)
	l.note()
	return h, out, settled
}

// note works out what is committed; with the lock held. An ended line keeps its last word.
func (l *Line) note() {
	if l.ended {
		return
	}
	for l.handed.len() > 0 && l.handed.all()[0].state != open {
		l.handed.take()
	}
	switch {
	case l.held >= 0:
		l.committed.Store(l.held)
	case l.handed.len() > 0:
		l.committed.Store(l.handed.all()[0].first)
	default:
		l.committed.Store(l.position)
	}
}

func unsettled(batch *processqueue.Batch) (n int) {
	for i := range batch.Len() {
		if !batch.Settled(i) {
			n++
		}
	}
	return n
}
