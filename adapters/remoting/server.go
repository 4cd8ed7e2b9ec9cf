package remoting

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// ErrServerClosed is returned by Serve after Close.
var ErrServerClosed = errors.New("server closed")

// ServerConfig says what a Server does with requests. Defaults are those of NettyServerConfig.
type ServerConfig struct {
	// Handle serves one request. It runs on the session's reading goroutine, so requests of one connection are handled in the
	// order they came; it must not wait for anything the same session brings. A nil result means no answer now: it may follow
	// by Session.Send. One-way requests are never answered. A panic is answered with SYSTEM_ERROR. Required.
	Handle func(*Session, *wire.Command) *wire.Command
	// Opened is told of a new session before its first request; Closed of its end, after its last. nil: nobody is told.
	Opened func(*Session)
	Closed func(*Session)
	// TLS makes the server accept TLS beside plain connections, told apart by their first byte (TlsModeHandler, permissive).
	// nil: plain only.
	TLS *tls.Config
	// TLSOnly closes plain connections (mode enforcing). Needs TLS.
	TLSOnly bool
	// Idle closes a connection on which nothing was read or written for that long; 0: 120 s.
	Idle time.Duration
	// Log gets at most two lines a minute about sessions that ended badly; nil: silent.
	Log logrus.FieldLogger
}

// Server answers requests on the connections that its listeners accept. All methods may be called from any goroutine.
type Server struct {
	cfg     ServerConfig
	limits  limits
	wheel   *wheel
	ids     atomic.Int64
	opaque  atomic.Int32
	running sync.WaitGroup // goroutines of sessions and Serve
	lines   lineLimit
	stop    chan struct{} // closed by Close
	ended   chan struct{}

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	sessions  map[*Session]struct{}
	closed    bool
}

// NewServer makes a server, which listens to nothing yet. It has to be closed.
func NewServer(cfg ServerConfig) *Server {
	if cfg.Idle == 0 {
		cfg.Idle = 120 * time.Second
	}
	return &Server{
		cfg:       cfg,
		limits:    limits{idle: cfg.Idle, halfOpen: 30 * time.Second},
		wheel:     newWheel(),
		stop:      make(chan struct{}),
		ended:     make(chan struct{}),
		listeners: map[net.Listener]struct{}{},
		sessions:  map[*Session]struct{}{},
	}
}

// Serve accepts connections until the listener fails or Close is called, which gives ErrServerClosed. The listener is closed
// in any case. Several listeners may be served at a time.
func (s *Server) Serve(l net.Listener) error {
	if !s.enter(l) {
		_ = l.Close() // it was never in use
		return ErrServerClosed
	}
	defer s.leave(l)
	pause := time.Duration(0)
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = 0
			s.open(conn)
			continue
		}
		if s.isClosed() {
			return ErrServerClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		// Out of file descriptors, or the client left before it was accepted: go on, slowly.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.stop:
			timer.Stop()
			return ErrServerClosed
		}
	}
}

func (s *Server) enter(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.listeners[l] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *Server) leave(l net.Listener) {
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	_ = l.Close() // it failed, or Close has closed it
	s.running.Done()
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// open starts a session on a fresh connection.
func (s *Server) open(raw net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = raw.Close() // nobody has used it
		return
	}
	x := &Session{id: s.ids.Add(1), server: s, raw: raw}
	s.sessions[x] = struct{}{}
	s.running.Add(1)
	go x.run()
}

// CloseSessions closes every connection and goes on serving.
func (s *Server) CloseSessions() {
	s.mu.Lock()
	sessions := make([]*Session, 0, len(s.sessions))
	for x := range s.sessions {
		sessions = append(sessions, x)
	}
	s.mu.Unlock()
	for _, x := range sessions {
		x.Close()
	}
}

// Close closes the listeners and every connection and waits for all goroutines of the Server; Closed has been called for
// every session then. It must not be called from Handle, Opened or Closed.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	if first {
		s.closed = true
		close(s.stop)
		for l := range s.listeners {
			_ = l.Close() // its Serve ends either way
		}
	}
	s.mu.Unlock()
	if !first {
		<-s.ended
		return nil
	}
	s.CloseSessions()
	s.running.Wait()
	s.wheel.stop()
	close(s.ended)
	return nil
}
