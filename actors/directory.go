package actors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-mq/troupe/messages"
)

const masterID int64 = 0

// Directory is where routes and broker addresses are looked up. RouteKeeper alone writes it; anybody may read it, from any
// goroutine, without waiting: readers see an immutable snapshot.
type Directory struct {
	snapshot atomic.Pointer[directorySnapshot]

	mu      sync.Mutex
	changed chan struct{}
}

type directorySnapshot struct {
	routes    map[string]*messages.TopicRoute
	failures  map[string]error
	brokers   map[string]*messages.BrokerAddresses
	addresses []string
}

// NewDirectory makes an empty one.
func NewDirectory() *Directory {
	d := &Directory{changed: make(chan struct{})}
	d.snapshot.Store(&directorySnapshot{})
	return d
}

// Route gives the last good route of a topic, or nil and the last failure; nil and nil if there is no answer yet.
func (d *Directory) Route(topic string) (*messages.TopicRoute, error) {
	s := d.snapshot.Load()
	if r := s.routes[topic]; r != nil {
		return r, nil
	}
	return nil, s.failures[topic]
}

// Address finds a member of a broker set as Java does: the id asked for, for a slave else the next id, else any.
func (d *Directory) Address(broker string, id int64) (address string, found int64, ok bool) {
	b := d.snapshot.Load().brokers[broker]
	if b == nil || len(b.GetAddresses()) == 0 {
		return "", 0, false
	}
	if a, ok := b.GetAddresses()[id]; ok {
		return a, id, true
	}
	if id != masterID {
		if a, ok := b.GetAddresses()[id+1]; ok {
			return a, id + 1, true
		}
	}
	least := slices.Min(slices.Collect(maps.Keys(b.GetAddresses())))
	return b.GetAddresses()[least], least, true
}

// Beside gives the member of a broker set that follows the one with the id, the first after the last; false if there is no other.
func (d *Directory) Beside(broker string, id int64) (address string, found int64, ok bool) {
	b := d.snapshot.Load().brokers[broker]
	ids := slices.Sorted(maps.Keys(b.GetAddresses()))
	if len(ids) < 2 {
		return "", 0, false
	}
	found = ids[(slices.Index(ids, id)+1)%len(ids)]
	return b.GetAddresses()[found], found, true
}

// Master gives the address of a broker's master.
func (d *Directory) Master(broker string) (string, bool) {
	b := d.snapshot.Load().brokers[broker]
	a, ok := b.GetAddresses()[masterID]
	return a, ok
}

// BrokerAt gives the name of the broker set that has an address.
func (d *Directory) BrokerAt(address string) (broker string, ok bool) {
	for name, b := range d.snapshot.Load().brokers {
		for _, a := range b.GetAddresses() {
			if a == address {
				return name, true
			}
		}
	}
	return "", false
}

// MembersOf gives the addresses of a broker set, the master's first, then by id.
func (d *Directory) MembersOf(broker string) (addresses []string) {
	b := d.snapshot.Load().brokers[broker]
	for _, id := range slices.Sorted(maps.Keys(b.GetAddresses())) {
		addresses = append(addresses, b.GetAddresses()[id])
	}
	return addresses
}

// Addresses gives every known broker address, sorted.
func (d *Directory) Addresses() []string { return d.snapshot.Load().addresses }

// BrokersOf gives the addresses of each broker set of a topic, masters first where known, in route order.
func (d *Directory) BrokersOf(topic string) (sets [][]string) {
	r, _ := d.Route(topic)
	for _, b := range r.GetBrokers() {
		if members := d.MembersOf(b.GetBroker()); len(members) > 0 {
			sets = append(sets, members)
		}
	}
	return sets
}

// AwaitRoute returns the route of a topic as soon as there is one, whatever failures come before.
func (d *Directory) AwaitRoute(ctx context.Context, topic string) (*messages.TopicRoute, error) {
	for {
		d.mu.Lock()
		changed := d.changed
		d.mu.Unlock()
		r, err := d.Route(topic)
		if r != nil {
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// Await returns the route of a topic as soon as there is an answer; the failure if that is what the answer was.
func (d *Directory) Await(ctx context.Context, topic string) (*messages.TopicRoute, error) {
	for {
		d.mu.Lock()
		changed := d.changed
		d.mu.Unlock()
		if r, err := d.Route(topic); r != nil || err != nil {
			return r, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// publish replaces the snapshot; called by RouteKeeper in its turn.
func (d *Directory) publish(s *directorySnapshot) {
	d.snapshot.Store(s)
	d.mu.Lock()
	close(d.changed)
	d.changed = make(chan struct{})
	d.mu.Unlock()
}
