package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	troupe "github.com/troupe-mq/troupe/runtime"
)

func newMessage(c *common) *cobra.Command {
	var topic string
	get := &cobra.Command{
		Use: "get ID [--topic TOPIC]", Short: "Show a message", Args: cobra.ExactArgs(1),
		Long: "Show a message, by its offset id, which names its broker, or with --topic by the unique id that its producer gave it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
				m, err := a.Message(ctx, args[0], topic)
				if err != nil {
					return err
				}
				return c.show(m)
			})
		},
	}
	get.Flags().StringVar(&topic, "topic", "", "topic of the message")

	var key, from, to string
	var most int
	query := &cobra.Command{
		Use: "query TOPIC --key KEY | --from TIME [--to TIME]", Short: "Find messages by key, or by when they were stored", Args: cobra.ExactArgs(1),
		Example: "  troupe message query orders --key order-4711\n" +
			"  troupe message query orders --from 2026-12-01T10:00:00Z --to 2026-12-01T10:05:00Z",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.query(cmd.Context(), args[0], key, from, to, most)
		},
	}
	query.Flags().StringVar(&key, "key", "", "key, or unique id")
	query.Flags().StringVar(&from, "from", "", "stored at or after this time, such as 2026-12-01T10:00:00Z")
	query.Flags().StringVar(&to, "to", "", "stored before this time; default: now")
	query.Flags().IntVar(&most, "max", 64, "end after this many messages")
	return parent("message", "Show and find messages", get, query)
}

func newTail(c *common) *cobra.Command {
	var count int64
	verb := &cobra.Command{
		Use: "tail TOPIC", Short: "Print what is stored from now on, as no group's member", Args: cobra.ExactArgs(1),
		Long: "Print what is stored in a topic from now on, until Ctrl-C. It belongs to no group and commits nothing: brokers keep no trace of it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), 0, func(ctx context.Context, a *troupe.Admin) error {
				c.say("following %s; end with Ctrl-C", args[0])
				return c.tail(ctx, a, args[0], count)
			})
		},
	}
	verb.Flags().Int64Var(&count, "count", 0, "end after this many messages; 0: no limit")
	return verb
}

// tail prints what is stored until ctx ends or there was enough. Trouble on the way is told and does not end it.
func (c *common) tail(ctx context.Context, a *troupe.Admin, topic string, count int64) error {
	n := int64(0)
	var trouble error // told when it is known that it is not the end
	for m, err := range a.Tail(ctx, topic) {
		if trouble != nil {
			c.say("tail: %v", trouble)
		}
		if trouble = err; err != nil {
			continue
		}
		if err := c.line(m); err != nil {
			return err
		}
		if n++; n == count {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // Ctrl-C ends it, not in error
	}
	return trouble
}

// span reads --from and --to.
func span(from, to string) (begin, end time.Time, err error) {
	if begin, err = time.Parse(time.RFC3339, from); err != nil {
		return begin, end, usage("--from %s: must be a time such as 2026-12-01T10:00:00Z", from)
	}
	if to == "" {
		return begin, time.Now(), nil
	}
	if end, err = time.Parse(time.RFC3339, to); err != nil {
		return begin, end, usage("--to %s: must be a time such as 2026-12-01T10:00:00Z", to)
	}
	if !begin.Before(end) {
		return begin, end, usage("--from must be before --to")
	}
	return begin, end, nil
}

func (c *common) query(ctx context.Context, topic, key, from, to string, most int) error {
	switch {
	case (key == "") == (from == ""):
		return usage("one of --key and --from is required: by what to look for messages")
	case key != "" && to != "":
		return usage("--to goes with --from")
	case most < 1:
		return usage("--max %d: must be at least 1", most)
	case key != "":
		return c.administer(ctx, verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
			found, err := a.MessagesByKey(ctx, topic, key, most)
			if err != nil {
				return err
			}
			for _, m := range found {
				if err := c.line(m); err != nil {
					return err
				}
			}
			c.say("%d messages", len(found))
			return nil
		})
	}
	begin, end, err := span(from, to)
	if err != nil {
		return err
	}
	return c.administer(ctx, 0, func(ctx context.Context, a *troupe.Admin) error {
		n := 0
		for m, err := range a.MessagesByTime(ctx, topic, begin, end) {
			if err != nil {
				return err
			}
			if err := c.line(m); err != nil {
				return err
			}
			if n++; n == most {
				break
			}
		}
		c.say("%d messages", n)
		return nil
	})
}

// messageRecord is a message as answers show it.
func messageRecord(m *troupe.Message) record {
	return record{
		"id": m.MessageID(), "offset_id": m.OffsetID(), "topic": m.GetTopic(), "broker": m.GetBroker(), "queue": m.GetQueueId(), "offset": m.GetQueueOffset(),
		"tag": m.Tag(), "keys": m.Keys(), "reconsume_times": m.GetReconsumeTimes(),
		"born": m.BornTime().Format(time.RFC3339Nano), "stored": m.StoreTime().Format(time.RFC3339Nano), "body": string(m.GetBody()),
	}
}

// line prints one message on a line.
func (c *common) line(m *troupe.Message) error {
	if c.json {
		return writeJSON(c.streams.Out, messageRecord(m))
	}
	_, err := fmt.Fprintf(c.streams.Out, "%s/%d@%d %s\n", m.GetBroker(), m.GetQueueId(), m.GetQueueOffset(), m.GetBody())
	return err
}

// show prints everything of one message.
func (c *common) show(m *troupe.Message) error {
	r := messageRecord(m)
	properties := maps.Collect(m.Properties())
	r["properties"] = properties
	if c.json {
		return writeJSON(c.streams.Out, r)
	}
	var rows []record
	for _, field := range []string{"id", "offset_id", "topic", "broker", "queue", "offset", "tag", "keys", "reconsume_times", "born", "stored"} {
		rows = append(rows, record{"field": field, "value": r[field]})
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		rows = append(rows, record{"field": "property " + name, "value": properties[name]})
	}
	if err := c.table([]string{"field", "value"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.streams.Out, "\n%s\n", m.GetBody())
	return err
}
