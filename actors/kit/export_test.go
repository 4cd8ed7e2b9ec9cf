package kit

// Backoff is Strategy.backoff, for its table.
func Backoff(s Strategy, n int, jitter float64) string {
	return s.withDefaults().backoff(n, jitter).String()
}
