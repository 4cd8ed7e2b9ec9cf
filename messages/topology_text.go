package messages

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Text draws the actors with guide lines, then the queues of each group, the connections and the directives.
func (t *Topology) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s\n", t.GetClientId(), time.UnixMilli(t.GetTakenAt()).UTC().Format("15:04:05.000"))
	below := childrenOf(t)
	for _, root := range below[""] {
		branch(&b, below, root, "", "")
	}
	for _, g := range t.GetGroups() {
		if g.GetPolls() != nil {
			pullGroupText(&b, g, t.GetTakenAt())
		} else {
			groupText(&b, g)
		}
	}
	if len(t.GetConnections()) > 0 {
		b.WriteString("\nconnections\n")
		for _, c := range t.GetConnections() {
			state := "up"
			if !c.GetUp() {
				state = "down"
			}
			fmt.Fprintf(&b, "  %-21s %-11s %-4s pending %d", c.GetAddress(), c.GetRole(), state, c.GetPending())
			if c.GetLastError() != "" {
				fmt.Fprintf(&b, "  %s", c.GetLastError())
			}
			b.WriteByte('\n')
		}
	}
	if len(t.GetDirectives()) > 0 {
		b.WriteString("\nevents\n")
		for _, name := range slices.Sorted(maps.Keys(t.GetDirectives())) {
			fmt.Fprintf(&b, "  %-22s %d\n", name, t.GetDirectives()[name])
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func childrenOf(t *Topology) map[string][]*ActorSnapshot {
	known := make(map[string]bool, len(t.GetActors()))
	for _, a := range t.GetActors() {
		known[a.GetId()] = true
	}
	below := make(map[string][]*ActorSnapshot)
	for _, a := range t.GetActors() {
		parent := a.GetParent()
		if !known[parent] {
			parent = ""
		}
		below[parent] = append(below[parent], a)
	}
	return below
}

func branch(b *strings.Builder, below map[string][]*ActorSnapshot, a *ActorSnapshot, first, rest string) {
	fmt.Fprintf(b, "%s%s\n", first, describe(a))
	kids := below[a.GetId()]
	for i, kid := range kids {
		if i == len(kids)-1 {
			branch(b, below, kid, rest+"└─ ", rest+"   ")
		} else {
			branch(b, below, kid, rest+"├─ ", rest+"│  ")
		}
	}
}

// Name is the last part of the actor's path.
func (a *ActorSnapshot) Name() string {
	id := a.GetId()
	return id[strings.LastIndexByte(id, '/')+1:]
}

// StateText is the actor's own word for its state, or the kernel's.
func (a *ActorSnapshot) StateText() string {
	if a.GetPhase() != "" {
		return a.GetPhase()
	}
	return strings.ToLower(strings.TrimPrefix(a.GetState().String(), "ACTOR_STATE_"))
}

func describe(a *ActorSnapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s] %s, %d done", a.Name(), a.GetRole(), a.StateText(), a.GetProcessed())
	if a.GetMailboxDepth() > 0 {
		fmt.Fprintf(&b, ", %d waiting", a.GetMailboxDepth())
	}
	for _, f := range a.GetFacts() {
		fmt.Fprintf(&b, ", %s %s", f.GetName(), f.GetValue())
	}
	if a.GetRestarts() > 0 {
		fmt.Fprintf(&b, ", %d restarts, last: %s on %s", a.GetRestarts(), a.GetLastFailure().GetReason(), a.GetLastFailure().GetMessage())
	}
	if a.GetInTurnMillis() > 1000 {
		fmt.Fprintf(&b, ", STUCK in a turn for %d ms", a.GetInTurnMillis())
	}
	return b.String()
}

func groupText(b *strings.Builder, g *GroupFacts) {
	fmt.Fprintf(b, "\ngroup %s: %s, %d members, %d of %d workers busy", g.GetGroup(), g.GetPhase(), len(g.GetMembers()),
		g.GetWorkersBusy(), g.GetWorkers())
	if g.GetRetriesInFlight() > 0 {
		fmt.Fprintf(b, ", %d hand-backs under way", g.GetRetriesInFlight())
	}
	b.WriteByte('\n')
	if len(g.GetQueues()) == 0 {
		return
	}
	width := len("queue")
	for _, q := range g.GetQueues() {
		width = max(width, len(q.GetQueue().Text()))
	}
	fmt.Fprintf(b, "  %-*s %10s %10s %10s %8s %7s %7s %7s  %s\n", width, "queue", "committed", "next", "broker max", "lag", "cached",
		"running", "failed", "state")
	for _, q := range g.GetQueues() {
		fmt.Fprintf(b, "  %-*s %10d %10d %10d %8d %7d %7d %7d  %s\n", width, q.GetQueue().Text(), q.GetCommittedOffset(), q.GetNextOffset(),
			q.GetBrokerMaxOffset(), q.GetLag(), q.GetCachedMessages(), q.GetInFlight(), q.GetFailed(), queueStateText(q))
	}
}

// pullGroupText says what waits to be polled, who waits for it, and what was polled and is not finished.
func pullGroupText(b *strings.Builder, g *GroupFacts, now int64) {
	p := g.GetPolls()
	fmt.Fprintf(b, "\ngroup %s: %s, %d members, %d messages of %d queues wait to be polled, %d in Poll, %d batches unfinished", g.GetGroup(), g.GetPhase(),
		len(g.GetMembers()), p.GetMessages(), p.GetQueues(), p.GetWaiting(), p.GetUnfinished())
	if at := p.GetLastPollAt(); at > 0 {
		fmt.Fprintf(b, ", polled %s ago", (time.Duration(now-at) * time.Millisecond).String())
	} else {
		b.WriteString(", never polled")
	}
	b.WriteByte('\n')
	if len(g.GetQueues()) == 0 {
		return
	}
	width := len("queue")
	for _, q := range g.GetQueues() {
		width = max(width, len(q.GetQueue().Text()))
	}
	fmt.Fprintf(b, "  %-*s %10s %10s %10s %10s %8s %7s %10s  %s\n", width, "queue", "committed", "position", "next", "broker max", "lag", "cached",
		"unfinished", "state")
	for _, q := range g.GetQueues() {
		fmt.Fprintf(b, "  %-*s %10d %10d %10d %10d %8d %7d %10d  %s\n", width, q.GetQueue().Text(), q.GetCommittedOffset(), q.GetPosition(), q.GetNextOffset(),
			q.GetBrokerMaxOffset(), q.GetLag(), q.GetCachedMessages(), q.GetUnfinished(), queueStateText(q))
	}
}

func queueStateText(q *QueueFacts) string {
	s := q.GetPhase()
	if q.GetWaiting() != "" {
		s += ", " + q.GetWaiting()
	}
	if age := time.Duration(q.GetOldestAgeMillis()) * time.Millisecond; age > time.Second {
		s += ", oldest in flight for " + age.Round(time.Second).String()
	}
	return s
}
