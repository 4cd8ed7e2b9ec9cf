package kit

import "github.com/asynkron/protoactor-go/actor"

// Revive sends an actor the library's request to restart, as an old timer or a sibling's strategy might.
func Revive(r Ref) { r.cell.mailbox.PostSystemMessage(&actor.Restart{}) }

// PendingTimers is how many timers an actor holds.
func PendingTimers(r Ref) int {
	s := &r.cell.timers
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for t := s.first; t != nil; t = t.next {
		n++
	}
	if s.restart != nil {
		n++
	}
	return n
}

// Backoff is Strategy.backoff, for its table.
func Backoff(s Strategy, n int, jitter float64) string {
	return s.withDefaults().backoff(n, jitter).String()
}
