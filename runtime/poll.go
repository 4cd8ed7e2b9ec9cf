package troupe

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/troupe-mq/troupe/actors/pollbuffer"
	"github.com/troupe-mq/troupe/messages"
)

// Batch is what a Poll returns: messages of one queue, in offset order. It may be kept as long as wanted.
type Batch struct {
	Queue *Queue
	// Messages are at least one.
	Messages []*Message

	handed *pollbuffer.Handed
}

// Done says that the program is done with the batch: it may be committed as soon as every earlier batch of its queue is done, too. It
// does not wait; Commit does. Done twice is no error. Errors: ErrQueueRevoked, ErrBatchOutdated: then nothing of the batch is committed
// by this member.
func (b Batch) Done() error {
	if b.handed == nil {
		return errNotPolled
	}
	if err := b.handed.Finish(); err != nil {
		return fmt.Errorf("batch of %s at %d: %w", b.Queue.Text(), b.handed.First(), err)
	}
	return nil
}

var errNotPolled = &ConfigError{Field: "batch", Value: nil, Reason: "was not returned by Poll"}

// Poll returns the next batch: the oldest of the queue whose turn it is. It waits until there is one. Unless the group commits
// manually, it first finishes the batch that the last Poll returned, also if it returns an error.
// Errors: ctx's; ErrNotSubscribed; ErrPolling if another Poll of a group that commits by itself is under way; ErrNotStarted;
// ErrClosed, also as soon as a shutdown begins: what was polled by then can still be committed for PullConfig.RevokeGrace.
func (g *PullGroup) Poll(ctx context.Context) (Batch, error) {
	door, err := g.door()
	if err != nil {
		return Batch{}, err
	}
	if g.idle() {
		return Batch{}, ErrNotSubscribed
	}
	h, ms, err := door.Take(ctx)
	if err != nil {
		return Batch{}, err
	}
	return Batch{Queue: h.Queue(), Messages: ms, handed: h}, nil
}

// Batches polls for ever. It ends without an error when ctx ends or the Runtime is shut down, and after any other error, which it
// yields. A batch whose loop body was left by break or return is not finished: Commit it before if it is.
func (g *PullGroup) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		left := false
		defer func() {
			if !left {
				return
			}
			if door, err := g.door(); err == nil {
				door.Leave()
			}
		}()
		for {
			b, err := g.Poll(ctx)
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, ErrClosed) {
					yield(Batch{}, err)
				}
				return
			}
			left = true // also by a panic in the body
			if !yield(b, nil) {
				return
			}
			left = false
		}
	}
}

// Commit finishes batches and stores what is committed of their queues now; it returns when the cluster has acknowledged that. An
// earlier batch of a queue that is not finished holds its offset back. Errors, joined: ErrQueueRevoked, ErrBatchOutdated for what cannot be
// finished any more; *BrokerError, *NetworkError, ctx's: what is finished then is stored later.
func (g *PullGroup) Commit(ctx context.Context, batches ...Batch) error {
	door, err := g.door()
	if err != nil {
		return err
	}
	var errs []error
	var keys []messages.QueueKey
	seen := make(map[messages.QueueKey]bool, len(batches))
	for _, b := range batches {
		if err := b.Done(); err != nil {
			errs = append(errs, err)
		} else if key := b.Queue.Key(); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return errors.Join(append(errs, door.Store(ctx, keys...))...)
}

// CommitAll finishes everything that was polled, commits what Seek and Rewind have put, and stores it now, as Commit does.
func (g *PullGroup) CommitAll(ctx context.Context) error {
	door, err := g.door()
	if err != nil {
		return err
	}
	return door.Store(ctx, door.FinishAll()...)
}

// Rewind puts the batch's queue back to the beginning of the batch, which is polled again, and everything after it. Earlier batches
// are not concerned; what is committed stays as it is. Errors: ErrQueueRevoked, ErrBatchOutdated, ctx's.
func (g *PullGroup) Rewind(ctx context.Context, b Batch) error {
	if b.handed == nil {
		return errNotPolled
	}
	door, err := g.door()
	if err != nil {
		return err
	}
	if err := door.Rewind(ctx, b.handed); err != nil {
		return fmt.Errorf("rewind %s to %d: %w", b.Queue.Text(), b.handed.First(), err)
	}
	return nil
}
