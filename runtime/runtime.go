package troupe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors"
)

// Runtime is one client of one cluster with its groups and publishers. Declare groups and handlers, then Run, or Start and
// later Shutdown. Its methods may be called from any goroutine.
type Runtime struct {
	transport Transport
	config    Config
	options   options
	version   int64

	mu     sync.Mutex
	state  state
	groups []declaredGroup
	faults faults
	client *actors.Client
	// headroom works while the client runs.
	headroom headroom
	done     chan struct{}
	err      error
}

type state int

const (
	declaring state = iota
	starting
	started
	closing
	closed
)

type options struct {
	log       logrus.FieldLogger
	observers []actors.Observer
	jitter    func() float64
}

// Option gives a Runtime behaviour that is no data.
type Option func(*options)

// Observer is told of every Event; see actors.Observer for its duties.
type Observer = actors.Observer

// WithLogger writes events as log lines. Default: silent.
func WithLogger(log logrus.FieldLogger) Option { return func(o *options) { o.log = log } }

// WithObserver adds observers of every Event.
func WithObserver(observers ...Observer) Option {
	return func(o *options) { o.observers = append(o.observers, observers...) }
}

// WithJitter replaces the source of randomness of back-offs: numbers in [0,1). Default: math/rand/v2.
func WithJitter(jitter func() float64) Option { return func(o *options) { o.jitter = jitter } }

// New makes a Runtime. It opens no connection. Every fault of transport and configuration is reported at once: the error
// joins *ConfigError values.
func New(t Transport, cfg Config, opts ...Option) (*Runtime, error) {
	r := &Runtime{transport: t, config: cfg.withDefaults(), done: make(chan struct{}), version: time.Now().UnixMilli()}
	r.options = options{log: silent(), jitter: rand.Float64}
	for _, o := range opts {
		o(&r.options)
	}
	var f faults
	if t == nil {
		f.add("transport", nil, "must not be nil: pass e.g. rocketmq.Cluster{NameServers: …}")
	} else {
		for _, fault := range t.Check() {
			f.list = append(f.list, fault)
		}
	}
	r.config.check(&f)
	if err := f.err(); err != nil {
		return nil, err
	}
	if r.config.ClientID == "" {
		r.config.ClientID = newClientID()
	}
	return r, nil
}

func silent() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	l.SetLevel(logrus.PanicLevel)
	return l
}

// ClientID is the name under which brokers know this Runtime.
func (r *Runtime) ClientID() string { return r.config.ClientID }

// Run starts the Runtime, waits until ctx ends and shuts down, letting handlers end within Config.DrainTimeout. It returns
// nil if all went well, a *StartError if ctx ended before the groups were ready, a *ShutdownError if something was cut short.
func (r *Runtime) Run(ctx context.Context) error {
	if err := r.Start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-r.done:
		return r.Err()
	}
	return r.Shutdown(context.WithoutCancel(ctx))
}

