package remoting

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
)

const (
	// writeTimeout is how long one write may make no way before the connection is given up.
	writeTimeout = 30 * time.Second
	// flushTimeout bounds the last write of a connection that is being closed in order.
	flushTimeout = time.Second
	// maxBacklog is how many bytes may wait to be written.
	maxBacklog = 64 << 20
	// fullBacklog is how many bytes may wait before a peer's further requests are not read.
	fullBacklog = 4 << 20
	// keptBuffer is the largest write buffer that is used again.
	keptBuffer = 1 << 20
)

// limits are the silences after which a connection is closed.
type limits struct {
	idle     time.Duration // nothing read and nothing written
	halfOpen time.Duration // nothing read since a request timed out, and at least this long
}

// connection is one connection, either side's: frames out, coalesced; frames in; the requests that wait for an answer.
type connection struct {
	net    net.Conn
	wheel  *wheel
	limits limits
	watch  entry

	lastRead  atomic.Int64 // nanoseconds on the wheel's clock
	lastWrite atomic.Int64
	hasRead   atomic.Bool
	retired   atomic.Bool // a GO_AWAY came: no new requests
	made      int64
	late      atomic.Bool // a request timed out since the last read

	mu        sync.Mutex
	outgoing  *sync.Cond // something to write, or closed
	drained   *sync.Cond // less to write, or closed
	out       []byte
	spare     []byte
	finishing bool
	closed    bool
	cause     error
	pending   map[int32]*Exchange
	written   chan struct{} // closed when the writing goroutine has ended
}

// newConnection starts the writing goroutine; read has to be called for the rest, and ends it.
func newConnection(c net.Conn, w *wheel, l limits) *connection {
	k := &connection{net: c, wheel: w, limits: l, pending: map[int32]*Exchange{}, written: make(chan struct{})}
	k.outgoing, k.drained = sync.NewCond(&k.mu), sync.NewCond(&k.mu)
	k.watch.owner = k
	now := w.now()
	k.made = now
	k.lastRead.Store(now)
	k.lastWrite.Store(now)
	w.schedule(&k.watch, l.idle)
	go k.write()
	return k
}

// send writes an exchange's request and, unless it is one-way, notes it as waiting under the opaque given. An error means
// that nothing was sent; the exchange is then still the caller's.
func (c *connection) send(x *Exchange, opaque int32) error {
	c.mu.Lock()
	x.Request.Opaque = opaque
	if err := c.append(&x.Request); err != nil {
		c.mu.Unlock()
		return err
	}
	if _, ok := x.to.(Composer); ok {
		x.Request.Ext.Release()
	}
	if x.oneWay {
		c.mu.Unlock()
		x.settle(nil, nil)
		return nil
	}
	x.opaque.Store(opaque)
	x.conn.Store(c)
	c.pending[opaque] = x
	if x.settled.Load() { // meanwhile; the one who settled it may have looked before it was noted
		delete(c.pending, opaque)
	}
	c.mu.Unlock()
	return nil
}

// post writes a command that nothing waits for: an answer or a one-way request.
func (c *connection) post(cmd *wire.Command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.append(cmd)
}

// append encodes a command behind what waits to be written; c.mu is held.
func (c *connection) append(cmd *wire.Command) error {
	switch {
	case c.closed:
		return &goneError{c.cause}
	case c.finishing:
		return &goneError{errClosed}
	case len(c.out) > maxBacklog:
		return errBacklog
	}
	out, err := cmd.AppendFrame(c.out)
	if err != nil {
		return err
	}
	if len(c.out) == 0 {
		c.outgoing.Signal()
	}
	c.out = out
	return nil
}

// goneError says that a connection is closed and cannot take more.
type goneError struct{ cause error }

func (e *goneError) Error() string { return reasonOf(e.cause) }
func (e *goneError) Unwrap() error { return e.cause }

// forget takes a settled exchange out of the pending ones.
func (c *connection) forget(x *Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if opaque := x.opaque.Load(); c.pending[opaque] == x {
		delete(c.pending, opaque)
		if c.retired.Load() && len(c.pending) == 0 {
			c.closeLocked(errGoneAway)
		}
	}
}

// claim takes the exchange that an answer belongs to out of the pending ones; nil if there is none any more.
func (c *connection) claim(opaque int32) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.pending[opaque]
	delete(c.pending, opaque)
	return x
}

