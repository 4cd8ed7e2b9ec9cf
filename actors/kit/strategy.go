package kit

import "time"

// Defaults of a Strategy.
const (
	DefaultInitial = 100 * time.Millisecond
	DefaultMax     = 30 * time.Second
	DefaultWindow  = time.Minute
)

// longest is what back-offs are cut to, so that no arithmetic overflows.
const longest = 365 * 24 * time.Hour

// Strategy is how an actor is treated when it panics: it is restarted after a back-off that doubles with each consecutive
// failure, or given up. A failure is consecutive if the incarnation lived no longer than Window. There is no strategy that ends
// the process, and none that touches siblings.
type Strategy struct {
	// Initial is the back-off after the first failure. Default 100 ms.
	Initial time.Duration
	// Max caps the back-off, before the jitter of ± 20 %. Default 30 s.
	Max time.Duration
	// GiveUpAfter is the number of consecutive failures with which the actor is stopped instead of restarted; its parent gets
	// ChildStopped with a *PanicError. 0: never.
	GiveUpAfter int
	// Window is how long an incarnation has to live for its failure to count as the first again. Default 1 min.
	Window time.Duration
}

func (s Strategy) withDefaults() Strategy {
	if s.Initial <= 0 {
		s.Initial = DefaultInitial
	}
	if s.Max <= 0 {
		s.Max = DefaultMax
	}
	s.Initial = min(s.Initial, longest)
	s.Max = min(max(s.Max, s.Initial), longest)
	if s.Window <= 0 {
		s.Window = DefaultWindow
	}
	return s
}

// backoff is the wait before the restart that follows the n-th consecutive failure, n from 1; jitter is in [0,1).
func (s Strategy) backoff(n int, jitter float64) time.Duration {
	d := s.Initial
	for ; n > 1 && d < s.Max; n-- {
		d *= 2
	}
	return time.Duration(float64(min(d, s.Max)) * (0.8 + 0.4*jitter))
}

// streak counts consecutive failures of one actor.
type streak struct{ failures int }

// fail notes a failure of an incarnation that lived for lived, and says whether to give up, and if not how long to wait.
func (k *streak) fail(s Strategy, lived time.Duration, jitter func() float64) (giveUp bool, wait time.Duration) {
	if lived > s.Window {
		k.failures = 0
	}
	k.failures++
	if s.GiveUpAfter > 0 && k.failures >= s.GiveUpAfter {
		return true, 0
	}
	return false, s.backoff(k.failures, jitter())
}