// Start starts the Runtime and returns when every group has its first assignment; a topic that does not exist yet holds
// nothing up. ctx bounds the start only: when it ends first, everything is taken down again, the error says what was in the
// way, and Start may be called again. Faults of the groups' configuration are all reported before any connection is made.
func (r *Runtime) Start(ctx context.Context) error {
	spec, err := r.begin()
	if err != nil {
		return err
	}
	if err := r.openOffsets(ctx, spec); err != nil {
		r.startFailed(spec)
		return fmt.Errorf("start: %w", err)
	}
	client, err := actors.StartClient(spec)
	if err != nil {
		closeOffsets(spec)
		r.startFailed(spec)
		return fmt.Errorf("start: %w", err)
	}
	r.mu.Lock()
	r.client = client // what is called during the start may use it
	r.mu.Unlock()
	if err := client.WaitReady(ctx); err != nil {
		obstacles := client.Obstacles()
		client.Abort()
		r.startFailed(spec)
		return &StartError{Groups: obstacles, Cause: err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = started
	r.headroom.watch(r.config.HeapHeadroom)
	return nil
}

func (r *Runtime) begin() (actors.ClientSpec, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.state {
	case starting, started:
		return actors.ClientSpec{}, ErrStarted
	case closing, closed:
		return actors.ClientSpec{}, ErrClosed
	case declaring:
	}
	f := faults{list: slices.Clone(r.faults.list)}
	for i, g := range r.groups {
		g.check(&f)
		for _, other := range r.groups[:i] {
			if other.groupName() == g.groupName() {
				f.add("group", g.groupName(), "is declared twice in this Runtime: a group has one member in a client")
			}
		}
	}
	spec := actors.ClientSpec{
		ClientID: r.config.ClientID, Transport: r.transport, Log: r.options.log, Jitter: r.options.jitter,
		Observers: r.options.observers, MemoryLimit: r.config.MemoryLimit, Trace: r.config.trace(),
		Periods: actors.Periods{
			RouteRefresh: r.config.RouteRefreshInterval, Heartbeat: r.config.HeartbeatInterval,
			Rebalance: r.config.RebalanceInterval, Persist: r.config.OffsetPersistInterval,
		},
	}
	if err := f.err(); err != nil {
		return spec, err
	}
	for _, g := range r.groups {
		spec.Groups = append(spec.Groups, g.spec(r.version))
	}
	if err := memberships.enter(spec); err != nil {
		return spec, err
	}
	r.state = starting
	return spec, nil
}

func (r *Runtime) startFailed(spec actors.ClientSpec) {
	memberships.leave(spec.ClientID, groupNames(spec))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.client = declaring, nil
}

// Shutdown stops the Runtime in order: no new pulls; running handlers end until Config.DrainTimeout or ctx's deadline, then
// their contexts end with ErrDraining; what is settled is stored; the groups are unregistered and the connections closed. It
// returns a *ShutdownError if something was cut short. After it nothing of the Runtime runs any more, except handlers that
// ignore their context. It is idempotent: further calls wait for the first and return its result.
func (r *Runtime) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	switch r.state {
	case declaring:
		r.state = closed
		close(r.done)
		r.mu.Unlock()
		return nil
	case starting:
		r.mu.Unlock()
		return errors.New("shutdown: the start is still under way: end its context instead")
	case closing, closed:
		r.mu.Unlock()
		<-r.done
		return r.Err()
	case started:
	}
	r.state = closing
	client := r.client
	r.mu.Unlock()

	r.endSchedules(ctx)
	report := client.Stop(ctx, r.config.DrainTimeout)
	memberships.leave(r.config.ClientID, r.groupNames())
	r.mu.Lock()
	defer r.mu.Unlock()
	if report.GetAbandoned() > 0 || len(report.GetUnpersisted()) > 0 {
		r.err = &ShutdownError{Abandoned: report.GetAbandoned(), Unpersisted: report.GetUnpersisted()}
	}
	r.state = closed
	r.headroom.end()
	close(r.done)
	return r.err
}

// endSchedules lets the tasks of pull groups end before what they stand on goes.
func (r *Runtime) endSchedules(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.config.DrainTimeout)
	defer cancel()
	for _, g := range r.groups { // which nobody changes any more
		if pull, ok := g.(*PullGroup); ok {
			pull.schedule.end(ctx)
		}
	}
}

// Done is closed when the Runtime has been shut down; then Err gives the outcome.
func (r *Runtime) Done() <-chan struct{} { return r.done }

// Err is the outcome of the shutdown; nil before.
func (r *Runtime) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Topology gives a snapshot of the living tree: every actor, and for each group its assignment, offsets, credit and lag. It
// never disturbs the tree. Before the start and after the shutdown it has the client id only.
func (r *Runtime) Topology() *Topology {
	if client := r.running(); client != nil {
		return client.Topology()
	}
	return &Topology{ClientId: r.config.ClientID, TakenAt: time.Now().UnixMilli()}
}

// whileRunning is nil between a start and the shutdown. Call it with the lock held.
func (r *Runtime) whileRunning() error {
	switch r.state {
	case started:
		return nil
	case closing, closed:
		return ErrClosed
	default:
		return ErrNotStarted
	}
}

// declaringOrRunning tells whether the client runs, before the start and after it; else why neither is so. Call it with the lock held.
func (r *Runtime) declaringOrRunning() (running bool, err error) {
	if r.state == declaring {
		return false, nil
	}
	return true, r.whileRunning()
}

func (r *Runtime) running() *actors.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == starting || r.state == started || r.state == closing {
		return r.client
	}
	return nil
}

func (r *Runtime) groupNames() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.groups))
	for _, g := range r.groups {
		names = append(names, g.groupName())
	}
	return names
}

func groupNames(spec actors.ClientSpec) []string {
	names := make([]string, 0, len(spec.Groups))
	for _, g := range spec.Groups {
		names = append(names, g.Name)
	}
	return names
}

func sortedKeys(m map[string]error) []string { return slices.Sorted(maps.Keys(m)) }
