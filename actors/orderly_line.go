package actors

import (
	"sync"

	"github.com/troupe-mq/troupe/actors/processqueue"
)

// orderlyLine is where an orderly queue stands: what was pulled and not handled yet, in order, and whose turn it is. It
// survives restarts of the Consumer.
type orderlyLine struct {
	mu      sync.Mutex
	batches []*processqueue.Batch
	// next is the first message of batches[0] that may be unsettled.
	next int
	// taken says that a worker has the line, or is about to.
	taken bool
	// waiting says that the line rests until it is told to go on; dead counts the messages whose hand-back is not answered yet.
	waiting bool
	dead    int
	refused bool
	// attempts are those at the message at offset failedAt.
	attempts int32
	failedAt int64
}

// What is to follow from an answer about a message that was handed back.
type lineStep int

const (
	lineWaits lineStep = iota
	lineAgain
	lineGoesOn
)

// add puts a pull at the end; true if somebody must take the line now.
func (l *orderlyLine) add(batch *processqueue.Batch) (take bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.batches); n == 0 || l.batches[n-1] != batch { // a Consumer that failed over it gives it again
		l.batches = append(l.batches, batch)
	}
	if l.taken || l.waiting {
		return false
	}
	l.taken = true
	return true
}

// head gives the messages that are next, at most so many, all of one pull; it lets go of the line if there is none.
func (l *orderlyLine) head(most int) (batch *processqueue.Batch, first, end int, attempts int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.batches) > 0 {
		batch = l.batches[0]
		for l.next < batch.Len() && batch.Settled(l.next) {
			l.next++
		}
		if l.next < batch.Len() {
			first, end = l.next, min(l.next+most, batch.Len())
			if batch.Messages()[first].GetQueueOffset() == l.failedAt {
				attempts = l.attempts
			}
			return batch, first, end, attempts
		}
		l.batches[0] = nil
		l.batches, l.next = l.batches[1:], 0
	}
	l.taken = false
	return nil, 0, 0, 0
}

// release lets go of the line: it rests until goOn, or until a pull comes if rest is false.
func (l *orderlyLine) release(rest bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken, l.waiting = false, rest
}

// fail counts a failed attempt at the message at an offset and lets the line rest. It gives the attempts so far.
func (l *orderlyLine) fail(offset int64) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failedAt != offset {
		l.attempts, l.failedAt = 0, offset
	}
	l.attempts++
	l.taken, l.waiting = false, true
	return l.attempts
}

// handBack lets the line rest until so many answers have come.
func (l *orderlyLine) handBack(messages int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken, l.waiting, l.dead, l.refused = false, true, messages, false
}

// answered notes an answer about a message that was handed back.
func (l *orderlyLine) answered(failed bool) lineStep {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead--
	l.refused = l.refused || failed
	switch {
	case l.dead > 0:
		return lineWaits
	case l.refused:
		return lineAgain
	}
	return lineGoesOn
}

// goOn ends a rest; true if the caller is to take the line now.
func (l *orderlyLine) goOn() (take bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken || l.dead > 0 {
		return false
	}
	l.waiting = false
	l.taken = true
	return true
}
