package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/troupe-mq/troupe/messages"
)

// offsetHome is where a group's offsets are kept: at the brokers, or in a store of this member's own. Its methods block; they
// are called outside of the OffsetPersister's turn.
type offsetHome interface {
	// committed reads an offset; messages.ErrNoOffset if there surely is none.
	committed(ctx context.Context, q *messages.Queue) (int64, error)
	// commit stores offsets and gives an error, or nil, for each.
	commit(ctx context.Context, list []*messages.PersistOffset) []error
	// lane names the line of commits for a broker's queues: within one, commits are one after the other.
	lane(broker string) string
	// eager says that a queue's start is stored at once.
	eager() bool
}

// clusterOffsets are kept by the brokers (clustering).
type clusterOffsets struct {
	env   *Env
	group string
}

func (h *clusterOffsets) lane(broker string) string { return broker }

func (h *clusterOffsets) eager() bool { return false }

func (h *clusterOffsets) committed(ctx context.Context, q *messages.Queue) (int64, error) {
	var offset int64
	var unreachable error
	addr, err := h.env.atMember(ctx, q, offsetTimeout, func(ctx context.Context, addr string) (err error) {
		offset, err = h.env.Link.Committed(ctx, addr, h.group, q)
		if unreached(err) {
			unreachable = err
		}
		return err
	})
	if master, ok := h.env.Directory.Master(q.GetBroker()); ok && addr != master && errors.Is(err, messages.ErrNoOffset) {
		return 0, unreachable // a slave is behind: that it has no offset says nothing while there is a master who may have one
	}
	return offset, err
}

func (h *clusterOffsets) commit(ctx context.Context, list []*messages.PersistOffset) []error {
	out := make([]error, len(list))
	down := make(map[string]error) // the rest of this run would wait for the same silence
	for i, m := range list {
		_, out[i] = h.env.atMember(ctx, m.GetQueue(), commitTimeout, func(ctx context.Context, addr string) error {
			err := down[addr]
			if err == nil {
				err = contained(func() error { return h.commitOne(ctx, addr, m) })
			}
			if _, dead := errors.AsType[*messages.NetworkError](err); dead {
				down[addr] = err
			}
			return err
		})
	}
	return out
}

func (h *clusterOffsets) commitOne(ctx context.Context, addr string, m *messages.PersistOffset) error {
	err := h.env.Link.Commit(ctx, addr, h.group, m.GetQueue(), m.GetOffset())
	if err != nil || !m.GetFinal() && !m.GetInsist() {
		return err
	}
	// The queue's last pull may have carried another offset, and a broker works pulls and commits off on different threads:
	// the last word is worth a second look.
	stored, err := h.env.Link.Committed(ctx, addr, h.group, m.GetQueue())
	if err == nil && (stored < m.GetOffset() || m.GetInsist() && stored != m.GetOffset()) {
		return h.env.Link.Commit(ctx, addr, h.group, m.GetQueue(), m.GetOffset())
	}
	return nil
}

// memberOffsets are kept in a store of this member's own (broadcasting). What was saved stays when a queue leaves the route: it
// may come back.
type memberOffsets struct {
	table OffsetTable
	// turn is held by who uses the table: one at a time, also when an OffsetPersister starts anew while its predecessor's last
	// run still saves.
	turn chan struct{}

	mu      sync.Mutex
	offsets map[messages.QueueKey]int64
}

// newMemberOffsets takes over what the table had saved; warning is what the table has to say of it.
func newMemberOffsets(table OffsetTable) (h *memberOffsets, warning string) {
	saved, warning := table.Saved()
	h = &memberOffsets{table: table, turn: make(chan struct{}, 1), offsets: make(map[messages.QueueKey]int64, len(saved))}
	maps.Copy(h.offsets, saved)
	return h, warning
}

func (h *memberOffsets) lane(string) string { return "" }

func (h *memberOffsets) eager() bool { return true }

func (h *memberOffsets) committed(_ context.Context, q *messages.Queue) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if offset, ok := h.offsets[q.Key()]; ok {
		return offset, nil
	}
	return 0, messages.ErrNoOffset
}

func (h *memberOffsets) commit(ctx context.Context, list []*messages.PersistOffset) []error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	err := contained(func() error { return h.save(ctx, list) })
	out := make([]error, len(list))
	for i := range out {
		out[i] = err
	}
	return out
}

func (h *memberOffsets) save(ctx context.Context, list []*messages.PersistOffset) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	return h.table.Save(ctx, h.with(list))
}

// with notes offsets and gives a copy of everything.
func (h *memberOffsets) with(list []*messages.PersistOffset) map[messages.QueueKey]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range list {
		h.offsets[m.GetQueue().Key()] = m.GetOffset()
	}
	return maps.Clone(h.offsets)
}

// close gives the table up for good.
func (h *memberOffsets) close(ctx context.Context) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	return contained(h.table.Close) // the turn is never given back
}

func (h *memberOffsets) enter(ctx context.Context) error {
	select {
	case h.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the offset store is busy: %w", ctx.Err())
	}
}

func (h *memberOffsets) leave() { <-h.turn }
