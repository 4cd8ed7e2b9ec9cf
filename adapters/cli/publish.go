package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	troupe "github.com/troupe-mq/troupe/runtime"
)

type publishFlags struct {
	count, size, queue, delay int
	rate                      float64
	tag, key                  string
}

func newPublish(c *common) *cobra.Command {
	var f publishFlags
	verb := &cobra.Command{
		Use:   "publish TOPIC",
		Short: "Publish messages: made up ones (--count), or one a line from standard input",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.publish(cmd.Context(), args[0], f) },
	}
	flags := verb.Flags()
	flags.IntVar(&f.count, "count", 0, "how many messages to make up; 0 reads one a line from standard input")
	flags.IntVar(&f.size, "size", 256, "bytes of a made up body")
	flags.Float64Var(&f.rate, "rate", 0, "messages a second; 0: as fast as the broker takes them")
	flags.StringVar(&f.tag, "tag", "", "tag")
	flags.StringVar(&f.key, "key", "", "key")
	flags.IntVar(&f.queue, "queue", -1, "index among the topic's queues, sorted by broker and id; -1: in turn")
	flags.IntVar(&f.delay, "delay-level", 0, "delay level 1 to 18 (1 s to 2 h); 0: none")
	return verb
}

func (c *common) publish(ctx context.Context, topic string, f publishFlags) error {
	switch {
	case f.count < 0:
		return usage("--count %d: must not be negative", f.count)
	case f.size < 0 || f.size > 4<<20:
		return usage("--size %d: must be from 0 to %d", f.size, 4<<20)
	case f.rate < 0:
		return usage("--rate %v: must not be negative", f.rate)
	case f.delay < 0 || f.delay > 18:
		return usage("--delay-level %d: must be from 0 to 18", f.delay)
	}
	rt, err := troupe.New(c.cluster(), troupe.Config{}, troupe.WithLogger(c.logger()))
	if err != nil {
		return &usageError{err}
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := rt.Start(starting); err != nil {
		return err
	}
	defer func() { _ = rt.Shutdown(context.WithoutCancel(ctx)) }() // a publisher has nothing to drain
	cfg := troupe.PublisherConfig{}
	if f.queue >= 0 {
		cfg.Select = func(*troupe.Message, []*troupe.Queue) int { return f.queue }
	}
	p := &publishing{common: c, flags: f, topic: topic, publisher: rt.Publisher(cfg), begin: time.Now()}
	if err := p.run(ctx); err != nil {
		return err
	}
	return p.summary()
}

// publishing is one run of the verb.
type publishing struct {
	*common
	flags     publishFlags
	topic     string
	publisher *troupe.Publisher
	begin     time.Time
	sent      int
	bytes     int
}

func (p *publishing) run(ctx context.Context) error {
	if p.flags.count == 0 {
		lines := bufio.NewScanner(p.streams.In)
		lines.Buffer(nil, 4<<20)
		for ctx.Err() == nil && lines.Scan() {
			if err := p.send(ctx, bytes.Clone(lines.Bytes())); err != nil {
				return err
			}
		}
		return lines.Err()
	}
	for i := range p.flags.count {
		if err := p.keepRate(ctx); err != nil {
			return nil //nolint:nilerr // Ctrl-C ends the run, not in error
		}
		body := bytes.Repeat([]byte{byte('a' + i%26)}, p.flags.size)
		if err := p.send(ctx, body); err != nil {
			return err
		}
	}
	return nil
}

func (p *publishing) send(ctx context.Context, body []byte) error {
	m := troupe.NewMessage(p.topic, body)
	if p.flags.tag != "" {
		m.WithTag(p.flags.tag)
	}
	if p.flags.key != "" {
		m.WithKeys(p.flags.key)
	}
	if p.flags.delay > 0 {
		m.WithDelayLevel(p.flags.delay)
	}
	r, err := p.publisher.Send(ctx, m)
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Ctrl-C ends the run, not in error
		}
		return err
	}
	p.sent++
	p.bytes += len(body)
	if p.json {
		return writeJSON(p.streams.Out, map[string]any{
			"id": r.GetUniqueIds()[0], "broker": r.GetQueue().GetBroker(), "queue": r.GetQueue().GetId(), "offset": r.GetQueueOffset(),
		})
	}
	if p.flags.count == 0 || p.flags.count <= 20 {
		_, err = fmt.Fprintf(p.streams.Out, "%s %s/%d at %d\n", r.GetUniqueIds()[0], r.GetQueue().GetBroker(), r.GetQueue().GetId(), r.GetQueueOffset())
		return err
	}
	return nil
}

func (p *publishing) keepRate(ctx context.Context) error {
	if p.flags.rate <= 0 {
		return ctx.Err()
	}
	due := p.begin.Add(time.Duration(float64(p.sent) / p.flags.rate * float64(time.Second)))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *publishing) summary() error {
	seconds := time.Since(p.begin).Seconds()
	if p.json {
		return writeJSON(p.streams.Out, map[string]any{
			"summary": true, "messages": p.sent, "bytes": p.bytes, "seconds": seconds, "messages_per_second": float64(p.sent) / seconds,
		})
	}
	p.say("published %d messages to %s in %.2f s (%.0f/s)", p.sent, p.topic, seconds, float64(p.sent)/seconds)
	return nil
}
