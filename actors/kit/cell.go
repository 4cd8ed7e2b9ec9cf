package kit

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// States of a cell, in the order of its life; failed goes back to alive.
const (
	stateStarting int32 = iota
	stateAlive
	stateFailed
	stateStopping
	stateStopped
)

// drain is the message that ends an actor once everything before it has been processed.
type drain struct{}

// cell is what stays of an actor across its incarnations.
type cell struct {
	system *System
	parent *cell // nil for a root actor
	id     string
	spec   Spec

	mailbox  mailbox
	timers   timers
	probe    probe
	children []*cell // under the tree's mutex
	state    atomic.Int32
	draining atomic.Bool
	tells    atomic.Pointer[tells] // nil after the end
	givenUp  atomic.Pointer[PanicError]
	awaited  atomic.Pointer[chan struct{}] // what Done gives; nil while nobody has asked

	// The turn's alone.
	library     actor.Context
	instance    Actor // nil before Started, after a panic and after the end
	context     *Context
	incarnation int64
	streak      streak
	log         logrus.FieldLogger
	workCtx     context.Context
	cancelWork  context.CancelCauseFunc
}

// newCell panics if the spec is incomplete.
func newCell(s *System, parent *cell, spec Spec) *cell {
	if spec.New == nil || spec.Name == "" || strings.Contains(spec.Name, "/") {
		panic("kit: spec of " + spec.Role + " " + spec.Name + " lacks New or a name without slash")
	}
	c := &cell{system: s, parent: parent, id: spec.Name, spec: spec}
	c.spec.Strategy = spec.Strategy.withDefaults()
	if parent != nil {
		c.id = parent.id + "/" + spec.Name
	}
	c.tells.Store(&tells{phase: spec.Phase, facts: spec.Facts})
	c.spec.Phase, c.spec.Facts = nil, nil
	c.mailbox.cell = c
	c.probe.started.Store(s.clock())
	c.probe.every = lookEvery
	return c
}

// props is what the library starts the actor from.
func (c *cell) props() *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return lifecycle{c} },
		actor.WithMailbox(func() actor.Mailbox { return &c.mailbox }),
		actor.WithDispatcher(c.system.dispatcher),
		actor.WithSupervisor(supervision{c.system}))
}

// done is closed once the actor has ended. Few are ever waited for, so it is made when somebody asks.
func (c *cell) done() <-chan struct{} {
	if c.awaited.Load() == nil {
		ch := make(chan struct{})
		c.awaited.CompareAndSwap(nil, &ch)
	}
	return *c.awaited.Load()
}

// ended closes done; it is called once.
func (c *cell) ended() {
	if !c.awaited.CompareAndSwap(nil, &closed) {
		close(*c.awaited.Load())
	}
}

// spawn starts a child, in the turn.
func (c *cell) spawn(spec Spec) Ref {
	child := newCell(c.system, c, spec)
	if c.state.Load() >= stateStopping {
		c.system.events.emit(child.event(EventSpawnRefused, ""))
		return Ref{}
	}
	c.system.tree.add(child)
	if _, err := c.library.SpawnNamed(child.props(), spec.Name); err != nil {
		c.system.tree.remove(child)
		panic("kit: " + child.id + ": " + err.Error())
	}
	return Ref{child}
}

// receive takes one user message, in the turn.
func (c *cell) receive(e entry) {
	if c.instance == nil || c.state.Load() >= stateStopping {
		c.probe.skip()
		c.discard(e.m)
		return
	}
	m := e.m
	switch special := m.(type) {
	case *Timer:
		if special.incarnation != c.incarnation || !special.over.CompareAndSwap(false, true) {
			c.probe.skip()
			return
		}
		m = special.m
	case *result:
		if special.incarnation != c.incarnation {
			c.probe.skip()
			c.discard(m)
			return
		}
		m = special.m
	case drain:
		c.probe.skip()
		c.kill()
		return
	}
	c.probe.count(m)
	if on := c.system.config.OnDeliver; on != nil {
		on(delivery(c, e.from, m))
	}
	c.deliver(m, e.from)
}

func (c *cell) deliver(m Message, from *cell) {
	ctx := c.context
	ctx.sender, ctx.live = from, true
	c.instance.Receive(ctx, m)
	ctx.sender, ctx.live = nil, false
}

// discard accounts for a message that will not be processed. Timers and the request to stop end with their actor.
func (c *cell) discard(m Message) {
	switch m := m.(type) {
	case *Timer, drain:
	case *result:
		c.system.events.emit(c.event(EventLateResult, typeName(m.m)))
	default:
		c.system.deadLetter(c, m)
	}
}

// stop ends the actor after what is in its mailbox by now. A failed one has nobody to process that, and ends at once; the
// same check stands in failed, so that one of the two sees the other.
func (c *cell) stop() {
	c.draining.Store(true)
	c.mailbox.post(entry{m: drain{}})
	if c.state.Load() == stateFailed {
		c.kill()
	}
}

// kill ends the actor after its present turn.
func (c *cell) kill() { c.mailbox.PostSystemMessage(&actor.Stop{}) }

// failed notes a panic, in the turn, and decides what is to follow.
func (c *cell) failed(value any, stack []byte) *PanicError {
	e := &PanicError{Value: value, Stack: stack, Actor: c.id, Message: c.probe.present(), cell: c, incarnation: c.incarnation}
	c.instance = nil
	if c.context != nil {
		c.context.live = false
	}
	c.state.CompareAndSwap(stateStarting, stateFailed)
	c.state.CompareAndSwap(stateAlive, stateFailed)
	if c.state.Load() == stateFailed {
		c.endWork(ErrRestarted)
		c.timers.clear(false)
	}
	c.probe.fail(e, c.system.wall())
	now := c.system.clock()
	e.giveUp, e.wait = c.streak.fail(c.spec.Strategy, since(c.probe.started.Load(), now), c.system.config.Jitter)
	e.giveUp = e.giveUp || c.draining.Load()
	return e
}

// stopAnyway goes on with a stop that a panic in Stopping, or in ChildStopped after it, has cut off in the middle of the library's
// work. To the library a panic means a restart, even then. An end of no particular child makes it look whether the
// actor can end.
func (c *cell) stopAnyway(e *PanicError) {
	event := c.event(EventStopPanicked, e.Message)
	event.Err, event.Incarnation = e, e.incarnation
	c.system.events.emit(event)
	for _, child := range c.system.tree.childRefs(c) {
		child.cell.kill()
	}
	c.mailbox.PostSystemMessage(&actor.Terminated{Who: actor.NewPID("", "")})
}

func (c *cell) event(kind EventKind, message string) Event {
	return Event{Kind: kind, Actor: c.id, Role: c.spec.Role, Message: message}
}

func (c *cell) logger() logrus.FieldLogger {
	if c.log == nil {
		c.log = c.system.config.Log.WithFields(logrus.Fields{"actor": c.id, "role": c.spec.Role})
	}
	return c.log
}
