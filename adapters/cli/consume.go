package cli

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-mq/troupe/adapters/offsetfile"
	troupe "github.com/troupe-mq/troupe/runtime"
)

type consumeFlags struct {
	group, mode, offsets, tags, from, topology string
	workers                                    int
	count                                      int64
	idleExit                                   time.Duration
	discard                                    bool
}

func newConsume(c *common) *cobra.Command {
	var f consumeFlags
	verb := &cobra.Command{
		Use:   "consume TOPIC --group GROUP",
		Short: "Consume a topic as a member of a group, and print the messages",
		Long: "Consume a topic as a member of a consumer group, and print the messages.\n\n" +
			"Modes: concurrent (messages side by side, each goes to one member), orderly (those of a queue one after the other),\n" +
			"broadcast (every member gets everything; its offsets are kept in files below --offsets) and pull (as a program that polls).\n\n" +
			"Ctrl-C drains: what was printed is committed. With --json the last line is the summary.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.consume(cmd.Context(), args[0], f) },
	}
	flags := verb.Flags()
	flags.StringVar(&f.group, "group", "", "consumer group (required)")
	flags.StringVar(&f.mode, "mode", "concurrent", "concurrent, orderly, broadcast or pull")
	flags.StringVar(&f.offsets, "offsets", "", "folder for the offsets of --mode broadcast")
	flags.StringVar(&f.tags, "tags", "", "tags, separated by commas; default: all")
	flags.StringVar(&f.from, "from", "last", "where a new group starts: first, last or a time such as 2026-12-01T10:00:00Z")
	flags.IntVar(&f.workers, "workers", troupe.DefaultWorkers, "handlers that run at once")
	flags.Int64Var(&f.count, "count", 0, "end after this many messages; 0: no limit")
	flags.DurationVar(&f.idleExit, "idle-exit", 0, "end when nothing came for this long; 0: never")
	flags.BoolVar(&f.discard, "discard", false, "count only")
	flags.StringVar(&f.topology, "topology", "", "serve the living tree on this address, see 'troupe topology'")
	return verb
}

// start is where a new group begins.
func (f consumeFlags) start() (from troupe.ConsumeFrom, at time.Time, err error) {
	switch f.from {
	case "last":
		return troupe.LastOffset, at, nil
	case "first":
		return troupe.FirstOffset, at, nil
	}
	at, err = time.Parse(time.RFC3339, f.from)
	if err != nil {
		return from, at, usage("--from %s: must be first, last or a time such as 2026-12-01T10:00:00Z", f.from)
	}
	return troupe.AtTime, at, nil
}

// handles is what the kinds of groups have in common here.
type handles interface {
	Handle(topic string, filter troupe.Filter, h troupe.Handler)
}

// polls gives a pull group a handler: it is called by a loop, which ends with its context.
type polls struct {
	*troupe.PullGroup
	handle troupe.Handler
	fault  error
}

// Handle subscribes.
func (p *polls) Handle(topic string, filter troupe.Filter, h troupe.Handler) {
	p.handle, p.fault = h, p.Subscribe(topic, filter)
}

