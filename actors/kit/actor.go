package kit

import "github.com/troupe-mq/troupe/messages"

// Actor is one member of the cast. Receive is called for one message at a time, from changing goroutines, and must not
// block; c is valid until it returns. A panic in it is a failure of the actor and is treated by its Strategy.
type Actor interface {
	Receive(c *Context, m Message)
}

// Spec says how an actor comes to be and how it is treated.
type Spec struct {
	// Role is what kind of actor it is, e.g. "puller".
	Role string
	// Name is unique among the siblings, not empty and without a slash. It becomes the last part of the actor's path.
	Name string
	// New makes an instance, at the start and at each restart, in the actor's own turn. It has no side effects: resources
	// are taken in Started. A panic in it, or nil, is a failure like any other.
	New func() Actor
	// Strategy is how this actor is treated when it panics. The zero value is the default strategy.
	Strategy Strategy
	// Facts tells what the topology shows of the actor beyond the kernel's own numbers. It may be nil. It is called from
	// any goroutine and must not block.
	Facts func() []*messages.Fact
	// Phase is the actor's own word for its state, e.g. "revoking". It may be nil. It is called from any goroutine and must
	// not block.
	Phase func() string
}
