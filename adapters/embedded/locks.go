package embedded

import (
	"sync"
	"time"
)

// lockLife is how long a queue lock lives without being renewed.
const lockLife = 60 * time.Second

// lockTable is which client holds which queue of a group for orderly consumption. It dies with the broker's process, as
// Apache's does.
type lockTable struct {
	mu    sync.Mutex
	locks map[groupQueue]queueLock
}

type queueLock struct {
	client  string
	renewed time.Time
}

func newLockTable() *lockTable { return &lockTable{locks: map[groupQueue]queueLock{}} }

// tryLock grants a lock that is free, expired or already the client's own, and renews it.
func (t *lockTable) tryLock(q groupQueue, client string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if l, held := t.locks[q]; held && l.client != client && now.Sub(l.renewed) <= lockLife {
		return false
	}
	t.locks[q] = queueLock{client: client, renewed: now}
	return true
}

// unlock frees a lock if it is the client's.
func (t *lockTable) unlock(q groupQueue, client string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks[q].client == client {
		delete(t.locks, q)
	}
}

// holder gives the client that holds a queue, "" if none does.
func (t *lockTable) holder(q groupQueue) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, held := t.locks[q]; held && time.Since(l.renewed) <= lockLife {
		return l.client
	}
	return ""
}

// anyHeld tells whether a group holds an unexpired lock: it consumes in order.
func (t *lockTable) anyHeld(group string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for q, l := range t.locks {
		if q.group == group && time.Since(l.renewed) <= lockLife {
			return true
		}
	}
	return false
}