// loop polls; it returns when ctx ends.
func (p *polls) loop(ctx context.Context) error {
	for batch, err := range p.Batches(ctx) {
		if err != nil {
			return err
		}
		for _, m := range batch.Messages {
			if err := p.handle(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// declare declares the group in its mode.
func (f consumeFlags) declare(rt *troupe.Runtime) (handles, error) {
	from, at, err := f.start()
	if err != nil {
		return nil, err
	}
	if f.offsets != "" && f.mode != "broadcast" {
		return nil, usage("--offsets goes with --mode broadcast: the cluster keeps the offsets of other groups")
	}
	switch f.mode {
	case "concurrent":
		return rt.Concurrent(f.group, troupe.ConcurrentConfig{Workers: f.workers, ConsumeFrom: from, ConsumeTime: at}), nil
	case "orderly":
		return rt.Orderly(f.group, troupe.OrderlyConfig{Workers: f.workers, ConsumeFrom: from, ConsumeTime: at}), nil
	case "broadcast":
		if f.offsets == "" {
			return nil, usage("--mode broadcast needs --offsets: a folder that keeps where this member has got to")
		}
		return rt.Broadcast(f.group, troupe.BroadcastConfig{
			Workers: f.workers, ConsumeFrom: from, ConsumeTime: at, Offsets: offsetfile.At(f.offsets),
		}), nil
	case "pull":
		return &polls{PullGroup: rt.Pull(f.group, troupe.PullConfig{ConsumeFrom: from, ConsumeTime: at})}, nil
	}
	return nil, usage("--mode %s: must be concurrent, orderly, broadcast or pull", f.mode)
}

func (c *common) consume(ctx context.Context, topic string, f consumeFlags) error {
	if f.group == "" {
		return usage("--group is required: name the consumer group to join")
	}
	filter := troupe.AllTags()
	if f.tags != "" {
		filter = troupe.Tags(strings.Split(f.tags, ",")...)
	}
	rt, err := troupe.New(c.cluster(), troupe.Config{}, troupe.WithLogger(c.logger()))
	if err != nil {
		return &usageError{err}
	}
	// What ends the consumption, enough messages, must not end the start, which may still be under way then.
	start, started := context.WithTimeout(ctx, startTimeout)
	defer started()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &tally{common: c, flags: f, enough: cancel, offsets: newOffsetsSeen()}
	group, err := f.declare(rt)
	if err != nil {
		return err
	}
	group.Handle(topic, filter, t.handle)
	loop, pulls := group.(*polls)
	if pulls && loop.fault != nil {
		return &usageError{loop.fault}
	}
	if err := rt.Start(start); err != nil {
		return err
	}
	stopServing, err := c.serveTopology(ctx, f.topology, rt.Topology)
	if err != nil {
		_ = rt.Shutdown(context.WithoutCancel(ctx)) // the address is the fault to tell
		return err
	}
	defer stopServing()
	t.begin()
	polled := make(chan error, 1)
	if pulls {
		go func() {
			defer cancel()
			polled <- loop.loop(ctx)
		}()
	} else {
		polled <- nil
	}
	t.wait(ctx)
	cancel()
	err = errors.Join(<-polled, rt.Shutdown(context.WithoutCancel(ctx)))
	if summary := t.summary(); err == nil {
		err = summary
	}
	return err
}

// begin notes what had been spent before the first message.
func (t *tally) begin() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.mallocs, t.cpu = m.Mallocs, cpuSeconds()
	t.last.Store(time.Now().UnixNano())
}

// wait ends with ctx, or when nothing came for long enough.
func (t *tally) wait(ctx context.Context) {
	if t.flags.idleExit <= 0 {
		<-ctx.Done()
		return
	}
	for {
		idle := time.Since(time.Unix(0, t.last.Load()))
		if idle >= t.flags.idleExit {
			return
		}
		timer := time.NewTimer(t.flags.idleExit - idle)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (t *tally) summary() error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	n := t.messages.Load()
	seconds := time.Duration(t.last.Load() - t.first.Load()).Seconds()
	if n == 0 {
		seconds = 0
	}
	out := map[string]any{
		"summary": true, "messages": n, "bytes": t.bytes.Load(), "duplicates": t.duplicates.Load(),
		"first_to_last_seconds": seconds, "messages_per_second": ratio(float64(n), seconds),
		"cpu_seconds": cpuSeconds() - t.cpu, "mallocs_per_message": ratio(float64(m.Mallocs-t.mallocs), float64(n)),
	}
	if t.json {
		return writeJSON(t.streams.Out, out)
	}
	t.say("consumed %d messages, %d bytes, in %.2f s (%.0f/s), %d duplicates",
		n, t.bytes.Load(), seconds, out["messages_per_second"], t.duplicates.Load())
	return nil
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// line prints one message.
func (t *tally) line(m *troupe.Message) error {
	t.out.Lock()
	defer t.out.Unlock()
	return t.common.line(m)
}
