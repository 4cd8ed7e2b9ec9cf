package embedded

import (
	"context"
	"fmt"
	"sync"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// events wakes those who wait for something to become true, after anything has happened.
type events struct {
	mu      sync.Mutex
	waiting int
	changed chan struct{}
}

// happened wakes everybody; cheap when nobody waits.
func (e *events) happened() {
	e.mu.Lock()
	if e.waiting > 0 && e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
	e.mu.Unlock()
}

// await returns as soon as the condition holds, which is asked now and after each event; or the context's error.
func (e *events) await(ctx context.Context, cond func() bool) error {
	e.mu.Lock()
	e.waiting++
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.waiting--
		e.mu.Unlock()
	}()
	for {
		e.mu.Lock()
		if e.changed == nil {
			e.changed = make(chan struct{})
		}
		changed := e.changed
		e.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if cond() {
				return nil
			}
			return context.Cause(ctx)
		}
	}
}

// Await returns as soon as cond holds. It is asked at once and again after everything that happens in the broker: a
// request handled, a message stored, a member come or gone, an offset committed. It must not block. The error is the
// context's cause.
func (b *Broker) Await(ctx context.Context, cond func() bool) error {
	return b.events.await(ctx, cond)
}

// AwaitMembers waits until a group has exactly n members.
func (b *Broker) AwaitMembers(ctx context.Context, group string, n int) error {
	err := b.Await(ctx, func() bool { return len(b.Members(group)) == n })
	if err != nil {
		return fmt.Errorf("await %d members of %s, have %d: %w", n, group, len(b.Members(group)), err)
	}
	return nil
}

// AwaitCommitted waits until a group has committed at least offset on a queue.
func (b *Broker) AwaitCommitted(ctx context.Context, group, topic string, queue int32, offset int64) error {
	err := b.Await(ctx, func() bool {
		o, ok := b.Committed(group, topic, queue)
		return ok && o >= offset
	})
	if err != nil {
		o, ok := b.Committed(group, topic, queue)
		return fmt.Errorf("await offset %d of %s on %s/%d, have %d (%t): %w", offset, group, topic, queue, o, ok, err)
	}
	return nil
}

// AwaitDrained waits until a group has committed the end of every queue of a topic that has messages.
func (b *Broker) AwaitDrained(ctx context.Context, group, topic string) error {
	err := b.Await(ctx, func() bool { return b.Lag(group, topic) == 0 })
	if err != nil {
		return fmt.Errorf("await %s to drain %s, lag %d: %w", group, topic, b.Lag(group, topic), err)
	}
	return nil
}

// AwaitRequests waits until at least n requests of a kind have been seen since the start.
func (b *Broker) AwaitRequests(ctx context.Context, code wire.RequestCode, n int64) error {
	err := b.Await(ctx, func() bool { return b.faults.Seen(code) >= n })
	if err != nil {
		return fmt.Errorf("await %d requests %s, have %d: %w", n, code, b.faults.Seen(code), err)
	}
	return nil
}

// AwaitMessages waits until a topic has at least n messages.
func (b *Broker) AwaitMessages(ctx context.Context, topic string, n int64) error {
	err := b.Await(ctx, func() bool { return b.CountMessages(topic) >= n })
	if err != nil {
		return fmt.Errorf("await %d messages in %s, have %d: %w", n, topic, b.CountMessages(topic), err)
	}
	return nil
}
