package kit

import (
	"sync"
	"time"
)

// timers is the set of an actor's pending timers. All of them end with the incarnation that made them.
type timers struct {
	mu      sync.Mutex
	first   *Timer
	restart *time.Timer // the pending restart after a failure
	closed  bool
}

func (c *cell) after(d time.Duration, m Message) *Timer {
	if m == nil {
		panic("kit: timer without a message")
	}
	t := &Timer{cell: c, m: m, incarnation: c.incarnation}
	s := &c.timers
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		t.over.Store(true)
		return t
	}
	t.next = s.first
	if s.first != nil {
		s.first.prev = t
	}
	s.first = t
	t.timer = time.AfterFunc(d, t.fire)
	return t
}

// remove takes t out of the set and tells whether it was in it.
func (s *timers) remove(t *Timer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.timer == nil {
		return false
	}
	s.unlink(t)
	return true
}

func (s *timers) unlink(t *Timer) {
	t.timer.Stop()
	t.timer = nil
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		s.first = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}

// clear ends all timers of the incarnation; with for good, also a pending restart, and none can be made again.
func (s *timers) clear(forGood bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.first != nil {
		s.first.over.Store(true)
		s.unlink(s.first)
	}
	if forGood {
		s.closed = true
		if s.restart != nil {
			s.restart.Stop()
			s.restart = nil
		}
	}
}

// restartAfter arms the restart that follows a failure.
func (s *timers) restartAfter(d time.Duration, restart func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.restart = time.AfterFunc(d, restart)
	}
}
