package kit

import (
	"context"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// dispatcher runs turns and work on goroutines that it parks and takes up again, the last parked first, because its stack is
// grown and warm. A turn that blocks holds up nobody: when no goroutine is parked a new one starts.
type dispatcher struct {
	throughput int
	maxIdle    int
	fresh      bool // never park: a goroutine per turn

	mu      sync.Mutex
	parked  []*worker
	closed  bool
	running int           // goroutines, parked ones included
	ended   chan struct{} // closed when none runs; nil if nobody waits
}

var _ actor.Dispatcher = (*dispatcher)(nil)

// worker is one parked goroutine. Its channel has room for the one turn it is woken for.
type worker struct{ wake chan func() }

// Throughput is asked by the library's mailboxes; ours reads the field.
func (d *dispatcher) Throughput() int { return d.throughput }

// Schedule runs fn on some other goroutine. It never blocks.
func (d *dispatcher) Schedule(fn func()) {
	d.mu.Lock()
	if n := len(d.parked); n > 0 {
		w := d.parked[n-1]
		d.parked[n-1] = nil
		d.parked = d.parked[:n-1]
		d.mu.Unlock()
		w.wake <- fn
		return
	}
	d.running++
	d.mu.Unlock()
	go d.run(fn)
}

func (d *dispatcher) run(fn func()) {
	defer d.exit() // also if fn leaves by Goexit
	fn()
	w := &worker{wake: make(chan func(), 1)}
	for d.park(w) {
		fn = <-w.wake
		if fn == nil {
			return
		}
		fn()
	}
}

func (d *dispatcher) park(w *worker) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fresh || d.closed || len(d.parked) >= d.maxIdle {
		return false
	}
	d.parked = append(d.parked, w)
	return true
}

func (d *dispatcher) exit() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	if d.running == 0 && d.ended != nil {
		close(d.ended)
		d.ended = nil
	}
}

// close ends the parked goroutines and waits for all others to end. What is scheduled later still runs.
func (d *dispatcher) close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	for _, w := range d.parked {
		w.wake <- nil
	}
	d.parked = nil
	if d.running == 0 {
		d.mu.Unlock()
		return nil
	}
	if d.ended == nil {
		d.ended = make(chan struct{})
	}
	ended := d.ended
	d.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