// waiting counts the requests without an answer.
func (c *connection) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// write sends what has gathered, again and again, until the connection is closed.
func (c *connection) write() {
	defer close(c.written)
	var bound time.Time
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.out) == 0 && !c.closed && !c.finishing {
			c.outgoing.Wait()
		}
		if c.closed {
			return
		}
		if len(c.out) == 0 {
			c.closeLocked(errClosed)
			return
		}
		b := c.out
		c.out, c.spare = c.spare[:0], nil
		c.mu.Unlock()
		if now := time.Now(); bound.Sub(now) < writeTimeout/2 {
			bound = now.Add(writeTimeout)
			_ = c.net.SetWriteDeadline(bound) // it fails on a closed connection only, and then the write does too
		}
		_, err := c.net.Write(b)
		c.lastWrite.Store(c.wheel.now())
		c.mu.Lock()
		if cap(b) <= keptBuffer {
			c.spare = b[:0]
		}
		c.drained.Broadcast()
		if err != nil {
			c.closeLocked(err)
		}
	}
}

// age tells how long the connection has lived.
func (c *connection) age() time.Duration { return time.Duration(c.wheel.now() - c.made) }

// keepUp waits while too much waits to be written, so that a peer that does not read is not served further.
func (c *connection) keepUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.out) > fullBacklog && !c.closed {
		c.drained.Wait()
	}
}

// read gives every decoded command to handle, until the connection ends; then it closes it, waits for the writing goroutine
// and returns the cause. The command is only lent to handle. What still waits for an answer is left to the caller; see orphans.
func (c *connection) read(handle func(*wire.Command)) error {
	frames := newFrameReader(c.net)
	var cmd wire.Command
	for {
		frame, err := frames.next()
		if err != nil {
			c.close(err)
			break
		}
		c.lastRead.Store(c.wheel.now())
		c.hasRead.Store(true)
		if c.late.Load() {
			c.late.Store(false)
		}
		if err = wire.DecodeCommand(frame, &cmd); err != nil {
			c.close(&undecodableError{err})
			break
		}
		handle(&cmd)
	}
	<-c.written
	c.wheel.remove(&c.watch)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// undecodableError says that a peer sent something that is not a command.
type undecodableError struct{ err error }

func (e *undecodableError) Error() string { return "undecodable frame: " + e.err.Error() }
func (e *undecodableError) Unwrap() error { return e.err }

// orphans takes out whatever still waits for an answer.
func (c *connection) orphans() []*Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := make([]*Exchange, 0, len(c.pending))
	for _, x := range c.pending {
		left = append(left, x)
	}
	clear(c.pending)
	return left
}

// close ends the connection at once; the first cause counts.
func (c *connection) close(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked(cause)
}

func (c *connection) closeLocked(cause error) {
	if c.closed {
		return
	}
	c.closed, c.cause = true, cause
	c.out, c.spare = nil, nil
	_ = c.net.Close() // the connection is given up; there is nothing to do about an error
	c.outgoing.Broadcast()
	c.drained.Broadcast()
}

// finish closes the connection once what waits has been written, in flushTimeout at most.
func (c *connection) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.finishing {
		return
	}
	c.finishing = true
	c.wheel.schedule(&c.watch, flushTimeout)
	c.outgoing.Broadcast()
}

// unanswered notes that a request timed out: together with silence that is the sign of a half-open connection.
func (c *connection) unanswered() {
	c.late.Store(true)
	c.expired()
}

// expired looks at the silences and closes the connection, or says when to look again. It runs on the wheel's goroutine and
// on that of a caller whose request timed out.
func (c *connection) expired() {
	now := c.wheel.now()
	read := c.lastRead.Load()
	idle := time.Duration(max(read, c.lastWrite.Load())+int64(c.limits.idle)-now) * time.Nanosecond
	if idle <= 0 {
		c.close(errIdle)
		return
	}
	again := idle
	if c.late.Load() {
		silent := time.Duration(read + int64(c.limits.halfOpen) - now)
		if silent <= 0 {
			c.close(errHalfOpen)
			return
		}
		again = min(again, silent)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.finishing:
		c.closeLocked(errClosed)
	case !c.closed:
		c.wheel.schedule(&c.watch, again)
	}
}

// expectedEnd tells whether a connection ended in the ordinary way, which is not worth a warning.
func expectedEnd(cause error) bool {
	return errors.Is(cause, errClosed) || errors.Is(cause, errIdle) || errors.Is(cause, errDisconnect)
}
