package troupe

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// headroom is a block of memory that nobody ever touches, held while it is of use, so that the collector of a program whose heap is
// small has something to compare garbage with: a consumer keeps two or three megabytes alive and makes hundreds of megabytes of
// garbage a second under a backlog, which would be collected several hundred times for each million messages. The block costs
// address space, and up to twice its own size of garbage that waits longer.
//
// It is reserved when the collector has run in quick succession, and given back when it has had nothing to do for a while, or when
// what the program keeps alive leaves that room anyway: an idle consumer costs no more memory than it uses.
type headroom struct {
	mu    sync.Mutex
	size  int64
	block []byte
	last  time.Time // of the latest collection
	quick int       // collections in quick succession
	ended bool
}

const (
	// Collections that follow each other within quickly are in quick succession; so many of them reserve the block.
	quickly         = 250 * time.Millisecond
	quickSuccession = 3
	// The block goes at the first collection after so long.
	idleCollection = 10 * time.Second
)

// watch begins to look at the collector; size 0 or below does nothing.
func (h *headroom) watch(size int64) {
	if size <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.size = size
	h.await()
}

// await has collected called at the end of the next collection.
func (h *headroom) await() {
	type sentinel struct{ _ *headroom } // with a pointer, so that it shares its memory with nothing
	runtime.AddCleanup(&sentinel{}, func(h *headroom) {
		if h.collected() {
			h.await()
		}
	}, h)
}

// collected is called after each collection, one after the other; false: never again.
func (h *headroom) collected() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	now := time.Now()
	since := now.Sub(h.last)
	h.last = now
	if since <= quickly {
		h.quick++
	} else {
		h.quick = 0
	}
	spacious := liveHeap()-int64(len(h.block)) >= h.size
	switch {
	case h.block != nil && (spacious || since >= idleCollection):
		h.block = nil
	case h.block == nil && !spacious && h.quick >= quickSuccession:
		h.block = make([]byte, h.size)
	}
	return true
}

// end gives the block back.
func (h *headroom) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.block, h.ended = nil, true
}

// liveHeap is how much was alive after the latest collection.
func liveHeap() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(live[0].Value.Uint64())
}
