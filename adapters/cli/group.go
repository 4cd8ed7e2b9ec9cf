package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	troupe "github.com/troupe-mq/troupe/runtime"
)

func newGroup(c *common) *cobra.Command {
	var all bool
	list := &cobra.Command{
		Use: "list", Short: "List the consumer groups of the cluster", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error { return c.listGroups(ctx, a, all) })
		},
	}
	list.Flags().BoolVar(&all, "all", false, "list the cluster's own groups, too")
	describe := &cobra.Command{
		Use: "describe GROUP", Short: "Show a group's members, and where it stands in each queue", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
				return c.describeGroup(ctx, a, args[0])
			})
		},
	}
	var topic, to string
	reset := &cobra.Command{
		Use: "reset-offset GROUP --topic TOPIC --to first|last|TIME|OFFSET", Short: "Make a group go on elsewhere", Args: cobra.ExactArgs(1),
		Long: "Make a group go on elsewhere in a topic. Members that run go on there by themselves; without members the offsets are stored.\n" +
			"Brokers of 4.x move running members by time only.",
		Example: "  troupe group reset-offset billing --topic orders --to first\n" +
			"  troupe group reset-offset billing --topic orders --to 2026-12-01T10:00:00Z",
		RunE: func(cmd *cobra.Command, args []string) error {
			if topic == "" {
				return usage("--topic is required: name the topic in which the group goes on elsewhere")
			}
			target, err := resetTo(to)
			if err != nil {
				return err
			}
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
				moved, err := a.ResetOffsets(ctx, args[0], topic, target)
				if err != nil {
					return err
				}
				return c.moved(moved)
			})
		},
	}
	reset.Flags().StringVar(&topic, "topic", "", "topic (required)")
	reset.Flags().StringVar(&to, "to", "", "first, last, a time such as 2026-12-01T10:00:00Z, or an offset for each queue (required)")
	var topics []string
	clone := &cobra.Command{
		Use: "clone-offset FROM TO", Short: "Make a group stand where another one stands", Args: cobra.ExactArgs(2),
		Long: "Make the group TO, which must have no member online, stand where the group FROM stands. It is made if brokers do not know it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
				moved, err := a.CloneOffsets(ctx, args[0], args[1], topics...)
				if err != nil {
					return err
				}
				return c.moved(moved)
			})
		},
	}
	clone.Flags().StringSliceVar(&topics, "topic", nil, "topics, separated by commas; default: all of FROM")
	remove := &cobra.Command{
		Use: "delete GROUP", Short: "Delete a group with its offsets and its retries", Args: cobra.ExactArgs(1),
		Long: "Delete a group, which must have no member online, with its offsets and its retry topic. Its dead letters stay in %DLQ%GROUP.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
				if err := a.DeleteGroup(ctx, args[0]); err != nil {
					return err
				}
				c.say("group %s is deleted; its dead letters, if any, are still in %%DLQ%%%s", args[0], args[0])
				return nil
			})
		},
	}
	return parent("group", "List, describe, move, clone and delete consumer groups", list, describe, reset, clone, remove)
}

// resetTo reads --to.
func resetTo(to string) (troupe.ResetTo, error) {
	switch to {
	case "":
		return troupe.ResetTo{}, usage("--to is required: first, last, a time such as 2026-12-01T10:00:00Z, or an offset")
	case "first":
		return troupe.ResetToFirst(), nil
	case "last":
		return troupe.ResetToLast(), nil
	}
	if offset, err := strconv.ParseInt(to, 10, 64); err == nil && offset >= 0 {
		return troupe.ResetToOffset(offset), nil
	}
	at, err := time.Parse(time.RFC3339, to)
	if err != nil {
		return troupe.ResetTo{}, usage("--to %s: must be first, last, a time such as 2026-12-01T10:00:00Z, or an offset", to)
	}
	return troupe.ResetToTime(at), nil
}

func (c *common) listGroups(ctx context.Context, a *troupe.Admin, all bool) error {
	groups, err := a.Groups(ctx, all)
	if err != nil {
		return err
	}
	var records []record
	for _, g := range groups {
		info, err := a.DescribeGroup(ctx, g)
		if err != nil {
			return err
		}
		records = append(records, record{"group": g, "members": len(info.Members), "lag": info.Lag()})
	}
	return c.table([]string{"group", "members", "lag"}, records)
}

func (c *common) describeGroup(ctx context.Context, a *troupe.Admin, group string) error {
	info, err := a.DescribeGroup(ctx, group)
	if err != nil {
		return err
	}
	var members, queues []record
	for _, m := range info.Members {
		members = append(members, record{"member": m.GetClientId(), "address": m.GetAddress(), "language": m.GetLanguage()})
	}
	for _, q := range info.Queues {
		r := queueRecord(q.Queue)
		r["max"], r["committed"], r["lag"], r["last_consumed"] = q.MaxOffset, q.Committed, q.Lag(), when(q.LastConsumed)
		queues = append(queues, r)
	}
	subscriptions := record{}
	for _, s := range info.Subscriptions {
		subscriptions[s.GetTopic()] = s.GetExpression()
	}
	if c.json {
		r := record{"group": group, "members": members, "subscriptions": subscriptions, "lag": info.Lag()}
		if err := writeJSON(c.streams.Out, r); err != nil {
			return err
		}
		return c.table(nil, queues)
	}
	if _, err := fmt.Fprintf(c.streams.Out, "%s: %d members online, lag %d\n", group, len(members), info.Lag()); err != nil {
		return err
	}
	for _, s := range info.Subscriptions {
		if _, err := fmt.Fprintf(c.streams.Out, "subscribes to %s by %q\n", s.GetTopic(), s.GetExpression()); err != nil {
			return err
		}
	}
	if len(members) > 0 {
		_, _ = fmt.Fprintln(c.streams.Out)
		if err := c.table([]string{"member", "address", "language"}, members); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(c.streams.Out)
	return c.table([]string{"topic", "broker", "queue", "max", "committed", "lag", "last_consumed"}, queues)
}

// moved tells what became of queues.
func (c *common) moved(resets []troupe.Reset) error {
	var records []record
	for _, m := range resets {
		r := queueRecord(m.Queue)
		r["from"], r["to"] = m.From, m.To
		if m.From < 0 {
			r["from"] = nil
		}
		records = append(records, r)
	}
	return c.table([]string{"topic", "broker", "queue", "from", "to"}, records)
}
