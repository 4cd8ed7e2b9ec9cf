package memnet

import "time"

// Refuse makes dials to an address fail at once, as a closed port does, until Accept. Connections that exist live on.
func (n *Network) Refuse(address string) { n.set(n.refused, address, true) }

// Accept ends Refuse.
func (n *Network) Accept(address string) { n.set(n.refused, address, false) }

// Blackhole makes every packet from and to an address vanish without a word, until Heal: dials hang, writes fill buffers,
// reads wait. What was written meanwhile arrives after Heal, as TCP would send it again.
func (n *Network) Blackhole(address string) { n.set(n.holes, address, true) }

// Heal ends Blackhole.
func (n *Network) Heal(address string) { n.set(n.holes, address, false) }

// Partition is Blackhole between two addresses only, until Join.
func (n *Network) Partition(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]string{a, b}] = true
	n.cuts[[2]string{b, a}] = true
	n.wake()
}

// Join ends Partition.
func (n *Network) Join(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.cuts, [2]string{a, b})
	delete(n.cuts, [2]string{b, a})
	n.wake()
}

// Delay makes whatever is written from or to an address from now on arrive d later; 0 ends it. Bytes keep their order.
func (n *Network) Delay(address string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d <= 0 {
		delete(n.delays, address)
		return
	}
	n.delays[address] = d
}

// Cut resets every connection with an end at the address, as a reset packet does: reads and writes on both sides fail at
// once, also through a black hole, and bytes under way are lost. It returns the number of connections. New dials are not
// affected.
func (n *Network) Cut(address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	hit := 0
	for c := range n.conns {
		if !c.reset && (c.at(address) || c.peer.at(address)) {
			hit++
			c.resetLocked()
		}
	}
	return hit
}

// CutAll resets every connection of the network.
func (n *Network) CutAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		c.resetLocked()
	}
}

// Dials tells how often an address has been dialled, whatever came of it.
func (n *Network) Dials(address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[address]
}

// Connections tells how many open connections have their far end, as seen by the dialling side, at the address.
func (n *Network) Connections(address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	open := 0
	for c := range n.conns {
		if string(c.local) == address && !c.closed {
			open++
		}
	}
	return open
}

func (n *Network) set(in map[string]bool, address string, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if on {
		in[address] = true
	} else {
		delete(in, address)
	}
	n.wake()
}

// wake makes everything that waits look at the faults again; n.mu is held.
func (n *Network) wake() {
	n.changed.Broadcast()
	for c := range n.conns {
		c.in.moved.Broadcast()
		c.out.moved.Broadcast()
	}
}
