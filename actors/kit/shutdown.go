package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ShutdownError names what was still running when the time for Shutdown was over.
type ShutdownError struct {
	// Actors are the paths of actors that had not ended.
	Actors []string
	// Works are the paths of actors whose work, given to Go, had not returned.
	Works []string
	// Cause is the context's error.
	Cause error
}

// Error lists the paths.
func (e *ShutdownError) Error() string {
	var parts []string
	if len(e.Actors) > 0 {
		parts = append(parts, "actors "+strings.Join(e.Actors, ", "))
	}
	if len(e.Works) > 0 {
		parts = append(parts, "work of "+strings.Join(e.Works, ", "))
	}
	if len(parts) == 0 {
		parts = append(parts, "goroutines")
	}
	return fmt.Sprintf("shutdown: still running: %s: %v", strings.Join(parts, "; "), e.Cause)
}

// Unwrap gives the cause.
func (e *ShutdownError) Unwrap() error { return e.Cause }

// Shutdown stops the root actors one after the other, the youngest first, each after what is in its mailbox, and waits for every
// actor, timer, piece of work and goroutine of the system to end. If ctx ends first, the rest is stopped at once, without being waited for,
// and the error is a *ShutdownError. It may be called again, also at the same time, to wait on: it is idempotent. It must
// not be called from an actor or from work.
func (s *System) Shutdown(ctx context.Context) error {
	roots := s.tree.close()
	for _, c := range slices.Backward(roots) {
		c.stop()
		select {
		case <-c.done():
			continue
		default:
		}
		select {
		case <-c.done():
		case <-ctx.Done():
			return s.abandon(ctx, roots)
		}
	}
	if s.works.wait(ctx) != nil || s.dispatcher.close(ctx) != nil {
		return s.abandon(ctx, nil)
	}
	s.closeLibrary()
	return nil
}

func (s *System) abandon(ctx context.Context, roots []*cell) error {
	e := &ShutdownError{Works: s.works.names(), Cause: ctx.Err()}
	for _, c := range s.tree.all() {
		if c.state.Load() != stateStopped {
			e.Actors = append(e.Actors, c.id)
		}
	}
	for _, c := range roots {
		c.kill()
	}
	_ = s.dispatcher.close(ctx) // ctx is over: this only keeps goroutines from parking again
	return e
}
