package actors

import "time"

// backOff gives the delay before try number n+1 after n failures in a row: first, doubling, never more than last.
func backOff(first, last time.Duration, failures int) time.Duration {
	d := first
	for i := 1; i < failures && d < last; i++ {
		d *= 2
	}
	return min(d, last)
}
