package kit

import "github.com/asynkron/protoactor-go/actor"

// lifecycle is the actor that the library sees. It gets the library's own messages only: user messages go from the mailbox
// straight to the instance.
type lifecycle struct{ *cell }

// Receive takes a step of the actor's life, in the turn.
func (c lifecycle) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.start(ctx)
	case *actor.Stopping:
		c.stopping()
	case *actor.Stopped:
		c.end()
	case *actor.Terminated:
		c.childStopped(m.Who.GetId())
	}
}

// start makes and starts a fresh instance. A panic in it is a failure.
func (c *cell) start(ctx actor.Context) {
	c.library = ctx
	c.incarnation++
	c.context = &Context{cell: c}
	c.probe.start(c.system.clock(), c.incarnation > 1)
	c.state.Store(stateAlive)
	if c.incarnation > 1 {
		e := c.event(EventRestarted, "")
		e.Incarnation = c.incarnation
		c.system.events.emit(e)
	}
	instance := c.spec.New()
	if instance == nil {
		panic("New returned nil")
	}
	c.instance = instance
	c.deliver(Started{}, nil)
}

// stopping says goodbye to the instance. What it started ends in any case, also if it panics.
func (c *cell) stopping() {
	c.state.Store(stateStopping)
	defer func() {
		c.endWork(ErrStopped)
		c.timers.clear(true)
	}()
	if c.instance != nil {
		c.probe.now(Stopping{})
		c.deliver(Stopping{}, nil)
	}
}

// end is the last thing that happens to an actor before its parent is told.
func (c *cell) end() {
	if c.state.Load() == stateStopped {
		return
	}
	c.instance = nil
	for _, e := range c.mailbox.close() {
		c.probe.skip()
		c.discard(e.m)
	}
	c.state.Store(stateStopped)
	c.context, c.library, c.log, c.spec.New, c.workCtx, c.cancelWork = nil, nil, nil, nil, nil, nil
	c.tells.Store(nil)
	c.ended()
}

// childStopped removes the child and tells the instance, if it is the one that spawned it.
func (c *cell) childStopped(id string) {
	child := c.system.tree.take(c, id)
	if child == nil || c.instance == nil {
		return
	}
	m := ChildStopped{Ref: Ref{child}, Role: child.spec.Role, Name: child.spec.Name}
	if err := child.givenUp.Load(); err != nil {
		m.Err = err
	}
	c.probe.now(m)
	c.deliver(m, nil)
}
