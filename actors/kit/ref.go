package kit

// Ref is an actor's address. It is comparable, usable from any goroutine, and stays valid, though of no use, after the
// actor has ended. The zero value is nobody.
type Ref struct{ cell *cell }

// Tell posts m to the actor, without a sender. It never blocks. A message to an actor that has ended becomes a dead letter; nil is
// refused and counted as EventNilMessage. Nobody takes messages without a trace, as no system is there to count them: in a turn use
// Context.Tell, which does.
func (r Ref) Tell(m Message) {
	if r.cell != nil {
		r.cell.mailbox.post(entry{m: m})
	}
}

// ID is the actor's path, e.g. client/group-billing/rebalancer; empty for nobody.
func (r Ref) ID() string {
	if r.cell == nil {
		return ""
	}
	return r.cell.id
}

// Role is the role the actor was spawned with; empty for nobody.
func (r Ref) Role() string {
	if r.cell == nil {
		return ""
	}
	return r.cell.spec.Role
}

// IsZero tells whether it is nobody.
func (r Ref) IsZero() bool { return r.cell == nil }

// Done is closed once the actor has ended, with all its children; it is closed for nobody.
func (r Ref) Done() <-chan struct{} {
	if r.cell == nil {
		return closed
	}
	return r.cell.done()
}

// String is the path.
func (r Ref) String() string { return r.ID() }

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
