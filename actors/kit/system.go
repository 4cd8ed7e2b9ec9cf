package kit

import (
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"
)

// System is a set of actor trees with one dispatcher. Several systems live side by side and know nothing of each other. Its
// methods may be called from any goroutine.
type System struct {
	config     Config
	library    *actor.ActorSystem
	dispatcher *dispatcher
	tree       tree
	works      ledger
	events     events
	roots      *roots
	base       time.Time

	closeLibrary func()
}

// New makes a System without actors. It costs some milliseconds and megabytes: one per program or per Runtime, not one per
// consumer. Inside a synctest bubble it has to be made in the bubble, and shut down before its end.
func New(config Config) *System {
	s := &System{config: config.withDefaults(), base: time.Now()}
	s.events.log, s.events.on = s.config.Log, s.config.OnEvent
	s.dispatcher = &dispatcher{throughput: s.config.Throughput, maxIdle: s.config.MaxIdle, fresh: s.config.DefaultDispatcher}
	s.library = actor.NewActorSystem(actor.WithLoggerFactory(libraryLogger(s.config.Log)), actor.WithDeadLetterThrottleCount(0))
	shrink(s.library.ProcessRegistry)
	// The library's own subscriber to dead letters starts a goroutine that outlives a Shutdown by a second.
	s.library.EventStream = eventstream.NewEventStream()
	s.roots = &roots{RootContext: s.library.Root, system: s}
	s.roots.pid, _ = s.library.ProcessRegistry.Add(s.roots, "roots$") // a fresh registry has the name free
	s.closeLibrary = sync.OnceFunc(s.library.Shutdown)                // a second one would panic
	return s
}

// Spawn starts a root actor. A name that is taken, or an incomplete Spec, is a bug and panics. After Shutdown has begun the
// answer is nobody, and an EventSpawnRefused.
func (s *System) Spawn(spec Spec) Ref {
	c := newCell(s, nil, spec)
	if !s.tree.add(c) {
		s.events.emit(c.event(EventSpawnRefused, ""))
		return Ref{}
	}
	if _, err := actor.DefaultSpawner(s.library, c.id, c.props(), s.roots); err != nil {
		s.tree.remove(c)
		panic("kit: " + c.id + ": " + err.Error())
	}
	return Ref{c}
}

// Find gives the living actor of that path, as in Ref.ID.
func (s *System) Find(path string) (Ref, bool) {
	c := s.tree.find(path)
	return Ref{c}, c != nil
}

// Count is how many events of a kind there have been since the start.
func (s *System) Count(kind EventKind) int64 {
	if kind >= eventKinds {
		return 0
	}
	return s.events.counts[kind].Load()
}

// Counts is the number of events since the start by kind, in words; kinds that have not occurred are left out.
func (s *System) Counts() map[string]int64 {
	counts := make(map[string]int64)
	for kind := range eventKinds {
		if n := s.Count(kind); n > 0 {
			counts[kind.String()] = n
		}
	}
	return counts
}

// deadLetter accounts for a message that reached nobody; c is nil if it was addressed to nobody.
func (s *System) deadLetter(c *cell, m Message) {
	if c == nil {
		s.events.emit(Event{Kind: EventDeadLetter, Message: typeName(m)})
		return
	}
	s.events.emit(c.event(EventDeadLetter, typeName(m)))
}

// clock is nanoseconds since the system was made, never 0.
func (s *System) clock() int64 { return int64(time.Since(s.base)) + 1 }

// millis turns a clock reading into milliseconds since the epoch; 0 stays 0.
func (s *System) millis(clock int64) int64 {
	if clock == 0 {
		return 0
	}
	return s.base.Add(time.Duration(clock)).UnixMilli()
}

// wall is milliseconds since the epoch.
func (s *System) wall() int64 { return s.millis(s.clock()) }

func since(from, now int64) time.Duration { return time.Duration(now - from) }

// shrink gives a registry one bucket of 32 maps instead of 1024: enough for thousands of actors that are looked up only when
// they come and go. The 2.8 MiB of small objects it frees would otherwise be marked by every collection of a program whose own
// heap is small: a quarter of a consumer's CPU time under a backlog.
func shrink(r *actor.ProcessRegistryValue) {
	all := r.LocalPIDs.LocalPIDs
	kept := slices.Clone(all[:1])
	for _, bucket := range all[1:] {
		if bucket.Count() == 0 {
			continue
		}
		for id, process := range bucket.Items() {
			kept[0].Set(id, process)
		}
	}
	r.LocalPIDs.LocalPIDs = kept
}
