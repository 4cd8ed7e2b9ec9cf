package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// figures are the samples of one client in one scenario.
type figures []sample

// column is one figure of a table.
type column struct {
	name   string
	of     func(sample) float64
	digits int
}

func perMillion(seconds func(sample) float64) func(sample) float64 {
	return func(s sample) float64 { return seconds(s) / float64(s.Messages) * 1e6 }
}

// counted is a figure that Java cannot tell, which leaves it 0.
func counted(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

var columns = map[string][]column{
	"backlog": throughput,
	"pull":    throughput,
	"hand":    throughput,
	"latency": live,
	"slow":    live,
	"orderly": {
		{"msg/s", func(s sample) float64 { return s.MessagesPerSecond }, 0},
		{"client CPU s/M", perMillion(func(s sample) float64 { return s.CPUSeconds }), 2},
		{"allocs/msg", func(s sample) float64 { return counted(s.Mallocs) }, 2},
		{"first message s", func(s sample) float64 { return s.FirstSeconds }, 3},
	},
	"join":  change,
	"leave": change,
	"crash": change,
	"idle": {
		{"CPU s", func(s sample) float64 { return s.CPUSeconds }, 2},
		{"CPU s of the start", func(s sample) float64 { return s.StartCPUSeconds }, 2},
		{"RSS MB", func(s sample) float64 { return s.RSSMB }, 0},
		{"goroutines or threads", func(s sample) float64 { return s.Tasks }, 0},
		{"log lines", func(s sample) float64 { return s.LogLines }, 0},
	},
}

var throughput = []column{
	{"msg/s", func(s sample) float64 { return s.MessagesPerSecond }, 0},
	{"client CPU s/M", perMillion(func(s sample) float64 { return s.CPUSeconds }), 2},
	{"broker CPU s/M", perMillion(func(s sample) float64 { return s.BrokerCPU }), 2},
	{"allocs/msg", func(s sample) float64 { return counted(s.Mallocs) }, 2},
	{"B/msg", func(s sample) float64 { return counted(s.Bytes) }, 0},
	{"peak MB", func(s sample) float64 { return s.PeakMB }, 0},
}

var change = []column{
	{"longest gap ms", func(s sample) float64 { return s.GapMS }, 0},
	{"longest wait ms", func(s sample) float64 { return s.WaitMS }, 0},
	{"duplicates", func(s sample) float64 { return s.Duplicates }, 0},
	{"lost", func(s sample) float64 { return s.Lost }, 0},
}

var live = []column{
	{"p50 ms", func(s sample) float64 { return s.P50 }, 2},
	{"p99 ms", func(s sample) float64 { return s.P99 }, 2},
	{"p99.9 ms", func(s sample) float64 { return s.P999 }, 2},
	{"max ms", func(s sample) float64 { return s.Max }, 1},
	{"client CPU s", func(s sample) float64 { return s.CPUSeconds }, 2},
}

// median and spread of a column.
func (f figures) spread(c column) (median, least, most float64) {
	var all []float64
	for _, s := range f {
		all = append(all, c.of(s))
	}
	slices.Sort(all)
	return all[len(all)/2], all[0], all[len(all)-1]
}

// printTable writes medians with their spread, and the ratios of Troupe to the others.
func printTable(w io.Writer, scenario string, clients []string, rows map[string]figures) {
	cols := columns[scenario]
	_, _ = fmt.Fprintf(w, "| %s |", scenario)
	for _, c := range cols {
		_, _ = fmt.Fprintf(w, " %s |", c.name)
	}
	_, _ = fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(cols)))
	for _, name := range clients {
		if len(rows[name]) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(w, "| %s |", name)
		for _, c := range cols {
			m, least, most := rows[name].spread(c)
			if math.IsNaN(m) {
				_, _ = fmt.Fprint(w, " – |")
				continue
			}
			_, _ = fmt.Fprintf(w, " %s (%s–%s) |", number(m, c.digits), number(least, c.digits), number(most, c.digits))
		}
		_, _ = fmt.Fprintln(w)
	}
	ours := rows["troupe"]
	for _, name := range clients {
		if name == "troupe" || len(ours) == 0 || len(rows[name]) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(w, "| troupe ÷ %s |", name)
		for _, c := range cols {
			m, _, _ := ours.spread(c)
			if o, _, _ := rows[name].spread(c); o > 0 {
				_, _ = fmt.Fprintf(w, " %.2f |", m/o)
			} else {
				_, _ = fmt.Fprint(w, " – |")
			}
		}
		_, _ = fmt.Fprintln(w)
	}
}

// number writes thousands with separators.
func number(v float64, digits int) string {
	s := fmt.Sprintf("%.*f", digits, v)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}
