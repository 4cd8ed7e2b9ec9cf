package remoting

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// handshakeTimeout bounds how long a fresh connection may take to show whether it speaks TLS, and to finish the handshake.
const handshakeTimeout = 10 * time.Second

// Session is one client's connection to a Server. All methods may be called from any goroutine.
type Session struct {
	id     int64
	server *Server
	raw    net.Conn

	mu     sync.Mutex
	conn   *connection // nil during the handshake
	closed bool
}

// ID is unique within the Server.
func (s *Session) ID() int64 { return s.id }

// RemoteAddr is the client's address.
func (s *Session) RemoteAddr() net.Addr { return s.raw.RemoteAddr() }

// LocalAddr is the address the client connected to.
func (s *Session) LocalAddr() net.Addr { return s.raw.LocalAddr() }

// Send writes a command that nothing waits for: a one-way request, or a late answer whose opaque and response flag the caller
// has set. nil means that it lies in the connection's buffer. It never blocks.
func (s *Session) Send(cmd *wire.Command) error {
	conn := s.connection()
	if conn == nil {
		return s.fault(cmd, errClosed)
	}
	if err := conn.post(cmd); err != nil {
		if errors.Is(err, errBacklog) {
			conn.close(errBacklog)
		}
		return s.fault(cmd, err)
	}
	return nil
}

func (s *Session) fault(cmd *wire.Command, err error) error {
	return &messages.NetworkError{Request: requestName(cmd), Address: s.RemoteAddr().String(), Reason: reasonOf(err), NotSent: true}
}

// Request asks the client and waits for its answer, the end of ctx or, if ctx has no deadline, 10 s, which is what a broker
// waits for a client (Broker2Client). It must not be called from Handle of the same session.
func (s *Session) Request(ctx context.Context, cmd *wire.Command) (*wire.Command, error) {
	conn := s.connection()
	if conn == nil {
		return nil, s.fault(cmd, errClosed)
	}
	timeout := 10 * time.Second
	if _, ok := ctx.Deadline(); ok {
		timeout = 0
	}
	w := newWaiter(cmd)
	w.prepare(s.server.wheel, s.RemoteAddr().String(), timeout, w)
	if err := conn.send(&w.Exchange, s.server.opaque.Add(1)); err != nil {
		w.settle(nil, s.fault(cmd, err))
	}
	w.await(ctx)
	if w.err != nil {
		return nil, w.err
	}
	return &w.Answer, nil
}

// Close closes the connection at once. It does not wait; the Server's Closed tells the end.
func (s *Session) Close() {
	s.mu.Lock()
	conn := s.conn
	s.closed = true
	s.mu.Unlock()
	if conn != nil {
		conn.close(errClosed)
		return
	}
	_ = s.raw.Close() // the handshake ends by it
}

func (s *Session) connection() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// run serves the session until its connection ends.
func (s *Session) run() {
	defer s.server.running.Done()
	defer s.drop()
	secured, err := s.handshake()
	if err == nil {
		err = s.start(secured)
	}
	if err != nil {
		_ = s.raw.Close() // it is unusable
		s.report(err)
		return
	}
	cfg := &s.server.cfg
	if cfg.Opened != nil {
		cfg.Opened(s)
	}
	cause := s.conn.read(s.handle)
	for _, x := range s.conn.orphans() {
		x.settle(nil, lost(x, cause))
	}
	s.report(cause)
	if cfg.Closed != nil {
		cfg.Closed(s)
	}
}

func (s *Session) drop() {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	delete(s.server.sessions, s)
}

// start takes the connection into use.
func (s *Session) start(c net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.conn = newConnection(c, s.server.wheel, s.server.limits)
	return nil
}

// handle serves one command of the client.
func (s *Session) handle(cmd *wire.Command) {
	if cmd.IsResponse() {
		if x := s.conn.claim(cmd.Opaque); x != nil {
			x.settle(cmd, nil)
		}
		return
	}
	request := new(wire.Command)
	*request = *cmd
	respond(s.conn, request, guarded(func() *wire.Command { return s.server.cfg.Handle(s, request) }))
	s.conn.keepUp()
}

// report logs an end that is worth it.
func (s *Session) report(cause error) {
	var bad *undecodableError
	if !errors.As(cause, &bad) && !errors.Is(cause, errBacklog) && !errors.Is(cause, errPlain) {
		return
	}
	if log := s.server.lines.allow(s.server.cfg.Log); log != nil {
		log.WithField("client", s.RemoteAddr().String()).WithField("reason", reasonOf(cause)).Warn("session closed")
	}
}

var errPlain = errors.New("plain connection where TLS is required")

// tlsHello is the first byte of a TLS connection.
const tlsHello = 0x16

// handshake tells TLS from plain connections by the first byte and gives the connection to use. Without TLS configured it
// does not wait for that byte; a hello is then told by the frame's length.
func (s *Session) handshake() (net.Conn, error) {
	cfg := &s.server.cfg
	if cfg.TLS == nil {
		return s.raw, nil
	}
	if err := s.raw.SetReadDeadline(time.Now().Add(s.server.limits.idle)); err != nil {
		return nil, err
	}
	peeked := &peekedConn{Conn: s.raw, r: bufio.NewReaderSize(s.raw, 512)}
	first, err := peeked.r.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] != tlsHello {
		if cfg.TLSOnly {
			return nil, errPlain
		}
		return peeked, s.raw.SetReadDeadline(time.Time{})
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	secured := tls.Server(peeked, cfg.TLS)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secured, s.raw.SetReadDeadline(time.Time{})
}

// peekedConn is a connection whose first bytes have been looked at.
type peekedConn struct {
	net.Conn
	r *bufio.Reader
}

// Read gives the bytes that were looked at, then the rest.
func (p *peekedConn) Read(b []byte) (int, error) { return p.r.Read(b) }
