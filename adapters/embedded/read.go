package embedded

import (
	"slices"
	"sort"
	"sync"
)

// readStatus is the outcome of reading a queue (GetMessageStatus); its text travels as the remark of a pull answer.
type readStatus uint8

const (
	found readStatus = iota
	noMatchedMessage
	messageWasRemoving
	offsetFoundNull
	offsetOverflowBadly
	offsetOverflowOne
	offsetTooSmall
	noMatchedLogicQueue
	noMessageInQueue
	offsetReset
)

var readStatusNames = [...]string{
	found:               "FOUND",
	noMatchedMessage:    "NO_MATCHED_MESSAGE",
	messageWasRemoving:  "MESSAGE_WAS_REMOVING",
	offsetFoundNull:     "OFFSET_FOUND_NULL",
	offsetOverflowBadly: "OFFSET_OVERFLOW_BADLY",
	offsetOverflowOne:   "OFFSET_OVERFLOW_ONE",
	offsetTooSmall:      "OFFSET_TOO_SMALL",
	noMatchedLogicQueue: "NO_MATCHED_LOGIC_QUEUE",
	noMessageInQueue:    "NO_MESSAGE_IN_QUEUE",
	offsetReset:         "OFFSET_RESET",
}

func (s readStatus) String() string { return readStatusNames[s] }

// readLimits bounds one answer.
type readLimits struct {
	messages int
	bytes    int
}

// scanEntries is how many index entries one read examines at least: 16,000 bytes of a consume queue, protocol.md 7.3.
const scanEntries = 16000 / 20

// selection is what a read found. Body is either a stretch of the log itself or a copy in a borrowed buffer: it must not be
// changed, and release ends its life.
type selection struct {
	status   readStatus
	next     int64
	min, max int64
	count    int
	body     []byte
	borrowed *[]byte
}

// release gives the body's buffer back.
func (s *selection) release() {
	if s.borrowed != nil {
		bodies.Put(s.borrowed)
		s.borrowed, s.body = nil, nil
	}
}

// bodies are buffers for the records of one answer.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// scratch is reused between reads.
type scratch struct {
	entries []entry
	picked  []entry
}

var scratches = sync.Pool{New: func() any {
	return &scratch{entries: make([]entry, 0, 64), picked: make([]entry, 0, 64)}
}}

// readQueue selects messages from an offset on, as the table of protocol.md 7.3 says. match decides; nil takes all.
func readQueue(s store, topic string, queue int32, offset int64, limits readLimits, match func(entry) bool) (sel selection) {
	ix := s.queue(topic, queue)
	sel.min, sel.max = ix.bounds()
	switch {
	case sel.max == 0:
		sel.status, sel.next = noMessageInQueue, 0
		return sel
	case offset < sel.min:
		sel.status, sel.next = offsetTooSmall, sel.min
		return sel
	case offset == sel.max:
		sel.status, sel.next = offsetOverflowOne, offset
		return sel
	case offset > sel.max:
		sel.status, sel.next = offsetOverflowBadly, sel.max
		return sel
	}

	sc := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	window := int64(max(scanEntries, limits.messages))
	end := min(sel.max, offset+window)
	sel.status, sel.next = noMatchedMessage, offset
	picked := sc.picked[:0]
	total := 0
scan:
	for sel.next < end {
		sc.entries = ix.entries(sc.entries[:0], sel.next)
		if len(sc.entries) == 0 {
			// Trimmed underneath us: what is left starts elsewhere.
			if len(picked) == 0 {
				sel.status = offsetFoundNull
				sel.next, _ = ix.bounds()
			}
			break
		}
		for _, e := range sc.entries {
			if sel.next >= end {
				break scan
			}
			if len(picked) > 0 && (len(picked) >= limits.messages || total+int(e.size) > limits.bytes) {
				break scan
			}
			sel.next++
			if match != nil && !match(e) {
				continue
			}
			picked = append(picked, e)
			total += int(e.size)
		}
	}
	sc.picked = picked
	if len(picked) == 0 {
		return sel
	}
	sel.gather(s, picked, total)
	if sel.count == 0 {
		sel.release()
		sel.status = messageWasRemoving
		return sel
	}
	sel.status = found
	return sel
}

// gather brings the records together. Records that follow each other in one segment of the log need no copy: written bytes
// never change.
func (s *selection) gather(log store, picked []entry, total int) {
	first := picked[0].physical
	at := first
	for _, e := range picked {
		if e.physical != at {
			break
		}
		at += int64(e.size)
	}
	if at-first == int64(total) {
		if b, ok := log.record(first, int32(total)); ok {
			s.body, s.count = b, len(picked)
			return
		}
	}
	s.borrowed = bodies.Get().(*[]byte)
	body := slices.Grow((*s.borrowed)[:0], total)
	for _, e := range picked {
		rec, ok := log.record(e.physical, e.size)
		if !ok {
			continue
		}
		body = append(body, rec...)
		s.count++
	}
	*s.borrowed, s.body = body, body
}

// offsetByTime finds a queue offset by store time. Lower: the first message stored at t or later, the maximum if there is
// none. Upper: the last one stored at t or earlier. An empty queue answers 0. Source: protocol.md 7.5.
func offsetByTime(s store, topic string, queue int32, t int64, upper bool) int64 {
	ix := s.queue(topic, queue)
	lo, hi := ix.bounds()
	if lo == hi {
		return 0
	}
	timeAt := func(offset int64) int64 {
		var buf [1]entry
		es := ix.entries(buf[:0], offset)
		if len(es) == 0 {
			return 0
		}
		rec, ok := s.record(es[0].physical, es[0].size)
		if !ok {
			return 0
		}
		return storeTimeOf(rec)
	}
	n := int(hi - lo)
	if !upper {
		return lo + int64(sort.Search(n, func(i int) bool { return timeAt(lo+int64(i)) >= t }))
	}
	after := sort.Search(n, func(i int) bool { return timeAt(lo+int64(i)) > t })
	if after == 0 {
		return 0
	}
	return lo + int64(after) - 1
}

// storeTimeAt gives the store time of one message of a queue, -1 if it is not there.
func storeTimeAt(s store, topic string, queue int32, offset int64) int64 {
	ix := s.queue(topic, queue)
	lo, hi := ix.bounds()
	if offset < lo || offset >= hi {
		return -1
	}
	es := ix.entries(slices.Grow([]entry(nil), 1)[:0:1], offset)
	if len(es) == 0 {
		return -1
	}
	rec, ok := s.record(es[0].physical, es[0].size)
	if !ok {
		return -1
	}
	return storeTimeOf(rec)
}
