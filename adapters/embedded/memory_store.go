package embedded

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// segmentSize is how much of the log one allocation holds, in bytes; a larger record gets a segment of its own.
const segmentSize = 1 << 20

// memoryStore keeps everything in memory: an append-only log in segments, whose written bytes never change, and an index
// per queue.
type memoryStore struct {
	mu       sync.Mutex // appends, discards
	segments atomic.Pointer[[]*segment]
	closed   bool
	lastTime int64

	indexes sync.Map // queueID → *memoryIndex
}

type queueID struct {
	topic string
	id    int32
}

// segment is a stretch of the log. Bytes below used are written once, before an entry that points to them is published.
type segment struct {
	base int64
	data []byte
	used atomic.Int64
}

func newMemoryStore() *memoryStore {
	s := &memoryStore{}
	s.segments.Store(&[]*segment{})
	return s
}

func (s *memoryStore) append(drafts []draft) ([]placed, error) {
	out := make([]placed, len(drafts))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStoreClosed
	}
	// Time in the log never runs backwards: searches by time bisect on it.
	s.lastTime = max(s.lastTime, time.Now().UnixMilli())
	now := s.lastTime
	for i := range drafts {
		d := &drafts[i]
		physical, dst := s.reserve(int64(len(d.record)))
		copy(dst, d.record)
		ix := s.index(d.topic, d.queue)
		tags := d.tags
		if d.delay > 0 {
			tags = now + d.delay
		}
		offset := ix.next()
		binary.BigEndian.PutUint64(dst[wire.RecordQueueOffsetPos:], uint64(offset))
		binary.BigEndian.PutUint64(dst[wire.RecordCommitLogOffsetPos:], uint64(physical))
		binary.BigEndian.PutUint64(dst[storeTimePosition(dst):], uint64(now))
		ix.add(entry{physical: physical, size: int32(len(d.record)), tags: tags})
		out[i] = placed{physical: physical, queueOffset: offset, storeTime: now, tags: tags}
	}
	return out, nil
}

// reserve gives room for n bytes and the physical offset at which it starts. Called with the lock held.
func (s *memoryStore) reserve(n int64) (int64, []byte) {
	segs := *s.segments.Load()
	var last *segment
	base := int64(0)
	if len(segs) > 0 {
		last = segs[len(segs)-1]
		base = last.base + last.used.Load()
	}
	if last == nil || last.used.Load()+n > int64(len(last.data)) {
		last = &segment{base: base, data: make([]byte, max(segmentSize, n))}
		// A fresh slice each time: readers hold the old one. Once a megabyte, so the copy does not count.
		next := append(slices.Clone(segs), last)
		s.segments.Store(&next)
	}
	at := last.used.Load()
	last.used.Store(at + n)
	return last.base + at, last.data[at : at+n : at+n]
}

// index gives a queue's index, made if it is new.
func (s *memoryStore) index(topic string, id int32) *memoryIndex {
	key := queueID{topic, id}
	if v, ok := s.indexes.Load(key); ok {
		return v.(*memoryIndex)
	}
	v, _ := s.indexes.LoadOrStore(key, &memoryIndex{})
	return v.(*memoryIndex)
}

func (s *memoryStore) queue(topic string, id int32) queueIndex {
	if v, ok := s.indexes.Load(queueID{topic, id}); ok {
		return v.(*memoryIndex)
	}
	return &memoryIndex{}
}

func (s *memoryStore) queues(topic string) []int32 {
	var ids []int32
	for k := range s.indexes.Range {
		if q := k.(queueID); q.topic == topic {
			ids = append(ids, q.id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (s *memoryStore) record(physical int64, size int32) ([]byte, bool) {
	segs := *s.segments.Load()
	i, found := slices.BinarySearchFunc(segs, physical, func(g *segment, at int64) int {
		switch {
		case g.base+g.used.Load() <= at:
			return -1
		case g.base > at:
			return 1
		}
		return 0
	})
	if !found {
		return nil, false
	}
	g := segs[i]
	from, used := physical-g.base, g.used.Load()
	if size == 0 {
		if from+4 > used {
			return nil, false
		}
		size = int32(binary.BigEndian.Uint32(g.data[from:]))
	}
	to := from + int64(size)
	if size <= 0 || to > used {
		return nil, false
	}
	return g.data[from:to:to], true
}

func (s *memoryStore) bounds() (int64, int64) {
	segs := *s.segments.Load()
	if len(segs) == 0 {
		return 0, 0
	}
	last := segs[len(segs)-1]
	return segs[0].base, last.base + last.used.Load()
}

func (s *memoryStore) discard(before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	segs := *s.segments.Load()
	n := 0
	for n < len(segs) && segs[n].base+segs[n].used.Load() <= before {
		n++
	}
	if n == 0 {
		return
	}
	rest := slices.Clone(segs[n:])
	if len(rest) == 0 {
		// The log's end must be remembered: offsets never start again.
		last := segs[n-1]
		rest = []*segment{{base: last.base + last.used.Load(), data: make([]byte, segmentSize)}}
	}
	s.segments.Store(&rest)
}

func (s *memoryStore) dropTopic(topic string) {
	for k := range s.indexes.Range {
		if k.(queueID).topic == topic {
			s.indexes.Delete(k)
		}
	}
}

func (s *memoryStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// memoryIndex is a queue's index in memory.
type memoryIndex struct {
	mu    sync.RWMutex
	first int64 // offset of list[0]
	list  []entry
}

func (x *memoryIndex) next() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.first + int64(len(x.list))
}

func (x *memoryIndex) add(e entry) {
	x.mu.Lock()
	x.list = append(x.list, e)
	x.mu.Unlock()
}

func (x *memoryIndex) bounds() (int64, int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.first, x.first + int64(len(x.list))
}

func (x *memoryIndex) entries(dst []entry, from int64) []entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i := from - x.first
	if i < 0 || i >= int64(len(x.list)) {
		return dst
	}
	n := min(cap(dst)-len(dst), len(x.list)-int(i))
	return append(dst, x.list[i:int(i)+n]...)
}

func (x *memoryIndex) trim(min int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := min - x.first
	if n <= 0 {
		return
	}
	if n > int64(len(x.list)) {
		n = int64(len(x.list))
	}
	x.list = slices.Clone(x.list[n:])
	x.first += n
}

// storeTimePosition tells where a record keeps its store time.
func storeTimePosition(record []byte) int {
	return wire.StoreTimestampPos(int32(binary.BigEndian.Uint32(record[wire.RecordSysFlagPos:])))
}

// storeTimeOf reads a record's store time in milliseconds since the epoch.
func storeTimeOf(record []byte) int64 {
	return int64(binary.BigEndian.Uint64(record[storeTimePosition(record):]))
}
