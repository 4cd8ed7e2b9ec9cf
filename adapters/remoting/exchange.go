package remoting

import (
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// Settler learns how an Exchange ended.
type Settler interface {
	// Settled is called exactly once. If err is nil, x.Answer holds the answer, whose body may be kept. It runs on a goroutine
	// that others wait for and must not block.
	Settled(x *Exchange, err error)
}

// Composer is a Settler that composes its request itself, so that the request's ext fields need not be kept while it waits for
// an answer, half a minute perhaps: they are given back once they are written.
type Composer interface {
	Settler
	// Compose sets the ext fields of x.Request, which are empty. It is called on the goroutine of Begin, and once more, on one
	// that others wait for, if the broker answers GO_AWAY.
	Compose(x *Exchange)
}

// Exchange is one request and its answer, in memory that the caller provides, usually as part of something larger, so that a
// request on a hot path costs one allocation. An Exchange is used once, and not copied.
type Exchange struct {
	// Request to be sent; not to be changed after Begin.
	Request wire.Command
	// Answer, valid once settled without an error.
	Answer wire.Command

	to      Settler
	wheel   *wheel
	timer   entry
	address string
	settled atomic.Bool
	conn    atomic.Pointer[connection]
	opaque  atomic.Int32
	oneWay  bool
	resent  bool
}

// prepare makes the exchange ready to be sent; a time-out of 0 means none.
func (x *Exchange) prepare(w *wheel, address string, timeout time.Duration, to Settler) {
	x.to, x.wheel, x.address = to, w, address
	if timeout > 0 {
		x.timer.owner = x
		w.schedule(&x.timer, timeout)
	}
}

// settle ends the exchange, unless it has ended. The answer is nil if there is none; it comes from the one who claimed the
// exchange from its connection.
func (x *Exchange) settle(answer *wire.Command, err error) bool {
	if !x.settled.CompareAndSwap(false, true) {
		return false
	}
	if answer != nil {
		x.Answer = *answer
	}
	if x.timer.owner != nil {
		x.wheel.remove(&x.timer)
	}
	if c := x.conn.Load(); c != nil && answer == nil {
		c.forget(x)
	}
	x.to.Settled(x, err)
	return true
}

// fail ends the exchange soon, from the wheel's goroutine.
func (x *Exchange) fail(err error) {
	x.wheel.post(func() { x.settle(nil, err) })
}

// expired runs when the time-out passes.
func (x *Exchange) expired() {
	c := x.conn.Load()
	if x.settle(nil, timedOut(x)) && c != nil {
		c.unanswered()
	}
}

// waiter is a Settler that somebody waits on.
type waiter struct {
	Exchange
	done chan struct{}
	err  error
}

func newWaiter(cmd *wire.Command) *waiter {
	return &waiter{Exchange: Exchange{Request: *cmd}, done: make(chan struct{})}
}

// Settled wakes the one who waits.
func (w *waiter) Settled(_ *Exchange, err error) {
	w.err = err
	close(w.done)
}
