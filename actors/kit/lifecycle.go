package kit

import (
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
)

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

func (c *cell) stopping() {
	c.state.Store(stateStopping)
	c.farewell(Stopping{})
	c.endWork(ErrStopped)
	c.timers.clear(true)
}

// farewell delivers a message of an ending life. A panic in it must not reach the library, which would start the actor again.
func (c *cell) farewell(m Message) {
	if c.instance == nil {
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil {
			return // Goexit cannot be held up; the mailbox sees it
		}
		c.instance = nil
		err := &PanicError{Value: value, Stack: debug.Stack(), Actor: c.id, Message: typeName(m), cell: c}
		c.probe.fail(err, c.system.wall())
		e := c.event(EventStopPanicked, err.Message)
		e.Err, e.Incarnation = err, c.incarnation
		c.system.events.emit(e)
	}()
	c.probe.now(m)
	c.deliver(m, nil)
	returned = true
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
	close(c.done)
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
	if c.state.Load() >= stateStopping {
		c.farewell(m)
		return
	}
	c.probe.now(m)
	c.deliver(m, nil)
}
