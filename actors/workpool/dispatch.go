package workpool

import "time"

// All functions of this file run under the pool's lock, but now, and done and lost, which take it.

// now is the time since the pool was made.
func (p *Pool) now() time.Duration { return time.Since(p.made) }

// pick finds the lane that gets the next worker; nil if none may have one.
func (p *Pool) pick(now time.Duration) *Lane {
	free := p.limit - p.running
	if p.waiting == 0 || free <= 0 {
		return nil
	}
	share := max(1, p.limit/max(1, len(p.lanes)))
	kept := -1
	var best *Lane
	for _, l := range p.lanes {
		if l.waiting.count == 0 || best != nil && !l.before(best) {
			continue
		}
		if l.running >= share {
			if l.running >= share+l.completed {
				continue
			}
			if kept < 0 {
				kept = p.kept(now, share)
			}
			if free <= kept-p.keptFor(l, now, share) {
				continue
			}
		}
		best = l
	}
	return best
}

// before says which of two lanes with work is served first.
func (l *Lane) before(o *Lane) bool {
	if l.running != o.running {
		return l.running < o.running
	}
	return l.served < o.served
}

// kept is the number of workers that must not be lent, over all lanes.
func (p *Pool) kept(now time.Duration, share int) (n int) {
	for _, l := range p.lanes {
		n += p.keptFor(l, now, share)
	}
	return n
}

func (p *Pool) keptFor(l *Lane, now time.Duration, share int) int {
	if p.limit < 2*len(p.lanes) {
		return 0
	}
	return l.kept(now, share)
}

// claim gives a worker the next messages of a lane.
func (p *Pool) claim(w *worker, l *Lane, now time.Duration) {
	next := l.waiting.at(0)
	n := l.chunk(next, p.config.SlowAfter)
	w.group, w.from, w.since = next.group, next.from, now
	w.visits++
	w.claim.Store(pack(next.from, next.from+n))
	if next.from += n; next.from == next.to {
		l.waiting.popFront()
	}
	p.waiting -= n
	p.running++
	p.turn++
	l.served = p.turn
	l.begin(now)
	if n > 1 && !p.watching {
		p.look()
	}
}

// dispatch gives work to parked and new workers as long as there is work that may be run.
func (p *Pool) dispatch(now time.Duration) {
	for l := p.pick(now); l != nil; l = p.pick(now) {
		if len(p.parked) > 0 {
			w := p.unpark()
			p.claim(w, l, now)
			w.wake <- struct{}{}
			continue
		}
		w := &worker{pool: p, ctx: p.config.Context(), wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		p.claim(w, l, now)
		go w.loop()
	}
}

// leave takes a worker out of its lane.
func (p *Pool) leave(w *worker, now time.Duration) {
	next, _ := unpack(w.claim.Load())
	w.group.Lane.end(now, next-w.from, now-w.since, p.config.SlowAfter, p.limit)
	w.group = nil
	p.running--
}

// done ends a claim, gives the worker the next one or parks it until there is one. It is false if the worker is to end.
func (p *Pool) done(w *worker) (more bool) {
	now := p.now()
	p.mu.Lock()
	p.leave(w, now)
	if p.closed || len(p.workers) > p.limit {
		p.forgetWorker(w)
		p.endIfEmpty()
		p.mu.Unlock()
		return false
	}
	if l := p.pick(now); l != nil {
		p.claim(w, l, now)
		// What this lane has completed may let it borrow, and what this worker has left may be enough for others.
		p.dispatch(now)
		p.mu.Unlock()
		return true
	}
	p.parked = append(p.parked, w)
	p.mu.Unlock()
	_, more = <-w.wake
	return more
}

// lost replaces a worker whose goroutine was ended by user code. The message at which that happened counts as completed.
func (p *Pool) lost(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, g := w.group.Lane, w.group
	if from, to := w.take(); from < to && !p.closed && !l.dropped {
		l.waiting.pushFront(piece{group: g, from: from, to: to})
		p.waiting += to - from
	}
	now := p.now()
	p.leave(w, now)
	p.forgetWorker(w)
	p.endIfEmpty()
	p.dispatch(now)
}
