package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	troupe "github.com/troupe-mq/troupe/runtime"
)

func newTopic(c *common) *cobra.Command {
	var all bool
	list := &cobra.Command{
		Use: "list", Short: "List the topics of the cluster", Args: cobra.NoArgs,
		Long: "List the topics of the cluster. Without --all, topics of the cluster itself, of retries and of dead letters are left out.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error { return c.listTopics(ctx, a, all) })
		},
	}
	list.Flags().BoolVar(&all, "all", false, "list every topic")

	var queues int
	create := &cobra.Command{
		Use: "create TOPIC", Short: "Make a topic at each broker, or change how many queues it has", Args: cobra.ExactArgs(1),
		Example: "  troupe topic create orders --queues 8",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
				if err := a.CreateTopic(ctx, args[0], queues); err != nil {
					return err
				}
				c.say("topic %s has %d queues at each broker", args[0], queues)
				return nil
			})
		},
	}
	create.Flags().IntVar(&queues, "queues", 8, "queues at each broker, from 1 to 1024")

	remove := &cobra.Command{
		Use: "delete TOPIC", Short: "Delete a topic with its messages", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
				if err := a.DeleteTopic(ctx, args[0]); err != nil {
					return err
				}
				c.say("topic %s is deleted", args[0])
				return nil
			})
		},
	}
	describe := &cobra.Command{
		Use: "describe TOPIC", Short: "Show a topic's queues with their offsets, and who consumes it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.administer(cmd.Context(), verbTimeout, func(ctx context.Context, a *troupe.Admin) error {
				return c.describeTopic(ctx, a, args[0])
			})
		},
	}
	return parent("topic", "List, make, delete and describe topics", list, create, remove, describe)
}

func (c *common) listTopics(ctx context.Context, a *troupe.Admin, all bool) error {
	topics, err := a.Topics(ctx, all)
	if err != nil {
		return err
	}
	var records []record
	for _, t := range topics {
		records = append(records, record{"topic": t})
	}
	return c.table([]string{"topic"}, records)
}

func (c *common) describeTopic(ctx context.Context, a *troupe.Admin, topic string) error {
	info, err := a.DescribeTopic(ctx, topic)
	if err != nil {
		return err
	}
	var records []record
	sum := int64(0)
	for _, q := range info.Queues {
		r := queueRecord(q.Queue)
		r["min"], r["max"], r["messages"], r["last_stored"] = q.MinOffset, q.MaxOffset, q.MaxOffset-q.MinOffset, when(q.LastStored)
		sum += q.MaxOffset - q.MinOffset
		records = append(records, r)
	}
	if c.json {
		r := record{"topic": topic, "messages": sum, "groups": info.Groups, "brokers": record{}}
		for _, b := range info.Brokers {
			i := slices.IndexFunc(info.Routes, func(g *troupe.QueueGroup) bool { return g.GetBroker() == b.GetBroker() })
			if i >= 0 {
				r["brokers"].(record)[b.GetBroker()] = record{
					"read_queues": info.Routes[i].GetReadQueues(), "write_queues": info.Routes[i].GetWriteQueues(), "perm": perm(info.Routes[i].GetPerm()),
				}
			}
		}
		if err := writeJSON(c.streams.Out, r); err != nil {
			return err
		}
		return c.table(nil, records)
	}
	for _, g := range info.Routes {
		if _, err := fmt.Fprintf(c.streams.Out, "%s on %s: %d queues to read, %d to write, %s\n", topic, g.GetBroker(), g.GetReadQueues(), g.GetWriteQueues(), perm(g.GetPerm())); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(c.streams.Out, "%d messages; groups: %s\n\n", sum, cell(info.Groups)); err != nil {
		return err
	}
	return c.table([]string{"broker", "queue", "min", "max", "messages", "last_stored"}, records)
}

// perm is a topic's permission for people: rw, r, w or none.
func perm(bits int32) string {
	switch bits & 6 {
	case 6:
		return "rw"
	case 4:
		return "r"
	case 2:
		return "w"
	}
	return "none"
}
