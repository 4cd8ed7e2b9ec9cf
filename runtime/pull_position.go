package troupe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-mq/troupe/actors"
)

// SeekError is a Seek to an offset that the queue does not have.
type SeekError struct {
	Queue  *Queue
	Offset int64
	// Min is the queue's oldest offset, Max that of its next message; both are allowed.
	Min, Max int64
}

// Error names queue, offset and what is allowed.
func (e *SeekError) Error() string {
	return fmt.Sprintf("seek %s to %d: must be from %d to %d", e.Queue.Text(), e.Offset, e.Min, e.Max)
}

// Assignment gives the queues that are this member's now, in order; none before the start and after the shutdown.
func (g *PullGroup) Assignment() []*Queue {
	door, err := g.door()
	if err != nil {
		return nil
	}
	var out []*Queue
	for _, key := range door.Assigned() {
		out = append(out, key.Queue())
	}
	return out
}

// Position is the offset at which the next Poll from a queue continues. Error: ErrNotAssigned, also while the queue's start is not known yet.
func (g *PullGroup) Position(q *Queue) (int64, error) {
	door, err := g.door()
	if err != nil {
		return 0, err
	}
	return door.Position(q.Key())
}

// Seek makes the next Poll from an assigned queue continue at an offset. When it returns nothing of what was pulled before is
// polled any more, and batches that were polled before are outdated. Unless the group commits manually, the offset is committed; else the
// committed offset stays until something behind it is finished, or CommitAll.
// Errors: *SeekError if the queue does not have the offset, ErrNotAssigned, ErrQueueRevoked, *BrokerError, *NetworkError, ctx's.
func (g *PullGroup) Seek(ctx context.Context, q *Queue, offset int64) error {
	door, err := g.door()
	if err != nil {
		return err
	}
	least, most, err := bounds(ctx, door, q)
	if err != nil {
		return fmt.Errorf("seek %s to %d: %w", q.Text(), offset, err)
	}
	if offset < least || offset > most {
		return &SeekError{Queue: q, Offset: offset, Min: least, Max: most}
	}
	return g.seek(ctx, door, q, offset)
}

func bounds(ctx context.Context, door *actors.PollGroup, q *Queue) (least, most int64, err error) {
	if least, err = door.MinOffset(ctx, q); err != nil {
		return 0, 0, err
	}
	most, err = door.MaxOffset(ctx, q)
	return least, most, err
}

func (g *PullGroup) seek(ctx context.Context, door *actors.PollGroup, q *Queue, offset int64) error {
	if err := door.Seek(ctx, q.Key(), offset, !g.config.ManualCommit); err != nil {
		return fmt.Errorf("seek %s to %d: %w", q.Text(), offset, err)
	}
	return nil
}

// SeekToBegin is Seek to the oldest message of queues, or of all assigned ones if none is given.
func (g *PullGroup) SeekToBegin(ctx context.Context, queues ...*Queue) error {
	return g.seekEach(ctx, queues, func(door *actors.PollGroup, q *Queue) (int64, error) { return door.MinOffset(ctx, q) })
}

// SeekToEnd is Seek behind the youngest message of queues, or of all assigned ones if none is given.
func (g *PullGroup) SeekToEnd(ctx context.Context, queues ...*Queue) error {
	return g.seekEach(ctx, queues, func(door *actors.PollGroup, q *Queue) (int64, error) { return door.MaxOffset(ctx, q) })
}

// SeekToTime is Seek to the first message that was stored at or after a time, in queues, or in all assigned ones if none is given.
func (g *PullGroup) SeekToTime(ctx context.Context, at time.Time, queues ...*Queue) error {
	return g.seekEach(ctx, queues, func(door *actors.PollGroup, q *Queue) (int64, error) { return door.OffsetAt(ctx, q, at) })
}

// seekEach goes on with the other queues when one fails; the errors are joined.
func (g *PullGroup) seekEach(ctx context.Context, queues []*Queue, to func(*actors.PollGroup, *Queue) (int64, error)) error {
	door, err := g.door()
	if err != nil {
		return err
	}
	if len(queues) == 0 {
		queues = g.Assignment()
	}
	var errs []error
	for _, q := range queues {
		offset, err := to(door, q)
		if err != nil {
			errs = append(errs, fmt.Errorf("seek %s: %w", q.Text(), err))
			continue
		}
		errs = append(errs, g.seek(ctx, door, q, offset))
	}
	return errors.Join(errs...)
}

// Pause stops pulling and polling queues, or all if none is given; what waits of them is kept. It holds at once, and survives a
// rebalance, not a restart of the program.
func (g *PullGroup) Pause(queues ...*Queue) { g.pause(true, queues) }

// Resume undoes Pause.
func (g *PullGroup) Resume(queues ...*Queue) { g.pause(false, queues) }

func (g *PullGroup) pause(paused bool, queues []*Queue) {
	if door, err := g.door(); err == nil {
		door.Pause(paused, queues...)
	}
}

// Committed asks the cluster, or the group's own Offsets, where the group stands on a queue. Error: ErrNoOffset if it stands nowhere yet.
func (g *PullGroup) Committed(ctx context.Context, q *Queue) (int64, error) {
	return g.FetchCommitted(ctx, q, FromStore)
}

// Lag asks the cluster how many offsets of a queue are not committed: from what is committed here if the queue is assigned, else from where
// the group stands at the cluster, else from the queue's oldest message.
func (g *PullGroup) Lag(ctx context.Context, q *Queue) (int64, error) {
	door, err := g.door()
	if err != nil {
		return 0, err
	}
	least, most, err := bounds(ctx, door, q)
	if err != nil {
		return 0, err
	}
	at, err := g.FetchCommitted(ctx, q, MemoryThenStore)
	if errors.Is(err, ErrNoOffset) {
		at, err = least, nil
	}
	return max(0, most-max(at, least)), err
}
