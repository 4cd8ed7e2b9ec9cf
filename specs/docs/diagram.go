package docs

import (
	"fmt"
	"slices"
	"strings"
)

// Diagram draws the cast as a Mermaid flowchart: who supervises whom, and in each box the messages that come in.
func Diagram(cards []*Card) string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for _, c := range cards {
		fmt.Fprintf(&b, "  %s[\"<b>%s</b>%s\"]\n", c.Actor, c.Actor, lines(c.In()))
	}
	for _, c := range cards {
		parent := c.Fields["Parent"]
		if slices.ContainsFunc(cards, func(o *Card) bool { return o.Actor == parent }) {
			fmt.Fprintf(&b, "  %s --> %s\n", parent, c.Actor)
		}
	}
	b.WriteString("```\n")
	return b.String()
}

func lines(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i%3 == 0 {
			b.WriteString("<br/>")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	return b.String()
}

// CastTable lists the actors with what they are, own and promise.
func CastTable(cards []*Card) string {
	var b strings.Builder
	b.WriteString("| actor | owns | states | on a restart | does the job of |\n|---|---|---|---|---|\n")
	for _, c := range cards {
		fmt.Fprintf(&b, "| [%s](actors/%s) | %s | %s | %s | %s |\n", c.Actor, c.File, c.Fields["Owns"], orDash(c.Fields["States"]),
			orDash(c.Fields["Restart"]), orDash(c.Fields["Source"]))
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
