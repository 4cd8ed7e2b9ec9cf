package trace

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds of a Queue. The number is Java's; the bytes keep messages with long keys from holding much.
const (
	MaxEntries = 2048
	MaxBytes   = 4 << 20
)

// Queue is where workers leave entries for the sender. Put never waits: what does not fit is dropped and counted. Safe for
// concurrent use.
type Queue struct {
	// full is a look without the lock, for workers that would add to a full queue again and again.
	full    atomic.Bool
	dropped atomic.Int64

	mu      sync.Mutex
	entries []Entry
	bytes   int
}

// Full tells whether an entry would be dropped; the caller then counts it by Drop and spares itself the making.
func (q *Queue) Full() bool { return q.full.Load() }

// Drop counts entries that are lost.
func (q *Queue) Drop(n int) { q.dropped.Add(int64(n)) }

// TakeDropped gives the number of lost entries since it was called last.
func (q *Queue) TakeDropped() int64 { return q.dropped.Swap(0) }

// Len is the number of waiting entries.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)
}

// Put adds an entry and tells how many are waiting then; 0 if it was dropped.
func (q *Queue) Put(e Entry) (waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) >= MaxEntries || q.bytes+e.Size() > MaxBytes {
		q.full.Store(true)
		q.dropped.Add(1)
		return 0
	}
	q.entries = append(q.entries, e)
	q.bytes += e.Size()
	q.full.Store(len(q.entries) == MaxEntries)
	return len(q.entries)
}

// Take removes what one trace message can hold: up to n entries, oldest first, and how many they are.
func (q *Queue) Take(n int) (body []byte, keys []string, taken int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size, keyBytes := 0, 0
	for taken < min(n, len(q.entries)) {
		e := &q.entries[taken]
		if taken > 0 && (size+len(e.Text) > MaxBody || keyBytes+e.keyBytes > MaxKeys) {
			break
		}
		size, keyBytes, taken = size+len(e.Text), keyBytes+e.keyBytes, taken+1
	}
	body = make([]byte, 0, size)
	seen := make(map[string]bool)
	for i := range q.entries[:taken] {
		e := &q.entries[i]
		body = append(body, e.Text...)
		for _, key := range e.Keys {
			if !seen[key] {
				seen[key], keys = true, append(keys, key)
			}
		}
		q.bytes -= e.Size()
	}
	q.entries = slices.Delete(q.entries, 0, taken)
	if len(q.entries) == 0 {
		q.entries = nil // an idle group holds nothing
	}
	q.full.Store(false)
	return body, keys, taken
}
