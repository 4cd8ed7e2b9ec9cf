package processqueue_test

import (
	"testing"

	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// BenchmarkWindow is the whole way of a message through the window: put, settle, advance; per message.
func BenchmarkWindow(b *testing.B) {
	for _, c := range []struct {
		name        string
		pull, stuck int
	}{{"pull=1", 1, 0}, {"pull=32", 32, 0}, {"pull=32,behind a stuck one", 32, 1}} {
		b.Run(c.name, func(b *testing.B) {
			w := processqueue.New(0)
			slab, stuck := consecutive(0, c.pull, 256), consecutive(0, 1, 256)
			putNext := func(slab []messages.Message) *processqueue.Batch {
				first := w.Next()
				for i := range slab {
					slab[i].QueueOffset = first + int64(i)
				}
				batch, err := w.Put(first, first+int64(len(slab)), slab)
				if err != nil {
					b.Fatal(err)
				}
				return batch
			}
			b.ReportAllocs()
			for n := 0; n < b.N; n += c.pull {
				if c.stuck > 0 && w.Span() >= 2000 {
					w.Reset(w.Next())
				}
				if c.stuck > 0 && w.Span() == 0 {
					putNext(stuck)
				}
				batch := putNext(slab)
				for i := range c.pull {
					batch.Settle(i)
				}
				w.Advance()
			}
		})
	}
}
