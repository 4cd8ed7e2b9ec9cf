package memnet

import (
	"net"
	"sync"
)

// Listener accepts connections; see Network.Listen.
type Listener struct {
	network *Network
	addr    addr
	backlog []*Conn
	arrived *sync.Cond
	closed  bool
}

// Accept waits for a connection; net.ErrClosed after Close.
func (l *Listener) Accept() (net.Conn, error) {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	for len(l.backlog) == 0 {
		if l.closed {
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
		}
		l.arrived.Wait()
	}
	c := l.backlog[0]
	l.backlog = l.backlog[1:]
	return c, nil
}

// Close ends Accept and frees the address. Connections not yet accepted are reset, accepted ones live on.
func (l *Listener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	if l.closed {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
	l.closed = true
	if l.network.listeners[string(l.addr)] == l {
		delete(l.network.listeners, string(l.addr))
	}
	for _, c := range l.backlog {
		c.resetLocked()
	}
	l.backlog = nil
	l.arrived.Broadcast()
	return nil
}

// Addr is the address that is listened at.
func (l *Listener) Addr() net.Addr { return l.addr }
