package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// bufferSize is how many bytes one direction holds before a writer waits.
const bufferSize = 256 << 10

// Conn is one end of a connection. It implements net.Conn.
type Conn struct {
	network       *Network
	local, remote addr
	peer          *Conn
	in, out       *pipe

	// Guarded by network.mu.
	closed, reset bool
	readBy        deadline
	writeBy       deadline
}

// pipe is one direction. All fields are guarded by the network's mutex.
type pipe struct {
	moved    *sync.Cond
	segments []segment
	size     int
	lastDue  time.Time
	finished bool      // the writer closed
	finDue   time.Time // when the reader may learn that
}

type segment struct {
	data []byte
	due  time.Time // zero: at once
}

func newPipe(n *Network) *pipe { return &pipe{moved: sync.NewCond(&n.mu)} }

// deadline is a point in time with the timer that wakes waiters when it comes.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

// Read waits for bytes, the end of the stream, a reset, or the read deadline.
func (c *Conn) Read(p []byte) (int, error) {
	n := c.network
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.fault("read", net.ErrClosed)
		case c.reset:
			return 0, c.fault("read", syscall.ECONNRESET)
		case c.readBy.passed():
			return 0, c.fault("read", os.ErrDeadlineExceeded)
		}
		if len(p) == 0 {
			return 0, nil
		}
		var due time.Time
		if !n.heldLocked(string(c.local), string(c.remote)) {
			if len(c.in.segments) > 0 {
				if due = c.in.segments[0].due; !time.Now().Before(due) {
					return c.in.take(p), nil
				}
			} else if c.in.finished {
				if due = c.in.finDue; !time.Now().Before(due) {
					return 0, io.EOF
				}
			}
		}
		c.in.wait(due)
	}
}

// take copies what is there and due; the network's mutex is held and at least one segment is due.
func (p *pipe) take(b []byte) int {
	now := time.Now()
	done := 0
	for done < len(b) && len(p.segments) > 0 && !now.Before(p.segments[0].due) {
		s := &p.segments[0]
		k := copy(b[done:], s.data)
		done += k
		if s.data = s.data[k:]; len(s.data) == 0 {
			p.segments[0] = segment{}
			p.segments = p.segments[1:]
		}
	}
	p.size -= done
	p.moved.Broadcast()
	return done
}

// wait sleeps until something moves or, if due is set, until then; the network's mutex is held.
func (p *pipe) wait(due time.Time) {
	if !due.IsZero() {
		t := time.AfterFunc(time.Until(due), func() {
			p.moved.L.Lock()
			defer p.moved.L.Unlock()
			p.moved.Broadcast()
		})
		defer t.Stop()
	}
	p.moved.Wait()
}

// Write buffers bytes for the other side; it waits while the buffer is full.
func (c *Conn) Write(p []byte) (int, error) {
	n := c.network
	n.mu.Lock()
	defer n.mu.Unlock()
	done := 0
	for {
		held := n.heldLocked(string(c.local), string(c.remote))
		switch {
		case c.closed:
			return done, c.fault("write", net.ErrClosed)
		case c.reset:
			return done, c.fault("write", syscall.ECONNRESET)
		case c.writeBy.passed():
			return done, c.fault("write", os.ErrDeadlineExceeded)
		case c.peer.closed && !held:
			return done, c.fault("write", syscall.EPIPE)
		case done == len(p):
			return done, nil
		}
		room := bufferSize - c.out.size
		if room <= 0 {
			c.out.moved.Wait()
			continue
		}
		k := min(room, len(p)-done)
		c.out.push(p[done:done+k], n.delayLocked(string(c.local), string(c.remote)))
		done += k
	}
}

func (p *pipe) push(b []byte, delay time.Duration) {
	p.segments = append(p.segments, segment{data: append([]byte(nil), b...), due: p.dueAfter(delay)})
	p.size += len(b)
	p.moved.Broadcast()
}

// dueAfter gives the time at which something sent now arrives: never before what was sent earlier.
func (p *pipe) dueAfter(delay time.Duration) time.Time {
	if delay > 0 {
		if due := time.Now().Add(delay); due.After(p.lastDue) {
			p.lastDue = due
		}
	}
	return p.lastDue
}

// Close ends this side: the other side reads what was written and then io.EOF.
func (c *Conn) Close() error {
	n := c.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.closed {
		return c.fault("close", net.ErrClosed)
	}
	c.closed = true
	c.out.finished = true
	c.out.finDue = c.out.dueAfter(n.delayLocked(string(c.local), string(c.remote)))
	c.stopTimers()
	delete(n.conns, c)
	c.in.moved.Broadcast()
	c.out.moved.Broadcast()
	return nil
}

// at tells whether this end is at an address or host.
func (c *Conn) at(address string) bool {
	return address == string(c.local) || address == hostOf(string(c.local))
}

// resetLocked breaks both ends; the network's mutex is held.
func (c *Conn) resetLocked() {
	c.reset, c.peer.reset = true, true
	for _, p := range []*pipe{c.in, c.out} {
		p.segments, p.size = nil, 0
		p.moved.Broadcast()
	}
}

// stopTimers forgets the deadlines; the network's mutex is held.
func (c *Conn) stopTimers() {
	for _, d := range []*deadline{&c.readBy, &c.writeBy} {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
}

func (c *Conn) fault(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// LocalAddr is this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the other end's address.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines; the zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline bounds present and future reads.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.readBy, c.in, t) }

// SetWriteDeadline bounds present and future writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.writeBy, c.out, t) }

func (c *Conn) setDeadline(d *deadline, p *pipe, t time.Time) error {
	n := c.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.closed {
		return c.fault("set", net.ErrClosed)
	}
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	if !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			p.moved.Broadcast()
		})
	}
	p.moved.Broadcast()
	return nil
}
