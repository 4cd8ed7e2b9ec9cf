package workpool

import "time"

// look sets the timer of the watch. It runs only while some worker holds messages that it has not begun: not when the pool
// is idle, and not when messages come or go singly. The caller has the pool's lock.
func (p *Pool) look() {
	p.watching = true
	if p.watch == nil {
		p.watch = time.AfterFunc(p.config.SlowAfter, p.looked)
		return
	}
	p.watch.Reset(p.config.SlowAfter)
}

// looked takes away what workers hold behind a handler that has been running since the watch last looked, and hands it on
// message by message. No clock is read for a message: a claim that has not moved is one that is stuck.
func (p *Pool) looked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watching = false
	if p.closed {
		return
	}
	again, taken := false, false
	for _, w := range p.workers {
		if w.group == nil {
			continue
		}
		claim := w.claim.Load()
		if next, end := unpack(claim); next >= end {
			continue
		}
		if w.seenVisit != w.visits || w.seen != claim {
			w.seenVisit, w.seen = w.visits, claim
			again = true
			continue
		}
		if from, to := w.take(); from < to {
			w.group.Lane.waiting.pushFront(piece{group: w.group, from: from, to: to, single: true})
			p.waiting += to - from
			taken = true
		}
	}
	if taken {
		p.dispatch(p.now())
	}
	if again && !p.watching {
		p.look()
	}
}
