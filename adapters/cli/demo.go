package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/topology"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

func newDemo(c *common) *cobra.Command {
	var serve string
	verb := &cobra.Command{
		Use:   "demo",
		Short: "Embedded broker, two members, a publisher: consume, retry, rebalance, and see the tree; ends by itself",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context(), serve) },
	}
	verb.Flags().StringVar(&serve, "topology", "", "serve the first member's living tree on this address meanwhile")
	return verb
}

const (
	demoTopic    = "orders"
	demoGroup    = "billing"
	demoQueues   = 8
	demoMessages = 400 // each of the two rounds
	demoFailing  = 50  // every 50th message fails at its first try
	demoDead     = 333 // this message never succeeds and ends in the dead letter topic
	demoRetries  = 2
	demoTimeout  = 50 * time.Second
)

// demoDelays are the broker's delay levels, shortened: a first retry after a second instead of ten.
func demoDelays() []time.Duration {
	levels := make([]time.Duration, 18)
	for i := range levels {
		levels[i] = time.Second
	}
	return levels
}

// demonstration is one run of the demo.
type demonstration struct {
	*common
	broker  *embedded.Broker
	cluster rocketmq.Cluster
	begin   time.Time
	publish *troupe.Publisher

	mu        sync.Mutex
	handled   map[string]int // successes by key
	byMember  map[string]int
	failed    atomic.Int64
	complete  chan struct{}
	awaited   int
	rebalance atomic.Int64
	dead      atomic.Int64
	corrected atomic.Int64
}

// Observe counts what the summary tells.
func (d *demonstration) Observe(e *troupe.Event) {
	switch e.GetKind() {
	case messages.EventKind_EVENT_KIND_REBALANCED:
		d.rebalance.Add(1)
	case messages.EventKind_EVENT_KIND_DEAD_LETTERED:
		d.dead.Add(1)
	case messages.EventKind_EVENT_KIND_OFFSET_CORRECTED:
		d.corrected.Add(1)
	default:
	}
}

func (c *common) demo(ctx context.Context, serve string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	broker, err := embedded.Start(ctx, embedded.Config{DelayLevels: demoDelays()})
	if err != nil {
		return fmt.Errorf("embedded broker: %w", err)
	}
	defer func() { err = errors.Join(err, broker.Close()) }()
	if err := broker.CreateTopic(demoTopic, demoQueues); err != nil {
		return err
	}
	d := &demonstration{
		common: c, broker: broker, cluster: rocketmq.Cluster{NameServers: []string{broker.Addr()}}, begin: time.Now(),
		handled: make(map[string]int), byMember: make(map[string]int),
	}
	d.step("name server and broker serve on %s; topic %s has %d queues", broker.Addr(), demoTopic, demoQueues)
	return d.play(ctx, serve)
}

func (d *demonstration) play(ctx context.Context, serve string) error {
	first, err := d.member(ctx, "first")
	if err != nil {
		return err
	}
	defer func() { _ = first.Shutdown(context.WithoutCancel(ctx)) }() // idempotent: the good way ends it below
	stopServing, err := d.serveTopology(ctx, serve, first.Topology)
	if err != nil {
		return err
	}
	defer stopServing()
	d.step("member one has joined group %s and owns all %d queues", demoGroup, demoQueues)
	d.publish = first.Publisher(troupe.PublisherConfig{})
	if err := d.round(ctx, 0); err != nil {
		return err
	}
	d.step("published and consumed %d messages; every %dth failed once and came back by the broker's retry schedule (shortened here)",
		demoMessages, demoFailing)
	second, err := d.member(ctx, "second")
	if err != nil {
		return err
	}
	defer func() { _ = second.Shutdown(context.WithoutCancel(ctx)) }()
	d.step("member two has joined: the queues are shared out anew")
	if err := d.round(ctx, demoMessages); err != nil {
		return err
	}
	d.step("published and consumed %d more; one message never succeeds and went to %%DLQ%%%s after %d retries", demoMessages, demoGroup, demoRetries)
	tree, err := topology.Render("tree", first.Topology())
	if err != nil {
		return err
	}
	if !d.json {
		_, _ = fmt.Fprintf(d.streams.Out, "\nThe living tree of member one:\n\n%s\n", tree)
	}
	if err := errors.Join(second.Shutdown(ctx), first.Shutdown(ctx)); err != nil {
		return err
	}
	d.step("both members have drained and left")
	return d.summary()
}

