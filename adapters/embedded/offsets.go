package embedded

import (
	"maps"
	"slices"
	"sync"
)

// groupQueue names one queue as one group sees it.
type groupQueue struct {
	group string
	topic string
	queue int32
}

// offsetTable is where groups have got to, and the resets that they have not seen yet.
type offsetTable struct {
	mu        sync.RWMutex
	committed map[groupQueue]int64
	resets    map[groupQueue]int64
}

func newOffsetTable() *offsetTable {
	return &offsetTable{committed: map[groupQueue]int64{}, resets: map[groupQueue]int64{}}
}

// query gives the offset a group should go on from: a pending reset comes first.
func (t *offsetTable) query(q groupQueue) (int64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if o, ok := t.resets[q]; ok {
		return o, true
	}
	o, ok := t.committed[q]
	return o, ok
}

// commit stores an offset, also a smaller one; false if a pending reset forbids it.
func (t *offsetTable) commit(q groupQueue, offset int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, pending := t.resets[q]; pending {
		return false
	}
	t.committed[q] = offset
	return true
}

// reset stores an offset and makes the group's next pull of the queue answer it.
func (t *offsetTable) reset(q groupQueue, offset int64) {
	t.mu.Lock()
	t.resets[q] = offset
	t.committed[q] = offset
	t.mu.Unlock()
}

// takeReset gives the pending reset of a queue once.
func (t *offsetTable) takeReset(q groupQueue) (int64, bool) {
	t.mu.RLock()
	_, pending := t.resets[q]
	t.mu.RUnlock()
	if !pending {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	o, ok := t.resets[q]
	delete(t.resets, q)
	return o, ok
}

// topicsOf lists the topics a group has offsets for.
func (t *offsetTable) topicsOf(group string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	set := map[string]struct{}{}
	for q := range t.committed {
		if q.group == group {
			set[q.topic] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// groupsOf lists the groups that have offsets for a topic.
func (t *offsetTable) groupsOf(topic string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	set := map[string]struct{}{}
	for q := range t.committed {
		if q.topic == topic {
			set[q.group] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// forgetGroup drops the offsets of a group, forgetTopic those of a topic.
func (t *offsetTable) forgetGroup(group string) {
	t.forget(func(q groupQueue) bool { return q.group == group })
}

func (t *offsetTable) forgetTopic(topic string) {
	t.forget(func(q groupQueue) bool { return q.topic == topic })
}

func (t *offsetTable) forget(which func(groupQueue) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	drop := func(q groupQueue, _ int64) bool { return which(q) }
	maps.DeleteFunc(t.committed, drop)
	maps.DeleteFunc(t.resets, drop)
}
