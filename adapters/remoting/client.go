package remoting

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// maxServed is how many requests of one peer are served at a time; more are answered SYSTEM_BUSY.
const maxServed = 64

// Client carries requests to many addresses, over one connection each, which it makes on demand. After a failed dial the
// next one waits (1, 2, 3 s and some jitter), and requests meanwhile fail at once. All methods may be called from any goroutine.
type Client struct {
	cfg    ClientConfig
	limits limits
	wheel  *wheel
	opaque atomic.Int32
	late   atomic.Int64

	running sync.WaitGroup // goroutines of peers and of served requests
	cancel  context.CancelFunc
	context func() context.Context // ends with Close

	mu     sync.RWMutex
	peers  map[string]*peer
	closed bool
	ended  chan struct{}
}

// NewClient makes a client, which connects to nothing yet. It has to be closed.
func NewClient(cfg ClientConfig) *Client {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{
		cfg:     cfg,
		limits:  limits{idle: cfg.Idle, halfOpen: cfg.HalfOpen},
		wheel:   newWheel(),
		cancel:  cancel,
		context: func() context.Context { return ctx },
		peers:   map[string]*peer{},
		ended:   make(chan struct{}),
	}
}

// Begin sends x.Request and returns at once; to learns of the answer, or of a *messages.NetworkError. A timeout of 0 means
// none. After Close, to is told before Begin returns; else never on the caller's goroutine.
func (c *Client) Begin(address string, x *Exchange, timeout time.Duration, to Settler) {
	x.prepare(c.wheel, address, timeout, to)
	c.submit(address, x)
}

// Cancel gives an exchange up; its Settler is told soon unless it has been. An answer that comes later is ignored and counted.
func (c *Client) Cancel(x *Exchange) { x.fail(cancelled(x, nil)) }

func (c *Client) submit(address string, x *Exchange) {
	c.compose(x)
	p := c.peer(address)
	if p == nil {
		x.fail(notSent(x, errClosed))
		return
	}
	p.submit(x)
}

// compose makes a request ready to be written: what its Composer says, and a signature.
func (c *Client) compose(x *Exchange) {
	if composer, ok := x.to.(Composer); ok {
		composer.Compose(x)
	}
	if c.cfg.Sign != nil {
		c.cfg.Sign(&x.Request)
	}
}

