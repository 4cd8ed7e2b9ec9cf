package kit

import "github.com/asynkron/protoactor-go/actor"

// supervision carries out, on the side of the parent, what the failed actor's own strategy has decided.
type supervision struct{ system *System }

var _ actor.SupervisorStrategy = supervision{}

// HandleFailure restarts the child after its back-off, without anybody waiting for it, or stops it.
func (s supervision) HandleFailure(_ *actor.ActorSystem, _ actor.Supervisor, _ *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	if e, ok := reason.(*PanicError); ok && e.cell != nil {
		e.cell.supervise(e)
	}
}

func (c *cell) supervise(e *PanicError) {
	event := c.event(EventFailed, e.Message)
	event.Err, event.Wait, event.Incarnation = e, e.wait, e.incarnation
	if e.giveUp {
		event.Kind = EventGaveUp
		c.givenUp.Store(e)
		c.system.events.emit(event)
		c.kill()
		return
	}
	c.system.events.emit(event)
	c.timers.restartAfter(e.wait, func() { c.mailbox.PostSystemMessage(&actor.Restart{}) })
}

// roots is the parent of the root actors: a process of the library, not an actor, so that roots can be spawned from any
// goroutine, and not one of its guardians, some of whose directives end the process.
type roots struct {
	*actor.RootContext
	system *System
	pid    *actor.PID
}

// Self makes the library take roots for the parent of what it spawns.
func (r *roots) Self() *actor.PID { return r.pid }

// SendUserMessage ignores what nobody sends.
func (r *roots) SendUserMessage(*actor.PID, any) {}

// SendSystemMessage takes failures and ends of root actors, in their own turns.
func (r *roots) SendSystemMessage(_ *actor.PID, m any) {
	switch m := m.(type) {
	case *actor.Failure:
		supervision{r.system}.HandleFailure(nil, nil, m.Who, m.RestartStats, m.Reason, m.Message)
	case *actor.Terminated:
		r.system.tree.take(nil, m.Who.GetId())
	}
}

// Stop is for the library; the roots cannot be stopped.
func (r *roots) Stop(*actor.PID) {}
