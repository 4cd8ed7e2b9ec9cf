package workpool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/actors/meter"
)

// ErrClosed is returned by Submit after Close, and for a lane that was dropped.
var ErrClosed = errors.New("worker pool closed")

// Config of a Pool.
type Config struct {
	// Workers is the number of handlers that may run at once over all lanes; default 20, the Java client's.
	Workers int
	// SlowAfter is the time after which what a worker holds behind a running handler goes to others; default 1 ms.
	SlowAfter time.Duration
	// Context makes the context that one worker hands to every Run, so that a caller can keep per-worker state in a context
	// type of its own without an allocation per message. It is called once for each worker, while the pool is locked.
	// Default: context.Background.
	Context func() context.Context
	// Panicked is told of a panic that got out of Run, on the worker's goroutine. Default: nothing.
	Panicked func(value any, stack []byte)
}

// Pool runs groups. All methods may be called from any goroutine and none of them waits for a handler, except Close.
type Pool struct {
	config Config
	made   time.Time

	mu      sync.Mutex
	limit   int
	workers []*worker // all that live
	parked  []*worker // last parked, first woken
	lanes   []*Lane
	waiting int // messages
	running int // workers in a handler
	turn    uint64
	watch   *time.Timer
	// watching says that the timer is set.
	watching bool
	closed   bool
	ended    chan struct{} // closed with the last worker after Close
}

// New makes a pool. Goroutines are started when work comes.
func New(config Config) *Pool {
	if config.Workers <= 0 {
		config.Workers = 20
	}
	if config.SlowAfter <= 0 {
		config.SlowAfter = time.Millisecond
	}
	if config.Context == nil {
		config.Context = context.Background
	}
	if config.Panicked == nil {
		config.Panicked = func(any, []byte) {}
	}
	return &Pool{config: config, made: time.Now(), limit: config.Workers, ended: make(chan struct{})}
}

// Lane gives the lane of a name, made when first asked for. Ask for all lanes before submitting: they count for the shares
// from then on.
func (p *Pool) Lane(name string) *Lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lanes {
		if l.name == name {
			return l
		}
	}
	l := &Lane{name: name, recent: meter.New(time.Minute)}
	p.lanes = append(p.lanes, l)
	return l
}

// Drop takes a lane out of the shares: its topic is not consumed any more. Groups that wait in it are forgotten, and their
// messages not run; it gives the number of these. Running handlers go on.
func (p *Pool) Drop(l *Lane) (messages int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.lanes {
		if other == l {
			p.lanes = append(p.lanes[:i:i], p.lanes[i+1:]...)
		}
	}
	l.dropped = true
	messages = p.forget(l)
	p.dispatch(p.now())
	return messages
}

// forget empties a lane.
func (p *Pool) forget(l *Lane) (messages int) {
	for l.waiting.count > 0 {
		messages += l.waiting.at(0).to - l.waiting.at(0).from
		l.waiting.popFront()
	}
	p.waiting -= messages
	for _, w := range p.workers {
		if w.group != nil && w.group.Lane == l {
			from, to := w.take()
			messages += to - from
		}
	}
	return messages
}

// Submit hands a group over. Its messages are run in any order, groups of one lane begin in the order of their submission.
// Error: ErrClosed; then none of it runs.
func (p *Pool) Submit(g *Group) error {
	if g.Lane == nil || g.Run == nil || g.Len < 0 || g.Len > math.MaxInt32 {
		return fmt.Errorf("group of %d messages without a lane or a function", g.Len)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || g.Lane.dropped {
		return ErrClosed
	}
	if g.Len == 0 {
		return nil
	}
	g.Lane.waiting.pushBack(piece{group: g, to: g.Len})
	p.waiting += g.Len
	if p.running < p.limit {
		p.dispatch(p.now())
	}
	return nil
}

// Withdraw takes back what no handler has begun of a group: these messages will not be run. It gives their number. Handlers
// that run go on.
func (p *Pool) Withdraw(g *Group) (messages int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	messages = g.Lane.waiting.remove(g)
	p.waiting -= messages
	for _, w := range p.workers {
		if w.group == g {
			from, to := w.take()
			messages += to - from
		}
	}
	return messages
}

// SetWorkers changes the number of handlers that may run at once; at least one. If it falls, running handlers end first.
func (p *Pool) SetWorkers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = max(1, n)
	for len(p.parked) > 0 && len(p.workers) > p.limit {
		p.dismiss(p.unpark())
	}
	p.dispatch(p.now())
}

// Workers is the number of handlers that may run at once.
func (p *Pool) Workers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit
}

// Busy is the number of handlers that run.
func (p *Pool) Busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// Queued is the number of messages that wait for a worker, including those that a worker has taken and not begun.
func (p *Pool) Queued() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.waiting
	for _, w := range p.workers {
		if w.group != nil {
			next, end := unpack(w.claim.Load())
			n += end - next
		}
	}
	return n
}

// Mean is how long a message of a lane took on average in the last minute; 0 if none was run.
func (p *Pool) Mean(l *Lane) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(l.recent.Mean(p.now()) * float64(time.Second))
}

// Close takes no more groups, forgets what no handler has begun, and waits until the running handlers and all goroutines
// have ended or ctx ends; then it gives ctx's cause, and the goroutines end when their handlers do. It may be called again.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		for _, l := range p.lanes {
			p.forget(l)
		}
		// Lanes that were dropped may still have a worker.
		for _, w := range p.workers {
			w.take()
		}
		if p.watch != nil {
			p.watch.Stop()
		}
		for len(p.parked) > 0 {
			p.dismiss(p.unpark())
		}
		p.endIfEmpty()
	}
	p.mu.Unlock()
	select {
	case <-p.ended:
		return nil
	default:
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("worker pool: %d handlers still run: %w", p.Busy(), context.Cause(ctx))
	}
}

func (p *Pool) endIfEmpty() {
	if p.closed && len(p.workers) == 0 {
		close(p.ended)
	}
}

// unpark takes the worker that was parked last.
func (p *Pool) unpark() *worker {
	w := p.parked[len(p.parked)-1]
	p.parked[len(p.parked)-1] = nil
	p.parked = p.parked[:len(p.parked)-1]
	return w
}

// dismiss ends a parked worker.
func (p *Pool) dismiss(w *worker) {
	p.forgetWorker(w)
	close(w.wake)
}

func (p *Pool) forgetWorker(w *worker) {
	for i, other := range p.workers {
		if other == w {
			last := len(p.workers) - 1
			p.workers[i], p.workers[last] = p.workers[last], nil
			p.workers = p.workers[:last]
			return
		}
	}
}
