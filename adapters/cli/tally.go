package cli

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// tally counts what a consume run got.
type tally struct {
	*common
	flags  consumeFlags
	enough context.CancelFunc
	out    sync.Mutex

	messages, bytes, duplicates atomic.Int64
	first, last                 atomic.Int64 // nanoseconds since the epoch
	offsets                     *offsetsSeen

	cpu     float64
	mallocs uint64
}

func (t *tally) handle(_ context.Context, m *troupe.Message) error {
	now := time.Now().UnixNano()
	n := t.messages.Add(1)
	if n == 1 {
		t.first.Store(now)
	}
	t.last.Store(now)
	t.bytes.Add(int64(len(m.GetBody())))
	if m.GetReconsumeTimes() == 0 && t.offsets.seen(m) {
		t.duplicates.Add(1)
	}
	if t.flags.count > 0 && n >= t.flags.count {
		t.enough()
	}
	if t.flags.discard {
		return nil
	}
	return t.line(m)
}

// offsetsSeen remembers which offsets of which queues were delivered, a bit each.
type offsetsSeen struct {
	mu     sync.Mutex
	queues map[queueName]map[int64]*[pageBits / 64]uint64
}

type queueName struct {
	broker string
	id     int32
}

const pageBits = 1 << 16

func newOffsetsSeen() *offsetsSeen {
	return &offsetsSeen{queues: make(map[queueName]map[int64]*[pageBits / 64]uint64)}
}

// seen tells whether the message's offset was noted before, and notes it.
func (o *offsetsSeen) seen(m *troupe.Message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := queueName{m.GetBroker(), m.GetQueueId()}
	pages := o.queues[name]
	if pages == nil {
		pages = make(map[int64]*[pageBits / 64]uint64)
		o.queues[name] = pages
	}
	page := pages[m.GetQueueOffset()/pageBits]
	if page == nil {
		page = new([pageBits / 64]uint64)
		pages[m.GetQueueOffset()/pageBits] = page
	}
	word, bit := &page[m.GetQueueOffset()%pageBits/64], uint64(1)<<(m.GetQueueOffset()%64)
	before := *word&bit != 0
	*word |= bit
	return before
}
