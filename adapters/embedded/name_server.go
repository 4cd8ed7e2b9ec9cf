package embedded

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// NameServerConfig describes a name server of its own, for clusters of several brokers.
type NameServerConfig struct {
	// Listen is the TCP address; "" means 127.0.0.1:0. Listener, if set, is used instead.
	Listen   string
	Listener net.Listener
	TLS      *tls.Config
	// Log gets what happens on connections; nil: silence.
	Log logrus.FieldLogger
}

// NameServer tells clients which broker serves which topic. Brokers of this package register in it directly: a topic is
// in its routes at the moment it exists, a broker is out of them at the moment it stops.
type NameServer struct {
	cfg    NameServerConfig
	faults *Faults
	events *events

	mu       sync.Mutex
	brokers  map[brokerKey]*registration
	kv       map[string]map[string]string
	endpoint *endpoint
	addr     string
}

type brokerKey struct {
	name string
	id   int64
}

// registration is what a broker tells a name server.
type registration struct {
	key     brokerKey
	cluster string
	addr    string
	topics  *topicTable
}

// StartNameServer starts a name server without a broker. The context bounds the start only.
func StartNameServer(ctx context.Context, cfg NameServerConfig) (*NameServer, error) {
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	n := newNameServer(cfg)
	if err := n.open(ctx, cfg.Listener, cfg.Listen); err != nil {
		return nil, err
	}
	return n, nil
}

func newNameServer(cfg NameServerConfig) *NameServer {
	n := &NameServer{cfg: cfg, events: &events{}, brokers: map[brokerKey]*registration{}, kv: map[string]map[string]string{}}
	n.faults = newFaults(n.drop)
	return n
}

func (n *NameServer) open(ctx context.Context, given net.Listener, address string) error {
	l, err := listen(ctx, given, address)
	if err != nil {
		return fmt.Errorf("name server: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.endpoint != nil {
		_ = l.Close() // not used
		return errors.New("name server: already serving")
	}
	n.addr = l.Addr().String()
	n.endpoint = serve(l, endpointConfig{tls: n.cfg.TLS, log: n.cfg.Log, faults: n.faults, events: n.events,
		handle: func(_ *connection, cmd *wire.Command) *wire.Command {
			if answer := n.answer(cmd); answer != nil {
				return answer
			}
			return unsupported(cmd)
		}})
	return nil
}

// Addr is host:port of the name server; it stays readable after Stop.
func (n *NameServer) Addr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addr
}

// Faults scripts what goes wrong with the name server's connections and answers.
func (n *NameServer) Faults() *Faults { return n.faults }

// Stop ends the service; routes are kept, since brokers stay registered. Idempotent.
func (n *NameServer) Stop() error {
	n.mu.Lock()
	e := n.endpoint
	n.endpoint = nil
	n.mu.Unlock()
	if e == nil {
		return nil
	}
	return e.close()
}

// Restart serves again after Stop: on the given listener, or at the same address if it is nil.
func (n *NameServer) Restart(ctx context.Context, listener net.Listener) error {
	return n.open(ctx, listener, n.Addr())
}

// Close is Stop for good.
func (n *NameServer) Close() error { return n.Stop() }

func (n *NameServer) drop() int {
	n.mu.Lock()
	e := n.endpoint
	n.mu.Unlock()
	if e == nil {
		return 0
	}
	return e.drop()
}

func (n *NameServer) register(r *registration) {
	n.mu.Lock()
	n.brokers[r.key] = r
	n.mu.Unlock()
	n.events.happened()
}

func (n *NameServer) unregister(r *registration) {
	n.mu.Lock()
	if n.brokers[r.key] == r {
		delete(n.brokers, r.key)
	}
	n.mu.Unlock()
	n.events.happened()
}

// registered lists the brokers by name and id.
func (n *NameServer) registered() []*registration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.brokers), func(a, b *registration) int {
		return cmp.Or(cmp.Compare(a.key.name, b.key.name), cmp.Compare(a.key.id, b.key.id))
	})
}
