package kit

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// entry is one user message and who sent it.
type entry struct {
	m    Message
	from *cell
}

// keepCapacity is how many entries' room a mailbox keeps after a burst.
const keepCapacity = 1024

// mailbox is an actor's queue: system messages of the library first, then user messages in the order of arrival. Senders
// append to in; the turn takes all of it at once and works it off from out. It is unbounded: what bounds it is credit.
//
// Invariants: while scheduled is set exactly one turn runs or is about to; it is set whenever there is something to do.
// Once closed is set nothing is queued any more.
type mailbox struct {
	cell    *cell
	invoker actor.MessageInvoker // the library's context of the actor
	step    func()               // turn as a value, made once

	mu        sync.Mutex
	in        []entry
	system    []any
	scheduled bool
	suspended bool // written by the turn under mu
	closed    bool
	pushed    int64

	hurry atomic.Bool // there are system messages

	out []entry // the turn's alone
	pos int
}

var _ actor.Mailbox = (*mailbox)(nil)

// post queues a user message, or disposes of it if the actor has ended.
func (b *mailbox) post(e entry) {
	if e.m == nil {
		b.cell.system.events.emit(b.cell.event(EventNilMessage, "nil"))
		return
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		b.cell.discard(e.m)
		return
	}
	b.in = append(b.in, e)
	b.pushed++
	b.wake(!b.suspended)
}

// wake unlocks mu and, if there is something to do that nobody does, schedules a turn.
func (b *mailbox) wake(due bool) {
	due = due && !b.scheduled && b.step != nil
	if due {
		b.scheduled = true
	}
	b.mu.Unlock()
	if due {
		b.cell.system.dispatcher.Schedule(b.step)
	}
}

// PostUserMessage is the library's way in; the kernel itself uses post.
func (b *mailbox) PostUserMessage(m any) {
	if env, ok := m.(*actor.MessageEnvelope); ok {
		m = env.Message
	}
	b.post(entry{m: m})
}

// PostSystemMessage queues a message of the library's own protocol.
func (b *mailbox) PostSystemMessage(m any) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.system = append(b.system, m)
	b.hurry.Store(true)
	b.wake(true)
}

// RegisterHandlers is called once, by the library, before anything is posted.
func (b *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.invoker, b.step = invoker, b.turn
}

// Start has nothing to do.
func (b *mailbox) Start() {}

// UserMessageCount is the number of user messages waiting.
func (b *mailbox) UserMessageCount() int { return int(b.depth()) }

func (b *mailbox) depth() int64 {
	taken := b.cell.probe.taken() // before pushed, so that the difference is never negative
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pushed - taken
}

func (b *mailbox) turn() {
	for !b.run() {
	}
}

// run works until there is nothing to do, which it answers with true, or until a panic, which it hands to supervision.
func (b *mailbox) run() (idle bool) {
	probe := &b.cell.probe
	completed := false
	defer func() {
		if completed {
			return
		}
		value := recover()
		goexit := value == nil
		if goexit {
			value = ErrGoexit
		}
		if e := b.cell.failed(value, debug.Stack()); b.cell.state.Load() < stateStopping {
			b.invoker.EscalateFailure(e, nil)
		} else {
			b.cell.stopAnyway(e)
		}
		if goexit { // this goroutine ends, so another one has to go on
			probe.pause(b.cell.system.clock())
			b.cell.system.dispatcher.Schedule(b.step)
		}
	}()
	probe.resume(b.cell.system.clock())
	throughput := b.cell.system.config.Throughput
	for n, quick := 0, 0; ; {
		if b.hurry.Load() {
			b.invoke(b.nextSystem())
			continue
		}
		if b.suspended || b.pos == len(b.out) {
			if b.refill() {
				continue
			}
			completed = true
			return true
		}
		e := b.out[b.pos]
		b.out[b.pos] = entry{}
		b.pos++
		b.cell.receive(e)
		if quick++; quick >= probe.every {
			quick = 0
			probe.look(b.cell.system.clock())
		}
		if n++; n >= throughput {
			n = 0
			runtime.Gosched()
		}
	}
}

// refill takes what has arrived. If there is nothing to do it gives the turn up and answers false.
func (b *mailbox) refill() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.system) > 0 {
		return true
	}
	if b.suspended || len(b.in) == 0 {
		if !b.suspended {
			b.trim()
		}
		b.cell.probe.pause(b.cell.system.clock())
		b.scheduled = false
		return false
	}
	b.out, b.in, b.pos = b.in, b.out[:0], 0
	return true
}

// trim gives the room of a burst back once it is over. The caller holds mu; there are no messages.
func (b *mailbox) trim() {
	if cap(b.out) > keepCapacity {
		b.out, b.pos = nil, 0
	}
	if cap(b.in) > keepCapacity {
		b.in = nil
	}
}

func (b *mailbox) nextSystem() any {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.system) == 0 {
		b.hurry.Store(false)
		return nil
	}
	m := b.system[0]
	b.system[0] = nil
	b.system = b.system[1:]
	if len(b.system) == 0 {
		b.system = nil
		b.hurry.Store(false)
	}
	return m
}

func (b *mailbox) invoke(m any) {
	switch m.(type) {
	case nil:
	case *actor.SuspendMailbox:
		b.suspend(true)
	case *actor.ResumeMailbox:
		b.suspend(false)
	case *actor.Restart:
		if b.cell.state.Load() < stateStopping { // the library would bring an actor back that is being stopped
			b.invoker.InvokeSystemMessage(m)
		}
	default:
		b.invoker.InvokeSystemMessage(m)
	}
}

func (b *mailbox) suspend(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suspended = yes
}

// close lets nothing in any more and gives what is left, in order. It is called in the last turn.
func (b *mailbox) close() []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	left := append(b.out[b.pos:len(b.out):len(b.out)], b.in...)
	b.in, b.out, b.pos, b.system = nil, nil, 0, nil
	b.invoker = nil // a kept Ref must not keep what the actor was
	return left
}
