package kit

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
)

// Context is what an actor may do in a turn. It is valid during the call of Receive that it was given to, on that goroutine
// only; use of it at another time panics. What has to reach out of a turn is a Ref.
type Context struct {
	cell   *cell
	sender *cell
	live   bool
}

func (c *Context) turn() *cell {
	if !c.live {
		panic("kit: context used outside its turn")
	}
	return c.cell
}

// Self is the actor's own address.
func (c *Context) Self() Ref { return Ref{c.turn()} }

// Parent is the address of the actor that spawned this one; nobody for a root actor.
func (c *Context) Parent() Ref { return Ref{c.turn().parent} }

// Sender is the actor whose Context.Tell sent the present message; nobody for messages from outside, timers and results.
func (c *Context) Sender() Ref {
	c.turn()
	return Ref{c.sender}
}

// Incarnation is 1 at the first start and grows by 1 with each restart.
func (c *Context) Incarnation() int64 { return c.turn().incarnation }

// Log writes with the fields actor and role.
func (c *Context) Log() logrus.FieldLogger { return c.turn().logger() }

// Tell posts m with this actor as sender. It never blocks and does not allocate.
func (c *Context) Tell(to Ref, m Message) {
	self := c.turn()
	if to.cell == nil {
		self.system.deadLetter(nil, m)
		return
	}
	to.cell.mailbox.post(entry{m: m, from: self})
}

// Reply tells the sender of the present message; without a sender m is a dead letter.
func (c *Context) Reply(m Message) { c.Tell(c.Sender(), m) }

// Spawn starts a child. The name must be free: after a child has ended it is so when ChildStopped has been delivered. A name
// that is taken, or an incomplete Spec, is a bug and panics. An actor that is stopping gets nobody, and an EventSpawnRefused.
func (c *Context) Spawn(spec Spec) Ref { return c.turn().spawn(spec) }

// Child finds a living child by name.
func (c *Context) Child(name string) (Ref, bool) {
	self := c.turn()
	child := self.system.tree.child(self, name)
	return Ref{child}, child != nil
}

// Children are the living children in the order of spawning.
func (c *Context) Children() []Ref {
	self := c.turn()
	return self.system.tree.childRefs(self)
}

// Stop lets a child process what is in its mailbox by now and then end; what comes later becomes dead letters. A child
// that fails meanwhile, or waits for a restart, ends at once. Its own children are then stopped as by Kill. It returns at once;
// ChildStopped follows.
func (c *Context) Stop(child Ref) {
	c.turn()
	if child.cell != nil {
		child.cell.stop()
	}
}

// Kill ends a child after its present turn; what is in its mailbox becomes dead letters. It returns at once; ChildStopped
// follows.
func (c *Context) Kill(child Ref) {
	c.turn()
	if child.cell != nil {
		child.cell.kill()
	}
}

// StopSelf ends the actor after this turn; what is in its mailbox becomes dead letters.
func (c *Context) StopSelf() { c.turn().kill() }

// After delivers m to this incarnation of the actor once d has passed, unless the timer is stopped before. A d of 0 or less
// means at once, by way of the mailbox.
func (c *Context) After(d time.Duration, m Message) *Timer { return c.turn().after(d, m) }

// Go runs work on a goroutine of its own and delivers its result to this incarnation, exactly once: also if it panics, leaves
// by Goexit or returns nil (then a *WorkPanicked). The context ends after timeout (0: no limit), and is cancelled with the
// cause ErrRestarted or ErrStopped when the incarnation ends. The result is due even after the timeout; work has to heed its
// context. A result that comes after the incarnation's end is dropped and counted as EventLateResult.
func (c *Context) Go(timeout time.Duration, work func(ctx context.Context) Message) {
	c.turn().work(timeout, work)
}
