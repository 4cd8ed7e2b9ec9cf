package troupe

import (
	"context"
	"maps"
	"sync"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// OffsetStore is where members of broadcasting groups keep their offsets; offsetfile.At is one. Implement it to keep them elsewhere.
// It must be safe for concurrent use, and belongs to one member of each group.
type OffsetStore = actors.OffsetStore

// OffsetTable is what an OffsetStore has of one group.
type OffsetTable = actors.OffsetTable

// QueueKey names a queue as a value: Topic, Broker, ID.
type QueueKey = messages.QueueKey

// MemoryOffsets makes a store that lasts as long as the process: after a restart each group begins where its ConsumeFrom says. A
// warning event says so at the start.
func MemoryOffsets() OffsetStore {
	return &memoryStore{groups: make(map[string]map[QueueKey]int64)}
}

type memoryStore struct {
	mu     sync.Mutex
	groups map[string]map[QueueKey]int64
}

const memoryWarning = "offsets are kept in memory only: after a restart of the process the group begins where ConsumeFrom says; " +
	"set BroadcastConfig.Offsets to a durable store"

func (s *memoryStore) Open(_ context.Context, group string) (OffsetTable, error) {
	return &memoryTable{store: s, group: group}, nil
}

type memoryTable struct {
	store *memoryStore
	group string
}

func (t *memoryTable) Saved() (offsets map[QueueKey]int64, warning string) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return maps.Clone(t.store.groups[t.group]), memoryWarning
}

func (t *memoryTable) Save(_ context.Context, offsets map[QueueKey]int64) error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.store.groups[t.group] = maps.Clone(offsets)
	return nil
}

func (t *memoryTable) Close() error { return nil }
