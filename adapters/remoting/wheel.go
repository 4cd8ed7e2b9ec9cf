package remoting

import (
	"math/bits"
	"sync"
	"time"
)

const (
	// wheelTick is how coarse time-outs are: they come up to one tick late, never early.
	wheelTick = 25 * time.Millisecond
	// wheelSlots bounds how far ahead an entry lies at once; later ones are put off again when their slot comes.
	wheelSlots = 4096
)

// wheel is a timer wheel with one goroutine. An entry costs no memory of its own and no timer; with nothing due soon the
// goroutine sleeps until the next slot that holds something.
type wheel struct {
	start time.Time
	wake  chan struct{}

	mu      sync.Mutex
	slots   [wheelSlots]*entry
	used    [wheelSlots / 64]uint64
	done    int64 // ticks up to this one have been looked at
	sleeps  int64 // the tick until which the goroutine sleeps; 0: it does not
	posted  []func()
	stopped bool
	ended   chan struct{}
}

// entry is one time-out, embedded in what it belongs to.
type entry struct {
	next, prev *entry
	tick       int64
	slot       int64
	armed      bool
	owner      expirer
}

// expirer is what an entry belongs to. expired runs on the wheel's goroutine and must not block.
type expirer interface{ expired() }

func newWheel() *wheel {
	w := &wheel{start: time.Now(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go w.run()
	return w
}

// now gives nanoseconds since the wheel's start.
func (w *wheel) now() int64 { return int64(time.Since(w.start)) }

// schedule arms an entry; an armed one is moved.
func (w *wheel) schedule(e *entry, after time.Duration) {
	due := w.now() + int64(max(after, 0))
	tick := (due + int64(wheelTick) - 1) / int64(wheelTick)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(e)
	e.tick = max(tick, w.done+1)
	w.link(e)
	if w.sleeps != 0 && e.tick < w.sleeps {
		w.stir()
	}
}

// remove disarms an entry. If it is just expiring, its owner is still told.
func (w *wheel) remove(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(e)
}

// post runs f soon on the wheel's goroutine; on the caller's once the wheel has stopped.
func (w *wheel) post(f func()) {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		f()
		return
	}
	w.posted = append(w.posted, f)
	w.stir()
	w.mu.Unlock()
}

// stop ends the goroutine after what was posted, and waits for it. Armed entries never expire.
func (w *wheel) stop() {
	w.mu.Lock()
	w.stopped = true
	w.stir()
	w.mu.Unlock()
	<-w.ended
}

// stir wakes the goroutine; w.mu is held.
func (w *wheel) stir() {
	w.sleeps = 0
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// link puts an entry into its slot, or into the farthest one; w.mu is held.
func (w *wheel) link(e *entry) {
	s := min(e.tick, w.done+wheelSlots-1) % wheelSlots
	e.slot, e.prev, e.next, e.armed = s, nil, w.slots[s], true
	if e.next != nil {
		e.next.prev = e
	}
	w.slots[s] = e
	w.used[s/64] |= 1 << (s % 64)
}

// unlink takes an entry out; w.mu is held.
func (w *wheel) unlink(e *entry) {
	if !e.armed {
		return
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else if w.slots[e.slot] = e.next; e.next == nil {
		w.used[e.slot/64] &^= 1 << (e.slot % 64)
	}
	e.next, e.prev, e.armed = nil, nil, false
}

// next gives the tick of the first slot after done that holds something; w.mu is held.
func (w *wheel) next() (int64, bool) {
	first := (w.done + 1) % wheelSlots
	for i := int64(0); i <= wheelSlots/64; i++ {
		word := (first/64 + i) % (wheelSlots / 64)
		set := w.used[word]
		if i == 0 {
			set &= ^uint64(0) << (first % 64)
		}
		if set != 0 {
			slot := word*64 + int64(bits.TrailingZeros64(set))
			return w.done + 1 + (slot-first+wheelSlots)%wheelSlots, true
		}
	}
	return 0, false
}

func (w *wheel) run() {
	defer close(w.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var due []*entry
	for {
		w.mu.Lock()
		posted := w.posted
		w.posted = nil
		current := w.now() / int64(wheelTick)
		due = w.collect(current, due[:0])
		if len(posted) == 0 && len(due) == 0 {
			if w.stopped {
				w.mu.Unlock()
				return
			}
			tick, some := w.next()
			w.sleeps = tick
			if !some {
				w.sleeps = 1<<63 - 1
			}
			w.mu.Unlock()
			if some {
				timer.Reset(time.Duration(tick*int64(wheelTick) - w.now()))
			} else {
				timer.Stop()
			}
			select {
			case <-timer.C:
			case <-w.wake:
			}
			continue
		}
		w.mu.Unlock()
		for _, f := range posted {
			f()
		}
		for i, e := range due {
			due[i] = nil
			e.owner.expired()
		}
	}
}

// collect takes out what is due up to a tick; entries from beyond the horizon are put in again. w.mu is held.
func (w *wheel) collect(current int64, due []*entry) []*entry {
	if w.stopped {
		return due
	}
	for w.done < current {
		tick, some := w.next()
		if !some || tick > current {
			w.done = current
			break
		}
		w.done = tick
		for e := w.slots[tick%wheelSlots]; e != nil; {
			next := e.next
			w.unlink(e)
			if e.tick <= current {
				due = append(due, e)
			} else {
				w.link(e)
			}
			e = next
		}
	}
	w.sleeps = 0
	return due
}
