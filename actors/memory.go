package actors

import "sync"

// Memory is the limit of the bytes that one client holds over all its queues. Nothing is counted twice that could drift: the
// sum is taken when it is asked for.
type Memory struct {
	limit int64

	mu     sync.RWMutex
	queues map[*assignment]struct{}
}

// NewMemory makes one; a limit of 0 means none.
func NewMemory(limit int64) *Memory {
	return &Memory{limit: limit, queues: make(map[*assignment]struct{})}
}

func (m *Memory) add(q *assignment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues[q] = struct{}{}
}

func (m *Memory) remove(q *assignment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.queues, q)
}

// full tells whether another pull would have to wait.
func (m *Memory) full() bool { return m.limit > 0 && m.used() >= m.limit }

func (m *Memory) used() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var sum int64
	for q := range m.queues {
		sum += q.held()
	}
	return sum
}
