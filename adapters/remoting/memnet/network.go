package memnet

import (
	"context"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Network is one network. The zero value is not usable; see New. All methods may be called from any goroutine.
type Network struct {
	mu        sync.Mutex
	changed   *sync.Cond // faults or listeners changed
	listeners map[string]*Listener
	conns     map[*Conn]struct{}
	nextPort  int

	refused map[string]bool
	holes   map[string]bool
	cuts    map[[2]string]bool // partitions, both orders
	delays  map[string]time.Duration
	dials   map[string]int
}

// New makes a network without listeners and without faults.
func New() *Network {
	n := &Network{
		listeners: map[string]*Listener{},
		conns:     map[*Conn]struct{}{},
		nextPort:  40000,
		refused:   map[string]bool{},
		holes:     map[string]bool{},
		cuts:      map[[2]string]bool{},
		delays:    map[string]time.Duration{},
		dials:     map[string]int{},
	}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// Listen opens a listener at host:port; port 0 picks a free one. It fails if the address is taken.
func (n *Network) Listen(address string) (*Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == "0" {
		port = strconv.Itoa(n.port())
	}
	a := addr(net.JoinHostPort(host, port))
	if n.listeners[string(a)] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: a, Err: syscall.EADDRINUSE}
	}
	l := &Listener{network: n, addr: a}
	l.arrived = sync.NewCond(&n.mu)
	n.listeners[string(a)] = l
	n.changed.Broadcast()
	return l, nil
}

// port gives the next port; n.mu is held.
func (n *Network) port() int {
	n.nextPort++
	return n.nextPort
}

// Dial connects from 127.0.0.1. Its signature is that of net.Dialer.DialContext.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return n.dial(ctx, "127.0.0.1", network, address)
}

// Dialer gives a Dial whose connections come from the given host, so that faults can name that host.
func (n *Network) Dialer(host string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return n.dial(ctx, host, network, address)
	}
}

func (n *Network) dial(ctx context.Context, host, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: addr(address), Err: err}
	}
	stop := context.AfterFunc(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.changed.Broadcast()
	})
	defer stop()

	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials[address]++
	from := addr(net.JoinHostPort(host, strconv.Itoa(n.port())))
	for n.heldLocked(string(from), address) {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		n.changed.Wait()
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	l := n.listeners[address]
	if l == nil || n.matches(n.refused, address) {
		return fail(syscall.ECONNREFUSED)
	}
	out, back := newPipe(n), newPipe(n)
	near := &Conn{network: n, local: from, remote: l.addr, in: back, out: out}
	far := &Conn{network: n, local: l.addr, remote: from, in: out, out: back}
	near.peer, far.peer = far, near
	n.conns[near] = struct{}{}
	n.conns[far] = struct{}{}
	l.backlog = append(l.backlog, far)
	l.arrived.Signal()
	return near, nil
}

// matches tells whether a set names the address or its host.
func (n *Network) matches(set map[string]bool, address string) bool {
	if len(set) == 0 {
		return false
	}
	return set[address] || set[hostOf(address)]
}

// heldLocked tells whether packets between two ends vanish; n.mu is held.
func (n *Network) heldLocked(a, b string) bool {
	if n.matches(n.holes, a) || n.matches(n.holes, b) {
		return true
	}
	if len(n.cuts) == 0 {
		return false
	}
	for _, x := range []string{a, hostOf(a)} {
		for _, y := range []string{b, hostOf(b)} {
			if n.cuts[[2]string{x, y}] {
				return true
			}
		}
	}
	return false
}

// delayLocked gives the one-way delay between two ends; n.mu is held.
func (n *Network) delayLocked(a, b string) time.Duration {
	if len(n.delays) == 0 {
		return 0
	}
	return max(n.delays[a], n.delays[hostOf(a)], n.delays[b], n.delays[hostOf(b)])
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// addr is a net.Addr.
type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }
