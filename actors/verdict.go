package actors

import (
	"errors"
	"fmt"
	"time"
)

// DelayLevels are the broker's default delays by level, level 1 first (messageDelayLevel).
var DelayLevels = []time.Duration{
	1 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	1 * time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Minute, 5 * time.Minute, 6 * time.Minute, 7 * time.Minute,
	8 * time.Minute, 9 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 1 * time.Hour, 2 * time.Hour,
}

// Delay levels of a hand-back with a meaning of their own.
const (
	levelDeadLetter int32 = -1
	levelByBroker   int32 = 0
)

type retryAfter struct {
	delay time.Duration
	err   error
}

func (e *retryAfter) Error() string {
	return fmt.Sprintf("%v (again in %v)", e.err, e.delay)
}
func (e *retryAfter) Unwrap() error { return e.err }

type deadLetter struct{ err error }

func (e *deadLetter) Error() string { return fmt.Sprintf("%v (dead letter)", e.err) }
func (e *deadLetter) Unwrap() error { return e.err }

var errUnexplained = errors.New("no reason given")

// RetryAfter makes the verdict "again, not before d". The broker knows 18 delays: the first not below d is used, the last
// one for anything longer.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = errUnexplained
	}
	return &retryAfter{delay: d, err: err}
}

// DeadLetter makes the verdict "straight to %DLQ%group".
func DeadLetter(err error) error {
	if err == nil {
		err = errUnexplained
	}
	return &deadLetter{err: err}
}

// delayLevelOf reads the delay level that a handler's error asks for.
func delayLevelOf(err error) int32 {
	var dead *deadLetter
	if errors.As(err, &dead) {
		return levelDeadLetter
	}
	var again *retryAfter
	if errors.As(err, &again) {
		for i, d := range DelayLevels {
			if d >= again.delay {
				return int32(i + 1)
			}
		}
		return int32(len(DelayLevels))
	}
	return levelByBroker
}

// FailedAt makes the verdict of a batch handler for which only some messages failed: by index in the batch.
func FailedAt(failures map[int]error) error { return &failedAt{failures: failures} }

type failedAt struct{ failures map[int]error }

func (e *failedAt) Error() string {
	return fmt.Sprintf("%d messages of the batch failed", len(e.failures))
}

// first gives the index and the error of the first of n messages that failed; n and nil if none did.
func (e *failedAt) first(n int) (int, error) {
	least := n
	for i, err := range e.failures {
		if err != nil && i >= 0 && i < least {
			least = i
		}
	}
	return least, e.failures[least]
}

// failureOf gives the error of message i of a batch for which the handler returned err.
func failureOf(err error, i int) error {
	if partly, ok := errors.AsType[*failedAt](err); ok {
		return partly.failures[i]
	}
	return err
}
