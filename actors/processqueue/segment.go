package processqueue

import (
	"math/bits"
	"sync/atomic"
)

const (
	wordBits    = 64
	segmentBits = 256
)

// segment holds the settled bits of 256 consecutive message numbers. Segments are never reused: a worker that comes late
// writes into memory that nobody reads any more.
type segment struct {
	// settled is written by workers, read by the owner.
	settled [segmentBits / wordBits]atomic.Uint64
	// next is set by the owner before any message of the next segment is known to a worker, and never changed.
	next *segment
	// counted are the settled bits that the owner has taken into account.
	counted [segmentBits / wordBits]uint64
	// sizes are the body sizes in bytes, written by the owner.
	sizes [segmentBits]int32
}

// settle marks the message at place n counted from the start of this segment.
func (s *segment) settle(n int) {
	for n >= segmentBits {
		s, n = s.next, n-segmentBits
	}
	s.settled[n/wordBits].Or(1 << (n % wordBits))
}

// isSettled reads the mark of the message at place n counted from the start of this segment.
func (s *segment) isSettled(n int) bool {
	for n >= segmentBits {
		s, n = s.next, n-segmentBits
	}
	return s.settled[n/wordBits].Load()&(1<<(n%wordBits)) != 0
}

// count takes fresh marks of the words from and up to, but not including, to into account and gives their number and bytes.
func (s *segment) count(from, to int) (messages int, bytes int64) {
	for k := from; k < to; k++ {
		settled := s.settled[k].Load()
		fresh := settled &^ s.counted[k]
		if fresh == 0 {
			continue
		}
		s.counted[k] = settled
		messages += bits.OnesCount64(fresh)
		for ; fresh != 0; fresh &= fresh - 1 {
			bytes += int64(s.sizes[k*wordBits+bits.TrailingZeros64(fresh)])
		}
	}
	return messages, bytes
}

// firstUnsettled gives the first place at or after n without a counted mark; segmentBits if there is none.
func (s *segment) firstUnsettled(n int) int {
	for k := n / wordBits; k < len(s.counted); k++ {
		open := ^s.counted[k]
		if k == n/wordBits {
			open &= ^uint64(0) << (n % wordBits)
		}
		if open != 0 {
			return k*wordBits + bits.TrailingZeros64(open)
		}
	}
	return segmentBits
}
