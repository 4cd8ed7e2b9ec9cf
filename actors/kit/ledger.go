package kit

import (
	"context"
	"slices"
	"sync"
)

// ledger counts what runs, by the path of the actor it runs for, and lets others wait until nothing does.
type ledger struct {
	mu      sync.Mutex
	running map[string]int
	idle    chan struct{} // closed when nothing runs; nil if nobody waits
}

func (l *ledger) begin(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = make(map[string]int)
	}
	l.running[id]++
}

func (l *ledger) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[id]--; l.running[id] > 0 {
		return
	}
	delete(l.running, id)
	if len(l.running) == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// wait returns nil as soon as nothing runs, or the context's error.
func (l *ledger) wait(ctx context.Context) error {
	l.mu.Lock()
	if len(l.running) == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// names are those for whom something runs, sorted.
func (l *ledger) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.running))
	for id := range l.running {
		names = append(names, id)
	}
	slices.Sort(names)
	return names
}