func (d *demonstration) member(ctx context.Context, name string) (*troupe.Runtime, error) {
	rt, err := troupe.New(d.cluster, troupe.Config{}, troupe.WithObserver(d), troupe.WithLogger(d.logger()))
	if err != nil {
		return nil, err
	}
	g := rt.Concurrent(demoGroup, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, MaxRetries: demoRetries})
	g.Handle(demoTopic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error { return d.handle(name, m) })
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return rt, rt.Start(starting)
}

var errDemo = errors.New("fails on purpose")

func (d *demonstration) handle(member string, m *troupe.Message) error {
	var n int
	if _, err := fmt.Sscanf(string(m.GetBody()), "order %d", &n); err != nil {
		return troupe.DeadLetter(err)
	}
	if n == demoMessages+demoDead || (n%demoFailing == 0 && m.GetReconsumeTimes() == 0) {
		d.failed.Add(1)
		return errDemo
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handled[m.MessageID()]++
	d.byMember[member]++
	if len(d.handled) == d.awaited && d.complete != nil {
		close(d.complete)
		d.complete = nil
	}
	return nil
}

// round publishes and waits until everything that can succeed has.
func (d *demonstration) round(ctx context.Context, from int) error {
	complete := make(chan struct{})
	d.mu.Lock()
	d.complete = complete
	d.awaited = len(d.handled) + demoMessages
	if from > 0 {
		d.awaited-- // the one that never succeeds
	}
	d.mu.Unlock()
	for i := range demoMessages {
		m := troupe.NewMessage(demoTopic, fmt.Appendf(nil, "order %d", from+i)).WithKeys(fmt.Sprint(from + i))
		if _, err := d.publish.Send(ctx, m); err != nil {
			return err
		}
	}
	select {
	case <-complete:
	case <-ctx.Done():
		return fmt.Errorf("demo: not everything was consumed in time: %w", ctx.Err())
	}
	for from > 0 && d.dead.Load() == 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("demo: no message was dead-lettered in time: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (d *demonstration) step(format string, args ...any) {
	if !d.json {
		_, _ = fmt.Fprintf(d.streams.Out, "%5.1fs  %s\n", time.Since(d.begin).Seconds(), fmt.Sprintf(format, args...))
	}
}

func (d *demonstration) summary() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	duplicates := 0
	for _, n := range d.handled {
		duplicates += n - 1
	}
	out := map[string]any{
		"summary": true, "published": 2 * demoMessages, "consumed": len(d.handled), "duplicates": duplicates,
		"failed_attempts": d.failed.Load(), "dead_lettered": d.dead.Load(), "rebalances": d.rebalance.Load(),
		"member_one": d.byMember["first"], "member_two": d.byMember["second"], "seconds": time.Since(d.begin).Seconds(),
	}
	if d.json {
		return writeJSON(d.streams.Out, out)
	}
	_, err := fmt.Fprintf(d.streams.Out, `
Summary
  published          %d
  consumed           %d (member one %d, member two %d), %d duplicates
  failed attempts    %d, all handed back to the broker
  dead letters       %d, in %%DLQ%%%s
  rebalances         %d
  took               %.1f s
`, out["published"], out["consumed"], out["member_one"], out["member_two"], duplicates, out["failed_attempts"],
		out["dead_lettered"], demoGroup, out["rebalances"], out["seconds"])
	return err
}
