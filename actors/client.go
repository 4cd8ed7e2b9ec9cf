package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// Client is the door between a program and its tree of actors: it opens the Link, starts the tree, asks it to stop and looks
// at it. A Client is started once.
type Client struct {
	spec     ClientSpec
	env      *Env
	system   *kit.System
	root     kit.Ref
	refs     *clientRefs
	contexts []*groupContext
	doors    map[string]*PollGroup
	view     *clientView

	ready    chan struct{}
	rejected chan struct{}
	stopped  chan *messages.ClientStopped
	// gone is closed at the very end.
	gone     chan struct{}
	tornDown sync.Once

	mu       sync.Mutex
	notReady map[string]error
}

// ClientSpec is what a client consists of. It is complete and checked: runtime fills in the defaults.
type ClientSpec struct {
	ClientID  string
	Transport Transport
	Log       logrus.FieldLogger
	Jitter    func() float64
	Observers []Observer
	Periods   Periods
	Groups    []*GroupSpec
	// MemoryLimit bounds the bytes held over all queues; 0: no limit.
	MemoryLimit int64
	// Trace turns message tracing on; nil: off.
	Trace *TraceSpec
	// Topics whose routes are wanted besides those of the groups: what Publishers send to.
	Topics []string
}

// StartClient opens the Link and starts the tree. It returns at once; WaitReady tells when the client works.
func StartClient(spec ClientSpec) (*Client, error) {
	cl := &Client{
		spec: spec, refs: &clientRefs{}, ready: make(chan struct{}), stopped: make(chan *messages.ClientStopped, 1),
		notReady: make(map[string]error), rejected: make(chan struct{}), gone: make(chan struct{}),
		doors: make(map[string]*PollGroup),
	}
	events := NewEvents(spec.Log, spec.Observers...)
	cl.system = kit.New(kit.Config{Jitter: spec.Jitter, OnEvent: func(e kit.Event) { recordKernelEvent(events, e) }})
	link, err := spec.Transport.Open(LinkConfig{
		ClientID: spec.ClientID, Log: spec.Log, Jitter: spec.Jitter,
		Calls: callThrough(func() kit.Ref { return load(&cl.refs.admin) }),
		Changed: func(m *messages.ConnectionChanged) {
			if r := load(&cl.refs.client); !r.IsZero() {
				r.Tell(m)
			}
		},
	})
	if err != nil {
		_ = cl.system.Shutdown(context.Background()) // nothing was spawned yet
		return nil, err
	}
	cl.env = &Env{
		ClientID: spec.ClientID, Link: link, Directory: NewDirectory(), Events: events,
		Memory: NewMemory(spec.MemoryLimit), Periods: spec.Periods,
	}
	for _, g := range spec.Groups {
		group := newGroupContext(cl.env, g, spec.Trace)
		cl.contexts = append(cl.contexts, group)
		if g.Poll != nil {
			cl.doors[g.Name] = &PollGroup{client: cl, group: group}
		}
	}
	cl.view = &clientView{started: time.Now(), contexts: cl.contexts, topology: cl.Topology}
	ready := sync.OnceFunc(func() { close(cl.ready) })
	progress := Progress{
		Ready: ready,
		NotReady: func(group string, err error) {
			cl.mu.Lock()
			defer cl.mu.Unlock()
			cl.notReady[group] = err
		},
		Rejected: sync.OnceFunc(func() { close(cl.rejected) }),
		Stopped: func(m *messages.ClientStopped) {
			select {
			case cl.stopped <- m:
			default:
			}
		},
	}
	table := &clientTable{}
	cl.root = cl.system.Spawn(kit.Spec{Role: "ClientInstance", Name: "client", New: func() kit.Actor {
		return &ClientInstance{
			env: cl.env, topics: spec.Topics, progress: progress, refs: cl.refs, contexts: cl.contexts, table: table,
			view: cl.view,
		}
	}})
	cl.refs.client.Store(&cl.root)
	return cl, nil
}

