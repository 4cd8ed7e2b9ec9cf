package actors

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/troupe-mq/troupe/actors/processqueue"
)

// calls are the handler calls of one group that run now: a slot for each worker of its pool. Handlers get a context that
// belongs to the slot and outlives the call, so that a call costs no allocation; it is replaced after it has ended.
type calls struct {
	mu sync.Mutex
	// slots go with their workers.
	slots []weak.Pointer[callSlot]
}

// callSlot is the place of one worker. It is also the context that the pool hands to the worker's runs.
type callSlot struct {
	context.Context

	mu      sync.Mutex
	handler context.Context
	cancel  context.CancelCauseFunc
	// scope of the call that runs; nil between calls.
	scope *callScope
	call  runningCall
	// calls counts, so that the watch can tell one from the next without a clock; seen and seenAt are the watch's.
	calls, seen int64
	seenAt      time.Time
	overdue     bool
}

// runningCall is one handler call with what it is about: messages first to end of a batch.
type runningCall struct {
	h          *handling
	batch      *processqueue.Batch
	first, end int
}

// callScope is what handler calls have in common that end together: those of one queue, until it is given up or put at
// another offset.
type callScope struct {
	calls *calls
	cause atomic.Pointer[error]
}

// join makes the slot of a new worker.
func (c *calls) join() context.Context {
	s := &callSlot{Context: context.Background()}
	c.mu.Lock()
	defer c.mu.Unlock()
	live := c.slots[:0]
	for _, p := range c.slots {
		if p.Value() != nil {
			live = append(live, p)
		}
	}
	c.slots = append(live, weak.Make(s))
	return s
}

// each visits every slot.
func (c *calls) each(visit func(*callSlot)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.slots {
		if s := p.Value(); s != nil {
			visit(s)
		}
	}
}

// takeOverdue finds calls that have been running for longer than limit: their contexts end, and they are told once. It is to
// be called several times within limit.
func (c *calls) takeOverdue(now time.Time, limit time.Duration) (late []runningCall) {
	c.each(func(s *callSlot) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.scope == nil || s.overdue:
		case s.calls != s.seen:
			s.seen, s.seenAt = s.calls, now
		case now.Sub(s.seenAt) >= limit:
			s.overdue = true
			s.cancel(ErrHandlerTimeout)
			if s.call.h != nil { // what is consumed directly has no queue to go back from
				late = append(late, s.call)
			}
		}
	})
	return late
}

// enter begins a call and gives its context; false if the scope has ended.
func (s *callSlot) enter(scope *callScope, call runningCall) (context.Context, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if scope.ended() != nil {
		return nil, false
	}
	if s.handler == nil || s.handler.Err() != nil {
		s.handler, s.cancel = context.WithCancelCause(context.Background())
	}
	s.scope, s.call, s.overdue = scope, call, false
	s.calls++
	return s.handler, true
}

// leave ends the call; true if it was overdue.
func (s *callSlot) leave() (overdue bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scope, s.call = nil, runningCall{}
	return s.overdue
}

// end lets no call of the scope begin any more and ends the contexts of those that run. Only the first cause counts.
func (s *callScope) end(cause error) {
	if !s.cause.CompareAndSwap(nil, &cause) {
		return
	}
	s.calls.each(func(slot *callSlot) {
		slot.mu.Lock()
		defer slot.mu.Unlock()
		if slot.scope == s {
			slot.cancel(cause)
		}
	})
}

// ended gives the cause of the end; nil before.
func (s *callScope) ended() error {
	if cause := s.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}
