package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// connection is one client's connection to an endpoint.
type connection struct {
	session *remoting.Session
}

// address gives host:port of the client.
func (c *connection) address() string { return c.session.RemoteAddr().String() }

// endpoint serves one port: it accepts, lets the script of faults act and hands requests on.
type endpoint struct {
	listener net.Listener
	server   *remoting.Server
	faults   *Faults
	events   *events
	handle   func(*connection, *wire.Command) *wire.Command
	gone     func(*connection)

	mu    sync.Mutex
	conns map[*remoting.Session]*connection

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// endpointConfig is what a broker and a name server give alike.
type endpointConfig struct {
	tls    *tls.Config
	log    logrus.FieldLogger
	faults *Faults
	events *events
	handle func(*connection, *wire.Command) *wire.Command
	gone   func(*connection)
}

// listen opens a TCP listener unless one is given.
func listen(ctx context.Context, given net.Listener, address string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}

// serve starts an endpoint on a listener that it owns from now on.
func serve(l net.Listener, cfg endpointConfig) *endpoint {
	ctx, cancel := context.WithCancel(context.Background())
	e := &endpoint{
		listener: l, faults: cfg.faults, events: cfg.events, handle: cfg.handle, gone: cfg.gone,
		conns: map[*remoting.Session]*connection{}, ctx: ctx, cancel: cancel,
	}
	e.server = remoting.NewServer(remoting.ServerConfig{Handle: e.serveRequest, Opened: e.opened, Closed: e.closed, TLS: cfg.tls, TLSOnly: cfg.tls != nil, Log: cfg.log})
	e.wg.Add(1)
	go func() {
		defer e.wg.Done()
		// The error is the listener's end; whoever closed it knows.
		_ = e.server.Serve(&gate{Listener: l, faults: cfg.faults})
	}()
	return e
}

// close ends all connections and waits for all goroutines.
func (e *endpoint) close() error {
	e.cancel()
	err := e.server.Close()
	if cerr := e.listener.Close(); err == nil && !errors.Is(cerr, net.ErrClosed) {
		err = cerr
	}
	e.wg.Wait()
	return err
}

func (e *endpoint) opened(s *remoting.Session) {
	e.mu.Lock()
	e.conns[s] = &connection{session: s}
	e.mu.Unlock()
	e.events.happened()
}

// connection gives the endpoint's record of a session.
func (e *endpoint) connection(s *remoting.Session) *connection {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.conns[s]
}

func (e *endpoint) closed(s *remoting.Session) {
	e.mu.Lock()
	c := e.conns[s]
	delete(e.conns, s)
	e.mu.Unlock()
	if c != nil && e.gone != nil {
		e.gone(c)
	}
	e.events.happened()
}

// count tells how many connections there are.
func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.conns)
}

// alive tells whether a connection is still there.
func (e *endpoint) alive(c *connection) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.conns[c.session] == c
}

// drop closes every connection.
func (e *endpoint) drop() int {
	e.mu.Lock()
	sessions := make([]*remoting.Session, 0, len(e.conns))
	for s := range e.conns {
		sessions = append(sessions, s)
	}
	e.mu.Unlock()
	for _, s := range sessions {
		s.Close()
	}
	return len(sessions)
}

// serveRequest lets the script act, then the room that serves.
func (e *endpoint) serveRequest(s *remoting.Session, cmd *wire.Command) *wire.Command {
	c := e.connection(s)
	fault, hit := e.faults.meet(cmd)
	defer e.events.happened()
	if !hit {
		return e.handle(c, cmd)
	}
	if fault.Delay <= 0 {
		return e.misbehave(c, cmd, fault)
	}
	e.wg.Add(1)
	go func() {
		defer e.wg.Done()
		timer := time.NewTimer(fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-e.ctx.Done():
			return
		}
		if !e.alive(c) {
			return // its groups have been told that it is gone
		}
		answer := e.misbehave(c, cmd, fault)
		if answer != nil && !cmd.IsOneWay() {
			c.answer(cmd.Opaque, answer)
		}
		e.events.happened()
	}()
	return nil
}

func (e *endpoint) misbehave(c *connection, cmd *wire.Command, fault Fault) *wire.Command {
	switch {
	case fault.Silent:
		return nil
	case fault.Drop:
		c.session.Close()
		return nil
	case fault.LoseAnswer:
		cmd.MarkOneWay()
		e.handle(c, cmd)
		c.session.Close()
		return nil
	case fault.Answer != 0:
		return wire.NewResponse(fault.Answer, fault.Remark)
	}
	return e.handle(c, cmd)
}

// answer sends an answer to the request with that opaque beside the usual way; a connection that is gone needs none.
func (c *connection) answer(opaque int32, response *wire.Command) {
	response.Opaque = opaque
	response.MarkResponse()
	_ = c.session.Send(response) // fails only when the connection is gone, and then nobody waits
}

// gate is a listener that refuses connections while the script says so.
type gate struct {
	net.Listener
	faults *Faults
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil || !g.faults.refuse.Load() {
			return conn, err
		}
		_ = conn.Close() // refused: nothing was said yet
	}
}
