package remoting

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

const (
	// firstBackOff and lastBackOff bound the pause after a failed dial: 1, 2, 3, 3 … s, plus up to a quarter of jitter.
	firstBackOff = time.Second
	lastBackOff  = 3 * time.Second
	// shortLife is how long a connection has to live, or to bring something, for its end not to count as a failed dial.
	shortLife = time.Second
)

// peer is one address of a Client: its connection, or the way to the next one.
type peer struct {
	client *Client
	addr   string
	lines  lineLimit

	mu        sync.Mutex
	conn      *connection              // takes new requests; nil if there is none
	conns     map[*connection]struct{} // all that live, also those a GO_AWAY has retired
	dialing   bool
	closed    bool
	quiet     bool        // closed with the client: nobody is told
	waiting   []*Exchange // for the connection that is being made
	failures  int
	notBefore time.Time
	lastErr   error // of the last dial or connection; nil while one is up
}

// submit sends an exchange over the connection, which it has made if need be. It never blocks and never settles on the
// caller's goroutine, but for one-way requests.
func (p *peer) submit(x *Exchange) {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			x.fail(notSent(x, errClosed))
			return
		}
		conn := p.conn
		if conn == nil {
			p.queue(x)
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()

		err := conn.send(x, p.client.opaque.Add(1))
		if err == nil {
			return
		}
		var gone *goneError
		if !errors.As(err, &gone) {
			x.fail(notSent(x, err))
			return
		}
		p.mu.Lock()
		if p.conn == conn && !p.closed { // its goroutine is about to notice
			p.waiting = append(p.waiting, x)
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

// queue puts an exchange in line for a new connection, or fails it if one has just been refused; p.mu is held.
func (p *peer) queue(x *Exchange) {
	if !p.dialing {
		if time.Now().Before(p.notBefore) {
			x.fail(notSent(x, p.lastErr))
			return
		}
		p.dial()
	}
	p.waiting = append(p.waiting, x)
}

// dial starts the goroutine that makes a connection and then reads from it; p.mu is held and p is not closed.
func (p *peer) dial() {
	p.dialing = true
	p.client.running.Add(1)
	go p.run(p.client.context())
}

func (p *peer) run(ctx context.Context) {
	defer p.client.running.Done()
	raw, err := p.client.connect(ctx, p.addr)
	if err != nil {
		p.refused(err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, waiting := p.connected(raw)
	if conn == nil {
		return
	}
	p.client.tell(p.addr, true, nil)
	for _, x := range waiting {
		if !x.settled.Load() {
			p.submit(x)
		}
	}
	slots := make(chan struct{}, maxServed)
	cause := conn.read(func(cmd *wire.Command) {
		if cmd.IsResponse() {
			p.answered(conn, cmd)
			return
		}
		request := new(wire.Command)
		*request = *cmd
		p.client.serve(ctx, p.addr, conn, request, slots)
	})
	p.ended(conn, cause)
}

// connected takes a fresh connection into use and gives what waits for it; nil if the peer was closed meanwhile.
func (p *peer) connected(raw net.Conn) (*connection, []*Exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing = false
	if p.closed {
		_ = raw.Close() // nobody has used it
		return nil, nil
	}
	conn := newConnection(raw, p.client.wheel, p.client.limits)
	p.conn, p.lastErr = conn, nil
	p.conns[conn] = struct{}{}
	waiting := p.waiting
	p.waiting = nil
	if log := p.lines.allow(p.client.cfg.Log); log != nil {
		log.WithField("address", p.addr).Debug("connected")
	}
	return conn, waiting
}

// refused notes a failed dial, fails what waited for it and puts the next one off.
func (p *peer) refused(err error) {
	p.mu.Lock()
	p.dialing = false
	waiting := p.waiting
	p.waiting = nil
	if !p.closed {
		p.backOff(err)
		if log := p.lines.allow(p.client.cfg.Log); log != nil {
			log.WithField("address", p.addr).WithField("reason", reasonOf(err)).Warn("cannot connect")
		}
	} else {
		err = errClosed
	}
	p.mu.Unlock()
	for _, x := range waiting {
		x.settle(nil, notSent(x, err))
	}
}

// backOff notes a failure; p.mu is held.
func (p *peer) backOff(err error) {
	pause := min(firstBackOff<<min(p.failures, 8), lastBackOff)
	pause += time.Duration(float64(pause) * 0.25 * p.client.cfg.Jitter())
	p.failures++
	p.lastErr = err
	p.notBefore = time.Now().Add(pause)
}

// answered hands an answer to its exchange. GO_AWAY retires the connection and sends the request once more over a new one
// (NettyRemotingClient).
func (p *peer) answered(conn *connection, cmd *wire.Command) {
	x := conn.claim(cmd.Opaque)
	if x == nil {
		p.client.late.Add(1)
		return
	}
	if cmd.Code == int32(wire.GoAway) && !x.resent {
		x.resent = true
		p.retire(conn)
		x.conn.Store(nil)
		if !x.settled.Load() {
			if _, ok := x.to.(Composer); ok {
				p.client.compose(x)
			}
			p.submit(x)
		}
	} else if !x.settle(cmd, nil) {
		p.client.late.Add(1)
	}
	if conn.retired.Load() && conn.waiting() == 0 {
		conn.close(errGoneAway)
	}
}

// retire takes a connection out of use for new requests; those that wait on it may still be answered.
func (p *peer) retire(conn *connection) {
	p.mu.Lock()
	current := p.conn == conn
	if current {
		p.conn, p.lastErr = nil, errGoneAway
		conn.retired.Store(true)
	}
	p.mu.Unlock()
	if current {
		p.client.tell(p.addr, false, errGoneAway)
	}
}

// ended cleans up behind a connection: its requests fail, and what has come in meanwhile gets a new one.
func (p *peer) ended(conn *connection, cause error) {
	p.mu.Lock()
	delete(p.conns, conn)
	current := p.conn == conn
	quiet := p.quiet
	if current && !quiet {
		log := p.lines.allow(p.client.cfg.Log)
		if log != nil {
			log = log.WithField("address", p.addr).WithField("reason", reasonOf(cause))
			if expectedEnd(cause) {
				log.Debug("connection closed")
			} else {
				log.Warn("connection lost")
			}
		}
	}
	p.mu.Unlock()
	if current && !quiet {
		p.client.tell(p.addr, false, cause)
	}

	p.mu.Lock()
	var refused []*Exchange
	if current {
		p.conn = nil
		p.failures, p.notBefore, p.lastErr = 0, time.Time{}, cause
		if !conn.hasRead.Load() && conn.age() < shortLife && !expectedEnd(cause) {
			p.backOff(cause)
		}
		if len(p.waiting) > 0 && !p.closed {
			if time.Now().Before(p.notBefore) {
				refused, p.waiting = p.waiting, nil
			} else {
				p.dial()
			}
		}
	}
	p.mu.Unlock()
	for _, x := range conn.orphans() {
		x.settle(nil, lost(x, cause))
	}
	for _, x := range refused {
		x.settle(nil, notSent(x, cause))
	}
}

// disconnect closes the connection; the next request makes a new one.
func (p *peer) disconnect(cause error) {
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	if conn != nil {
		conn.close(cause)
	}
}

// close ends the peer for good, in order: what was handed over for writing is still written.
func (p *peer) close(quiet bool) {
	p.mu.Lock()
	p.closed, p.quiet = true, quiet
	waiting := p.waiting
	p.waiting = nil
	for conn := range p.conns {
		conn.finish()
	}
	p.mu.Unlock()
	for _, x := range waiting {
		x.fail(notSent(x, errClosed))
	}
}

// facts tells the state of the address.
func (p *peer) facts() *messages.ConnectionFacts {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &messages.ConnectionFacts{Address: p.addr, Up: p.conn != nil, Pending: int64(len(p.waiting))}
	for conn := range p.conns {
		f.Pending += int64(conn.waiting())
	}
	if p.lastErr != nil {
		f.LastError = reasonOf(p.lastErr)
	}
	return f
}
