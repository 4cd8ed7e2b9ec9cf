package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// record is one object of an answer: a line of JSON, or a row of a table.
type record map[string]any

// table writes records under the names of their fields: one JSON object a line, or columns for people.
func (c *common) table(fields []string, records []record) error {
	if c.json {
		for _, r := range records {
			if err := writeJSON(c.streams.Out, r); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(c.streams.Out, 0, 0, 2, ' ', 0)
	heads := make([]string, len(fields))
	for i, f := range fields {
		heads[i] = strings.ToUpper(strings.ReplaceAll(f, "_", " "))
	}
	if _, err := fmt.Fprintln(w, strings.Join(heads, "\t")); err != nil {
		return err
	}
	for _, r := range records {
		cells := make([]string, len(fields))
		for i, f := range fields {
			cells[i] = cell(r[f])
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		if v == "" {
			return "-"
		}
		return v
	case []string:
		if len(v) == 0 {
			return "-"
		}
		return strings.Join(v, ",")
	default:
		return fmt.Sprint(v)
	}
}

// when is a time as answers show it; nil for none.
func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// queueRecord begins a record about a queue.
func queueRecord(q *troupe.Queue) record {
	return record{"topic": q.GetTopic(), "broker": q.GetBroker(), "queue": q.GetId()}
}

// verbTimeout bounds a verb that only asks or changes something.
const verbTimeout = 30 * time.Second

// administer runs a verb with an Admin.
func (c *common) administer(ctx context.Context, limit time.Duration, do func(ctx context.Context, a *troupe.Admin) error) error {
	a, err := troupe.OpenAdmin(c.cluster(), troupe.WithLogger(c.logger()))
	if err != nil {
		return &usageError{err}
	}
	defer func() { _ = a.Close() }() // nothing is kept
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return do(ctx, a)
}

// parent is a verb that only has others below it.
func parent(use, short string, verbs ...*cobra.Command) *cobra.Command {
	verb := &cobra.Command{Use: use, Short: short}
	verb.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unknown verb %q of %s", args[0], use)
		}
		return nil
	}
	verb.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, v := range verbs {
		v.Args = wrongArgs(v.Args)
	}
	verb.AddCommand(verbs...)
	return verb
}
