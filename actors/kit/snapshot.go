package kit

import (
	"fmt"

	"github.com/troupe-mq/troupe/messages"
)

// Snapshot is every living actor, parents before children and siblings in the order of spawning. It may be taken at any time from any
// goroutine and never waits for an actor.
func (s *System) Snapshot() []*messages.ActorSnapshot {
	cells := s.tree.all()
	snapshots := make([]*messages.ActorSnapshot, len(cells))
	for i, c := range cells {
		snapshots[i] = c.snapshot()
	}
	return snapshots
}

func (c *cell) snapshot() *messages.ActorSnapshot {
	p := &c.probe
	a := &messages.ActorSnapshot{
		Id:            c.id,
		Parent:        Ref{c.parent}.ID(),
		Role:          c.spec.Role,
		MailboxDepth:  c.mailbox.depth(),
		LastMessageAt: c.system.millis(p.lastAt.Load()),
		Restarts:      p.restarts.Load(),
		LastFailure:   p.failure.Load(),
		StartedAt:     c.system.millis(p.started.Load()),
		BusyNanos:     p.busy.Load(),
	}
	if list := p.counts.Load(); list != nil {
		a.Counts = make([]*messages.MessageCount, len(*list))
		for i, t := range *list {
			a.Counts[i] = &messages.MessageCount{Type: t.name, Count: t.n.Load()}
			a.Processed += a.Counts[i].Count
		}
	}
	if t := p.last.Load(); t != nil {
		a.LastMessage = t.name
	}
	begun := p.since.Load()
	if begun != 0 {
		a.InTurnMillis = max(0, since(begun, c.system.clock()).Milliseconds())
	}
	switch c.state.Load() {
	case stateFailed:
		a.State = messages.ActorState_ACTOR_STATE_RESTARTING
	case stateStopping:
		a.State = messages.ActorState_ACTOR_STATE_STOPPING
	case stateStopped:
		a.State = messages.ActorState_ACTOR_STATE_STOPPED
	default:
		a.State = messages.ActorState_ACTOR_STATE_IDLE
		if begun != 0 {
			a.State = messages.ActorState_ACTOR_STATE_BUSY
		}
	}
	a.Phase, a.Facts = c.told()
	return a
}

// tells is what the actor itself has to say in a snapshot.
type tells struct {
	phase func() string
	facts func() []*messages.Fact
}

// told asks the actor's own functions; a panic in them is shown, not passed on.
func (c *cell) told() (phase string, facts []*messages.Fact) {
	defer func() {
		if v := recover(); v != nil {
			facts = append(facts, &messages.Fact{Name: "panic", Value: fmt.Sprint(v)})
		}
	}()
	t := c.tells.Load()
	if t == nil {
		return "", nil
	}
	if t.phase != nil {
		phase = t.phase()
	}
	if t.facts != nil {
		facts = t.facts()
	}
	return phase, facts
}