// WaitReady returns nil when every group has its first assignment, ErrRejected when a group cannot have one as it is
// configured, else ctx's error; Obstacles says what was in the way.
func (cl *Client) WaitReady(ctx context.Context) error {
	select {
	case <-cl.ready:
		return nil
	case <-cl.rejected:
		return ErrRejected
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Obstacles gives what keeps groups from being ready, by group.
func (cl *Client) Obstacles() map[string]error {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	out := make(map[string]error, len(cl.notReady))
	for group, err := range cl.notReady {
		out[group] = err
	}
	return out
}

// After the drain deadline the ordered stop may take this much longer: cancelled handlers, final offsets, unregistering.
const stopSlack = 10 * time.Second

// Stop stops the client in order: no new pulls, handlers end until drain has passed or ctx ends, then their contexts are
// cancelled; offsets are stored, the groups unregistered, the connections closed. It returns what was cut short. When it
// returns nothing of the client runs any more, except handlers that heed neither time nor context.
func (cl *Client) Stop(ctx context.Context, drain time.Duration) *messages.ClientStopped {
	if deadline, ok := ctx.Deadline(); ok {
		drain = min(drain, max(0, time.Until(deadline)))
	}
	report := &messages.ClientStopped{Unpersisted: cl.storeByHand(ctx)}
	cl.root.Tell(&messages.StopClient{DrainMillis: drain.Milliseconds()})
	overdue := time.NewTimer(drain + stopSlack)
	defer overdue.Stop()
	cut := ctx.Done()
	for {
		select {
		case m := <-cl.stopped:
			report.Abandoned = m.GetAbandoned()
			report.Unpersisted = append(report.Unpersisted, m.GetUnpersisted()...)
		case <-cut:
			cut = nil
			cl.root.Tell(&messages.StopClient{})
			continue
		case <-overdue.C:
			report.Unpersisted = append(report.Unpersisted, "the ordered stop did not end in time")
		}
		cl.tearDown()
		return report
	}
}

// storeByHand stores what programs committed by hand; the queues have no actor that would.
func (cl *Client) storeByHand(ctx context.Context) (failures []string) {
	ctx, cancel := context.WithTimeout(ctx, finalPersistTimeout)
	defer cancel()
	for name, door := range cl.doors {
		if keys := door.ByHand(); len(keys) > 0 {
			if err := door.Store(ctx, keys...); err != nil {
				failures = append(failures, fmt.Sprintf("group %s, committed by hand: %v", name, err))
			}
		}
	}
	return failures
}

// Handlers that still run at the end of everything get this long.
const poolGrace = 50 * time.Millisecond

// Abort ends the client at once, without draining: for a start that failed.
func (cl *Client) Abort() { cl.tearDown() }

func (cl *Client) tearDown() {
	ctx, cancel := context.WithTimeout(context.Background(), stopSlack)
	defer cancel()
	cl.tornDown.Do(func() { close(cl.gone) })
	for _, g := range cl.contexts {
		if g.polls != nil {
			g.polls.Close(ErrClosed)
		}
		short, cancel := context.WithTimeout(ctx, poolGrace)
		_ = g.pool.Close(short) // handlers that ignore their context were reported as abandoned
		cancel()
	}
	_ = cl.env.Link.Close()     // ends every pending request, so that no async work of an actor lasts
	_ = cl.system.Shutdown(ctx) // an actor that hangs is reported by the kernel's own event
	for _, g := range cl.contexts {
		g.closeOffsets(ctx)
	}
}

// Events gives the client's events.
func (cl *Client) Events() *Events { return cl.env.Events }

// Env gives what Publishers need.
func (cl *Client) Env() *Env { return cl.env }

// Watch makes the RouteKeeper look after a topic.
func (cl *Client) Watch(topic string) {
	load(&cl.refs.routes).Tell(&messages.WatchTopic{Topic: topic})
}

// Refresh asks for a fresh route of a topic.
func (cl *Client) Refresh(topic string) {
	load(&cl.refs.routes).Tell(&messages.RefreshRoute{Topic: topic})
}

// Tell sends a message to a group's actor.
func (cl *Client) Tell(group string, m kit.Message) {
	if ref, ok := cl.refs.group(group); ok {
		ref.Tell(m)
	}
}

// Topology takes a snapshot of the living tree. It never disturbs an actor.
func (cl *Client) Topology() *messages.Topology {
	now := time.Now()
	t := &messages.Topology{
		ClientId: cl.spec.ClientID, TakenAt: now.UnixMilli(), MaxAgeMillis: snapshotMaxAge.Milliseconds(),
		Actors: cl.system.Snapshot(), Connections: cl.env.Link.Facts(), Directives: cl.env.Events.Counts(),
		DeadLetters: cl.env.Events.Count(messages.EventKind_EVENT_KIND_DEAD_LETTER),
	}
	for _, g := range cl.contexts {
		t.Groups = append(t.Groups, g.facts(now))
	}
	slices.SortFunc(t.Connections, func(x, y *messages.ConnectionFacts) int {
		if x.GetAddress() < y.GetAddress() {
			return -1
		}
		return 1
	})
	return t
}

// Facts are read live; only the kernel's clock is coarse.
const snapshotMaxAge = 100 * time.Millisecond

// recordKernelEvent translates the kernel's events into the client's.
func recordKernelEvent(events *Events, e kit.Event) {
	ev := &messages.Event{Actor: e.Actor, Text: e.Kind.String(), DelayMillis: e.Wait.Milliseconds()}
	switch e.Kind {
	case kit.EventFailed:
		ev.Kind = messages.EventKind_EVENT_KIND_ACTOR_RESTARTED
	case kit.EventGaveUp, kit.EventStopPanicked:
		ev.Kind = messages.EventKind_EVENT_KIND_ACTOR_GAVE_UP
	case kit.EventRestarted:
		return // told when it failed
	default:
		ev.Kind = messages.EventKind_EVENT_KIND_DEAD_LETTER
		ev.Text += ": " + e.Message
	}
	if p, ok := errors.AsType[*kit.PanicError](e.Err); ok {
		ev.Failure = messages.FailureOf(p)
		ev.Stack = string(p.Stack)
	}
	events.Record(ev)
}
