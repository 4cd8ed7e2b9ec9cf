package meter

import "time"

// steps is the number of parts into which a window is divided: what is given is the sum of the last span, as exactly as a
// step.
const steps = 12

// Window sums counts and amounts over the last span. The zero Window is useless: make one with New. Not safe for concurrent
// use.
type Window struct {
	step  time.Duration
	slots [steps]slot
	// begun is when the first call was made.
	begun   time.Duration
	started bool
}

type slot struct {
	number int64 // of the step it belongs to
	count  int64
	amount float64
}

// New makes a window over a span, e.g. a minute.
func New(span time.Duration) *Window { return &Window{step: span / steps} }

// Start says when measuring began; rates of a window that is younger than its span are those of its life so far. Add does it
// if nobody did.
func (w *Window) Start(now time.Duration) {
	if !w.started {
		w.started, w.begun = true, now
	}
}

// Add notes n things with an amount in all. now is the time since any fixed moment and must not go back by more than a step.
func (w *Window) Add(now time.Duration, n int64, amount float64) {
	w.Start(now)
	number := int64(now / w.step)
	s := &w.slots[number%steps]
	if s.number != number {
		*s = slot{number: number}
	}
	s.count += n
	s.amount += amount
}

// Sum gives count and amount of the last span.
func (w *Window) Sum(now time.Duration) (count int64, amount float64) {
	oldest := int64(now/w.step) - steps + 1
	for i := range w.slots {
		if s := &w.slots[i]; s.number >= oldest {
			count += s.count
			amount += s.amount
		}
	}
	return count, amount
}

// PerSecond gives the count a second over the last span, or since the start if that is later; never over less than a second.
func (w *Window) PerSecond(now time.Duration) float64 {
	count, _ := w.Sum(now)
	over := min(w.step*steps, now-w.begun)
	return float64(count) / max(over.Seconds(), 1)
}

// Mean gives the amount of one thing over the last span; 0 if there was none.
func (w *Window) Mean(now time.Duration) float64 {
	count, amount := w.Sum(now)
	if count == 0 {
		return 0
	}
	return amount / float64(count)
}
