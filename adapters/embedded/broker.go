package embedded

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// ErrStopped is the error of methods that need a broker that serves.
var ErrStopped = errors.New("broker stopped")

// Broker is a RocketMQ broker, and its own name server unless it registers with another. What a real broker has on disk
// outlives Stop and Restart: messages, topics, group configurations, offsets, the progress of delayed messages and of transactions. What a real
// broker has in memory does not: members, queue locks, held pulls. All methods may be called from any goroutine.
type Broker struct {
	cfg     Config
	store   store
	topics  *topicTable
	groups  *groupTable
	offsets *offsetTable
	delays  *delayProgress
	halves  sync.Mutex // half messages and what became of them change together
	faults  *Faults
	events  *events
	ids     *wire.UniqueIDs

	nameServer *NameServer
	ownNames   bool // the name server shares the broker's port

	mu       sync.RWMutex
	life     *incarnation // nil while stopped
	closed   bool
	perm     int32
	suggest  int64
	hostPort netip.AddrPort
	addr     string // of the listener
	route    string // what routes say
}

// Start starts a broker; the context bounds the start only. Close ends it.
func Start(ctx context.Context, cfg Config) (*Broker, error) {
	cfg = cfg.withDefaults()
	b := &Broker{
		cfg:        cfg,
		store:      newMemoryStore(),
		topics:     newTopicTable(!cfg.NoTopicCreation),
		groups:     newGroupTable(!cfg.NoGroupCreation),
		offsets:    newOffsetTable(),
		delays:     newDelayProgress(len(cfg.DelayLevels)),
		events:     &events{},
		nameServer: cfg.NameServer,
		perm:       wire.PermRead | wire.PermWrite,
	}
	b.faults = newFaults(b.dropConnections)
	b.ids = wire.NewUniqueIDs(netip.AddrFrom4([4]byte{127, 0, 0, 1}), os.Getpid(), rand.Uint32(), nil)
	if b.nameServer == nil {
		b.nameServer, b.ownNames = newNameServer(NameServerConfig{}), true
	}
	if err := b.start(ctx, cfg.Listener, cfg.Listen); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Broker) start(ctx context.Context, given net.Listener, address string) error {
	l, err := listen(ctx, given, address)
	if err != nil {
		return fmt.Errorf("broker %s: %w", b.cfg.BrokerName, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.life != nil {
		_ = l.Close() // not used
		if b.closed {
			return fmt.Errorf("broker %s: closed", b.cfg.BrokerName)
		}
		return fmt.Errorf("broker %s: already serving", b.cfg.BrokerName)
	}
	b.addr = l.Addr().String()
	b.route = b.addr
	if b.cfg.Advertise != "" {
		b.route = b.cfg.Advertise
	}
	b.hostPort = hostOf(b.route)
	b.life = newIncarnation(b, l)
	return nil
}

// hostOf reads host:port; a host that is not an IP address becomes 127.0.0.1, since stored messages have room for
// addresses only.
func hostOf(address string) netip.AddrPort {
	if ap, err := netip.ParseAddrPort(address); err == nil {
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPortFrom(loopback, 0)
	}
	var n uint16
	if _, err := fmt.Sscanf(port, "%d", &n); err != nil {
		n = 0
	}
	return netip.AddrPortFrom(loopback, n)
}

// Addr is host:port of the listener; it stays readable after Stop.
func (b *Broker) Addr() string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.addr
}

// Name is the broker's name in routes.
func (b *Broker) Name() string { return b.cfg.BrokerName }

// NameServer is where the broker is registered; its own if Config named none.
func (b *Broker) NameServer() *NameServer { return b.nameServer }

// Faults scripts what goes wrong with the broker's connections and answers, and counts requests.
func (b *Broker) Faults() *Faults { return b.faults }

// Stop ends the service as a killed process would: connections break, held pulls get no answer, members and locks are
// forgotten, routes no longer name the broker. It returns when nothing of it runs any more. Idempotent.
func (b *Broker) Stop() error {
	b.mu.Lock()
	life := b.life
	b.life = nil
	b.mu.Unlock()
	if life == nil {
		return nil
	}
	err := life.end()
	b.events.happened()
	return err
}

// Restart serves again after Stop with everything a real broker keeps on disk: on the given listener, or at the same
// address if it is nil. The context bounds the start only.
func (b *Broker) Restart(ctx context.Context, listener net.Listener) error {
	return b.RestartAt(ctx, listener, b.Addr())
}

// RestartAt is Restart at another address; it counts only if listener is nil.
func (b *Broker) RestartAt(ctx context.Context, listener net.Listener, address string) error {
	return b.start(ctx, listener, address)
}

// Close ends the broker for good and waits for all its goroutines. Idempotent.
func (b *Broker) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return errors.Join(b.Stop(), b.store.close())
}

// running gives the present incarnation, nil while stopped.
func (b *Broker) running() *incarnation {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.life
}

func (b *Broker) dropConnections() int {
	if life := b.running(); life != nil {
		return life.endpoint.drop()
	}
	return 0
}

// SetPermission says whether the broker lets clients read and write at all (brokerPermission). Both are on at first.
func (b *Broker) SetPermission(read, write bool) {
	var perm int32
	if read {
		perm |= wire.PermRead
	}
	if write {
		perm |= wire.PermWrite
	}
	b.mu.Lock()
	b.perm = perm
	b.mu.Unlock()
}

// SuggestBroker is the broker id that pull answers suggest for the next pull; 0, the master, at first.
func (b *Broker) SuggestBroker(id int64) {
	b.mu.Lock()
	b.suggest = id
	b.mu.Unlock()
}

func (b *Broker) permission() (perm int32, suggest int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.perm, b.suggest
}

// host is the broker's address as stored messages carry it.
func (b *Broker) host() []byte {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return messages.HostBytes(b.hostPort)
}

// ip is the broker's address without its port, as some remarks name it.
func (b *Broker) ip() string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.hostPort.Addr().String()
}
