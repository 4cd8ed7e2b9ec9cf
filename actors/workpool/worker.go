package workpool

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// worker is one goroutine that runs handlers. Its fields are guarded by the pool's lock, except claim.
type worker struct {
	pool *Pool
	ctx  context.Context
	wake chan struct{}
	// group and its lane, and the first message of what the worker claimed; nil while it is parked.
	group *Group
	from  int
	// claim holds the next message to run in its upper half and the end in its lower one. The worker counts the upper half
	// up before it runs a message; others take from the end, under the pool's lock.
	claim atomic.Uint64
	// visits counts claims, and since is when the present one began.
	visits uint64
	since  time.Duration
	// seenVisit and seen are what the watch last saw.
	seenVisit, seen uint64
}

func pack(next, end int) uint64 { return uint64(next)<<32 | uint64(end) }

func unpack(claim uint64) (next, end int) { return int(claim >> 32), int(claim & (1<<32 - 1)) }

// loop runs claims until the pool has no use for the worker.
func (w *worker) loop() {
	returned := false
	defer func() {
		if !returned {
			// User code ended the goroutine (runtime.Goexit).
			w.pool.lost(w)
		}
	}()
	for {
		for !w.visit() {
		}
		if !w.pool.done(w) {
			break
		}
	}
	returned = true
}

// visit runs what the worker claimed. It is false if a panic got out of a message: then there may be more to run.
func (w *worker) visit() (ended bool) {
	defer func() {
		if ended {
			return
		}
		if v := recover(); v != nil {
			w.pool.config.Panicked(v, debug.Stack())
		}
	}()
	run, ctx := w.group.Run, w.ctx
	for {
		claim := w.claim.Load()
		next, end := unpack(claim)
		if next >= end {
			return true
		}
		if w.claim.CompareAndSwap(claim, pack(next+1, end)) {
			run(ctx, next)
		}
	}
}

// take gives what the worker claimed and has not begun to somebody else: messages from to to, none if from == to.
func (w *worker) take() (from, to int) {
	for {
		claim := w.claim.Load()
		next, end := unpack(claim)
		if next >= end {
			return end, end
		}
		if w.claim.CompareAndSwap(claim, pack(next, next)) {
			return next, end
		}
	}
}