// peer gives the peer of an address; nil after Close.
func (c *Client) peer(address string) *peer {
	c.mu.RLock()
	p := c.peers[address]
	c.mu.RUnlock()
	if p != nil {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if p = c.peers[address]; p == nil {
		p = &peer{client: c, addr: address, conns: map[*connection]struct{}{}}
		c.peers[address] = p
	}
	return p
}

// starter is the Settler behind Start.
type starter struct {
	Exchange
	done func(*wire.Command, error)
}

// Settled calls done.
func (s *starter) Settled(x *Exchange, err error) {
	if err != nil {
		s.done(nil, err)
		return
	}
	s.done(&x.Answer, nil)
}

// Start is Begin for a command and a function: done is called exactly once, on another goroutine, and must not block. cancel
// gives the request up.
func (c *Client) Start(address string, cmd *wire.Command, timeout time.Duration, done func(*wire.Command, error)) (cancel func()) {
	s := &starter{Exchange: Exchange{Request: *cmd}, done: done}
	c.Begin(address, &s.Exchange, timeout, s)
	return func() { c.Cancel(&s.Exchange) }
}

// Call sends a request and waits for the answer, the end of ctx or, if ctx has no deadline, CallTimeout. Errors are
// *messages.NetworkError; one caused by ctx also is that cause.
func (c *Client) Call(ctx context.Context, address string, cmd *wire.Command) (*wire.Command, error) {
	w := newWaiter(cmd)
	if err := c.wait(ctx, address, w); err != nil {
		return nil, err
	}
	return &w.Answer, nil
}

// OneWay hands over a request that is not answered. nil means that it lies in the connection's buffer, not that it arrived.
func (c *Client) OneWay(ctx context.Context, address string, cmd *wire.Command) error {
	w := newWaiter(cmd)
	w.oneWay = true
	w.Request.MarkOneWay()
	return c.wait(ctx, address, w)
}

func (c *Client) wait(ctx context.Context, address string, w *waiter) error {
	timeout := c.cfg.CallTimeout
	if _, ok := ctx.Deadline(); ok {
		timeout = 0
	}
	w.prepare(c.wheel, address, timeout, w)
	if ctx.Err() != nil {
		w.settle(nil, cancelled(&w.Exchange, context.Cause(ctx)))
		return w.err
	}
	c.submit(address, &w.Exchange)
	w.await(ctx)
	return w.err
}

// await waits until the exchange is settled, at the end of ctx by itself.
func (w *waiter) await(ctx context.Context) {
	select {
	case <-w.done:
		return
	case <-ctx.Done():
	}
	conn := w.conn.Load()
	if w.settle(nil, cancelled(&w.Exchange, context.Cause(ctx))) && conn != nil && ctx.Err() == context.DeadlineExceeded {
		conn.unanswered()
	}
	<-w.done
}

// Disconnect closes the connection to an address, if there is one. The next request to it makes a new one.
func (c *Client) Disconnect(address string, cause error) {
	c.mu.RLock()
	p := c.peers[address]
	c.mu.RUnlock()
	if p != nil {
		p.disconnect(cmp.Or(cause, errDisconnect))
	}
}

// Forget disconnects from an address in order, writing what was handed over, and drops all that is known of it.
func (c *Client) Forget(address string) {
	c.mu.Lock()
	p := c.peers[address]
	delete(c.peers, address)
	c.mu.Unlock()
	if p != nil {
		p.close(false)
	}
}

// Facts tells the state of every address in use, sorted by address.
func (c *Client) Facts() []*messages.ConnectionFacts {
	c.mu.RLock()
	peers := make([]*peer, 0, len(c.peers))
	for _, p := range c.peers {
		peers = append(peers, p)
	}
	c.mu.RUnlock()
	facts := make([]*messages.ConnectionFacts, len(peers))
	for i, p := range peers {
		facts[i] = p.facts()
	}
	slices.SortFunc(facts, func(a, b *messages.ConnectionFacts) int { return cmp.Compare(a.GetAddress(), b.GetAddress()) })
	return facts
}

// LateAnswers counts the answers that nobody waited for any more.
func (c *Client) LateAnswers() int64 { return c.late.Load() }

// Close closes every connection in order, writing what was handed over (1 s at most), ends what is pending with an error,
// and waits for every goroutine of the Client. It must not be called from a Settler, Changed or Requests.
func (c *Client) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	peers := c.peers
	c.peers = map[string]*peer{}
	c.mu.Unlock()
	if !first {
		<-c.ended
		return nil
	}
	c.cancel()
	for _, p := range peers {
		p.close(true)
	}
	c.running.Wait()
	c.wheel.stop()
	close(c.ended)
	return nil
}

// tell passes a change on.
func (c *Client) tell(address string, up bool, cause error) {
	if c.cfg.Changed != nil {
		c.cfg.Changed(address, up, cause)
	}
}

// connect opens one connection.
func (c *Client) connect(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	conn, err := c.cfg.Dial(ctx, "tcp", address)
	if err != nil || c.cfg.TLS == nil {
		return conn, err
	}
	cfg := c.cfg.TLS
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			_ = conn.Close() // the address was wrong; that is the error
			return nil, err
		}
		cfg = cfg.Clone()
		cfg.ServerName = host
	}
	secured := tls.Client(conn, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake's error is the one to tell
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secured, nil
}

// serve answers one request of a peer on a goroutine of its own.
func (c *Client) serve(ctx context.Context, address string, conn *connection, cmd *wire.Command, slots chan struct{}) {
	if c.cfg.Requests == nil {
		respond(conn, cmd, unsupported(cmd))
		return
	}
	select {
	case slots <- struct{}{}:
	default:
		respond(conn, cmd, wire.NewResponse(wire.SystemBusy, "[OVERLOAD] too many requests to the client at a time"))
		return
	}
	c.running.Add(1)
	go func() {
		defer c.running.Done()
		defer func() { <-slots }()
		respond(conn, cmd, guarded(func() *wire.Command { return c.cfg.Requests(ctx, address, cmd) }))
	}()
}
