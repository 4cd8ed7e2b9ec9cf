package topology

import (
	"fmt"
	"strings"

	"github.com/troupe-mq/troupe/messages"
)

// mermaid draws the tree as a flowchart; restarted and busy actors are marked by class.
func mermaid(t *messages.Topology) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	numbers := numbered(t)
	for i, a := range t.GetActors() {
		fmt.Fprintf(&b, "  n%d[\"%s\"]%s\n", i, mermaidText(label(a)), mermaidClass(a))
	}
	for i, a := range t.GetActors() {
		if p, ok := numbers[a.GetParent()]; ok {
			fmt.Fprintf(&b, "  n%d --> n%d\n", p, i)
		}
	}
	b.WriteString("  classDef busy fill:#dff0d8\n  classDef failed fill:#f2dede")
	return b.String()
}

// dot draws the tree for Graphviz.
func dot(t *messages.Topology) string {
	var b strings.Builder
	b.WriteString("digraph troupe {\n  rankdir=LR;\n  node [shape=box, style=filled, fillcolor=white, fontname=\"Helvetica\"];\n")
	numbers := numbered(t)
	for i, a := range t.GetActors() {
		color := ""
		if c := class(a); c == "failed" {
			color = ", fillcolor=\"#f2dede\""
		} else if c == "busy" {
			color = ", fillcolor=\"#dff0d8\""
		}
		fmt.Fprintf(&b, "  n%d [label=%s%s];\n", i, dotText(label(a)), color)
	}
	for i, a := range t.GetActors() {
		if p, ok := numbers[a.GetParent()]; ok {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", p, i)
		}
	}
	b.WriteString("}")
	return b.String()
}

func numbered(t *messages.Topology) map[string]int {
	numbers := make(map[string]int, len(t.GetActors()))
	for i, a := range t.GetActors() {
		numbers[a.GetId()] = i
	}
	return numbers
}

func label(a *messages.ActorSnapshot) string {
	s := fmt.Sprintf("%s\n%s\n%s, %d done", a.GetRole(), a.Name(), a.StateText(), a.GetProcessed())
	if a.GetRestarts() > 0 {
		s += fmt.Sprintf("\n%d restarts", a.GetRestarts())
	}
	return s
}

func class(a *messages.ActorSnapshot) string {
	switch {
	case a.GetRestarts() > 0:
		return "failed"
	case a.GetState() == messages.ActorState_ACTOR_STATE_BUSY:
		return "busy"
	}
	return ""
}

func mermaidClass(a *messages.ActorSnapshot) string {
	if c := class(a); c != "" {
		return ":::" + c
	}
	return ""
}

// mermaidText keeps what has a meaning in Mermaid's strings out of them.
func mermaidText(s string) string {
	return strings.NewReplacer(`"`, "#quot;", "%", "#37;", "#", "#35;", "<", "#lt;", ">", "#gt;", "\n", "<br/>").Replace(s)
}

func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
