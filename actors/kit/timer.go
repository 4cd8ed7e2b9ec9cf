package kit

import (
	"sync/atomic"
	"time"
)

// Timer is one message to come. The timer itself travels through the mailbox and is asked again on delivery, so that a stop
// is final even if the time is over and the message queued.
type Timer struct {
	cell        *cell
	m           Message
	incarnation int64
	over        atomic.Bool
	timer       *time.Timer
	prev, next  *Timer // the cell's list of pending timers, under its mutex
}

// Stop makes sure that the message is not delivered any more, and tells whether it prevented that: false means that it has
// been delivered or the timer was stopped before. It may be called from any goroutine, but only a call in the actor's own turn
// excludes that the message is being processed right now. A nil timer is stopped.
func (t *Timer) Stop() bool {
	if t == nil || !t.over.CompareAndSwap(false, true) {
		return false
	}
	t.cell.timers.remove(t)
	return true
}

// fire runs on the runtime's timer goroutine.
func (t *Timer) fire() {
	if t.cell.timers.remove(t) {
		t.cell.mailbox.post(entry{m: t})
	}
}
