// Package pollbuffer keeps what a pull group has pulled and its caller has not polled yet: a line of pulls for each queue, from
// which the caller gets one pull at a time, and what was handed out and is not finished. It is a pure data structure; everything
// in it may be used from any goroutine.
package pollbuffer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// Reasons why nothing is given, or why what was given does not count.
var (
	// ErrPolling: another Take is under way in a buffer for one caller.
	ErrPolling = errors.New("another Poll is under way")
	// ErrRevoked: the batch's queue was given up after it was handed out.
	ErrRevoked = errors.New("queue revoked")
	// ErrOutdated: the batch's queue was put at another offset after it was handed out.
	ErrOutdated = errors.New("batch outdated: its queue was put at another offset")
)

// Buffer has the lines of one group.
type Buffer struct {
	// auto finishes what was handed out when the caller comes for more.
	auto bool

	mu sync.Mutex
	// ready are the lines that have something to give, in the order in which it is their turn.
	ready fifo[*Line]
	// handed is what an auto buffer gave last.
	handed *Handed
	closed error
	// wake has a token when somebody who waits should look again.
	wake    chan struct{}
	waiting int

	messages atomic.Int64
	lastTake atomic.Int64
}

// New makes a buffer. With auto it is for one caller, whose next Take finishes what the last one gave.
func New(auto bool) *Buffer { return &Buffer{auto: auto, wake: make(chan struct{}, 1)} }

// Messages is how many messages wait in all lines.
func (b *Buffer) Messages() int64 { return b.messages.Load() }

// Facts tells how many callers wait in Take, how many queues have something to give, and when something was given last.
func (b *Buffer) Facts() (waiting, ready int, last time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := b.lastTake.Load(); at != 0 {
		last = time.UnixMilli(at)
	}
	return b.waiting, b.ready.len(), last
}

// Take gives the oldest pull of the queue whose turn it is, and waits until there is one. In an auto buffer it finishes what it
// gave before, whatever it returns. The messages are those of the pull that the subscription wants, in offset order. Errors: ctx's,
// ErrPolling, that of Close.
func (b *Buffer) Take(ctx context.Context) (*Handed, []*messages.Message, error) {
	b.mu.Lock()
	if b.auto {
		if b.waiting > 0 {
			b.mu.Unlock()
			return nil, nil, ErrPolling
		}
		if h := b.handed; h != nil {
			b.handed = nil
			if h.finish() {
				b.mu.Unlock()
				h.line.settled()
				b.mu.Lock()
			}
		}
	}
	b.waiting++
	for {
		if b.closed != nil || ctx.Err() != nil {
			b.waiting--
			err := b.closed
			if err == nil {
				err = ctx.Err()
			}
			b.passOn()
			b.mu.Unlock()
			return nil, nil, err
		}
		if h, ms, settled := b.next(); h != nil {
			b.waiting--
			if b.auto {
				b.handed = h
			}
			b.passOn()
			b.mu.Unlock()
			b.lastTake.Store(time.Now().UnixMilli())
			if settled {
				h.line.settled()
			}
			return h, ms, nil
		}
		b.mu.Unlock()
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
}

// next takes from the line whose turn it is; with the lock held. settled says that the window's owner must look.
func (b *Buffer) next() (h *Handed, ms []*messages.Message, settled bool) {
	if b.ready.len() == 0 {
		return nil, nil, false
	}
	l := b.ready.take()
	l.ready = false
	h, ms, settled = l.take()
	b.offer(l)
	return h, ms, settled
}

// offer puts a line at the end of those that have something to give; with the lock held.
func (b *Buffer) offer(l *Line) {
	if l.ready || !l.gives() {
		return
	}
	l.ready = true
	b.ready.add(l)
	b.passOn()
}

// withdraw takes a line out of those; with the lock held.
func (b *Buffer) withdraw(l *Line) {
	if !l.ready {
		return
	}
	l.ready = false
	b.ready.remove(l)
}

// passOn wakes somebody who waits, if there is a reason to; with the lock held.
func (b *Buffer) passOn() {
	if b.waiting == 0 || b.ready.len() == 0 && b.closed == nil {
		return
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Leave says that the caller will not come back for more: what an auto buffer gave last stays unfinished.
func (b *Buffer) Leave() {
	b.mu.Lock()
	h := b.handed
	b.handed = nil
	var line *Line
	if h != nil && h.state == open {
		h.abandoned = true
		line = h.line
	}
	b.mu.Unlock()
	if line != nil {
		line.settled()
	}
}

// Close ends every Take, now and later, with an error. What was handed out can still be finished.
func (b *Buffer) Close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed == nil {
		b.closed = err
	}
	b.passOn()
}
