package kit

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/troupe-mq/troupe/messages"
)

// lookEvery is how many messages pass between two looks at the clock while they are quick; slowNanos is what makes them slow.
const (
	lookEvery = 32
	slowNanos = 10_000
)

// typeCount counts the processed messages of one type.
type typeCount struct {
	typ  reflect.Type
	name string
	n    atomic.Int64
}

// probe is what can be seen of an actor from outside. The turn writes, anybody reads. Per message it costs one atomic
// addition and a comparison of types; the clock is read once per turn, every 32nd message, or each message if they are slow.
type probe struct {
	counts   atomic.Pointer[[]*typeCount]
	last     atomic.Pointer[typeCount]
	skipped  atomic.Int64 // taken from the mailbox but not delivered
	lastAt   atomic.Int64 // system clock, as last looked at, of the last message; 0: none
	since    atomic.Int64 // the same while in a turn, else 0
	busy     atomic.Int64
	started  atomic.Int64
	restarts atomic.Int64
	failure  atomic.Pointer[messages.ActorFailure]

	// The turn's alone.
	current *typeCount
	special string // name of the life-cycle message in hand
	begun   int64  // system clock as last looked at
	fresh   bool   // no message since then
	every   int
}

// count notes a message that is about to be delivered.
func (p *probe) count(m Message) {
	if t := reflect.TypeOf(m); p.current == nil || p.current.typ != t {
		p.current = p.find(t)
		p.last.Store(p.current)
	}
	if p.fresh {
		p.fresh = false
		p.lastAt.Store(p.begun)
	}
	p.current.n.Add(1)
}

func (p *probe) find(t reflect.Type) *typeCount {
	var counts []*typeCount
	if list := p.counts.Load(); list != nil {
		counts = *list
	}
	for _, c := range counts {
		if c.typ == t {
			return c
		}
	}
	c := &typeCount{typ: t, name: nameOf(t)}
	grown := append(counts[:len(counts):len(counts)], c)
	p.counts.Store(&grown)
	return c
}

// now names a life-cycle message in hand; it is not counted.
func (p *probe) now(m Message) { p.current, p.special = nil, typeName(m) }

// present is the name of the type of the message in hand.
func (p *probe) present() string {
	if p.current != nil {
		return p.current.name
	}
	return p.special
}

func (p *probe) skip() { p.skipped.Add(1) }

// taken is how many user messages have left the mailbox.
func (p *probe) taken() int64 { return p.skipped.Load() + p.processed() }

func (p *probe) processed() (n int64) {
	if list := p.counts.Load(); list != nil {
		for _, c := range *list {
			n += c.n.Load()
		}
	}
	return n
}

// resume, look and pause follow the turn: its begin, a look at the clock in between, its end.
func (p *probe) resume(now int64) {
	p.begun, p.fresh = now, true
	p.since.Store(now)
}

func (p *probe) look(now int64) {
	spent := now - p.begun
	p.busy.Add(spent)
	if spent > slowNanos*int64(p.every) {
		p.every = 1
	} else if spent < slowNanos {
		p.every = lookEvery
	}
	p.resume(now)
}

func (p *probe) pause(now int64) {
	if !p.fresh {
		p.lastAt.Store(now)
	}
	p.busy.Add(now - p.begun)
	p.since.Store(0)
}

func (p *probe) start(now int64, again bool) {
	if again {
		p.restarts.Add(1)
	}
	p.started.Store(now)
	p.now(Started{})
}

func (p *probe) fail(e *PanicError, at int64) {
	p.failure.Store(&messages.ActorFailure{Reason: fmt.Sprint(e.Value), Message: e.Message, Stack: string(e.Stack), At: at})
}
