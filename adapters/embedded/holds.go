package embedded

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// holdSweep is how often held pulls are looked at without any message arriving.
const holdSweep = 5 * time.Second

// held is a pull that waits for a message.
type held struct {
	pull     *pull
	deadline time.Time
}

// holdTable is the pulls that wait, by queue.
type holdTable struct {
	mu     sync.Mutex
	queues map[queueID][]*held
	count  atomic.Int64
}

func newHoldTable() *holdTable { return &holdTable{queues: map[queueID][]*held{}} }

// hold lets a pull wait.
func (t *holdTable) hold(h *held) {
	key := h.pull.id()
	t.mu.Lock()
	t.queues[key] = append(t.queues[key], h)
	t.count.Add(1)
	t.mu.Unlock()
}

// arrived takes out the pulls of a queue that the arrival of messages ends: the queue now reaches beyond their offset and
// one of the new messages is theirs; or their time is over.
func (t *holdTable) arrived(key queueID, max int64, entries []entry, now time.Time) []*pull {
	if t.count.Load() == 0 {
		return nil
	}
	return t.take(key, func(h *held) bool {
		if max > h.pull.header.QueueOffset {
			if h.pull.match == nil {
				return true
			}
			if slices.ContainsFunc(entries, h.pull.match) {
				return true
			}
		}
		return !now.Before(h.deadline)
	})
}

// due takes out the pulls of all queues that a sweep ends: messages are there, whatever their tags, or time is over.
func (t *holdTable) due(max func(queueID) int64, now time.Time) (out []*pull) {
	if t.count.Load() == 0 {
		return nil
	}
	t.mu.Lock()
	keys := make([]queueID, 0, len(t.queues))
	for k := range t.queues {
		keys = append(keys, k)
	}
	t.mu.Unlock()
	for _, k := range keys {
		m := max(k)
		out = append(out, t.take(k, func(h *held) bool { return m > h.pull.header.QueueOffset || !now.Before(h.deadline) })...)
	}
	return out
}

// dropped takes out the pulls of a connection that is gone; nobody answers them.
func (t *holdTable) dropped(c *connection) {
	t.mu.Lock()
	keys := make([]queueID, 0, len(t.queues))
	for k := range t.queues {
		keys = append(keys, k)
	}
	t.mu.Unlock()
	for _, k := range keys {
		t.take(k, func(h *held) bool { return h.pull.conn == c })
	}
}

func (t *holdTable) take(key queueID, which func(*held) bool) (out []*pull) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.queues[key]
	kept := list[:0]
	for _, h := range list {
		if which(h) {
			out = append(out, h.pull)
			continue
		}
		kept = append(kept, h)
	}
	clear(list[len(kept):])
	t.count.Add(-int64(len(out)))
	if len(kept) == 0 {
		delete(t.queues, key)
	} else {
		t.queues[key] = kept
	}
	return out
}

// waiting counts the held pulls of a queue.
func (t *holdTable) waiting(key queueID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queues[key])
}
