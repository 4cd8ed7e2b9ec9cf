package workpool_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/troupe-mq/troupe/actors/workpool"
)

// BenchmarkDispatch is the cost of the pool for one message with an empty handler, for groups of 1 and 32 with a backlog.
func BenchmarkDispatch(b *testing.B) {
	for _, size := range []int{1, 32} {
		b.Run(fmt.Sprintf("group=%d", size), func(b *testing.B) {
			p := workpool.New(workpool.Config{})
			lane := p.Lane("x")
			p.Lane("%RETRY%g")
			// Room for a thousand messages, as the credit of a queue gives it.
			room := make(chan struct{}, max(1, 1000/size))
			var open sync.WaitGroup
			last := size - 1
			run := func(_ context.Context, i int) {
				if i == last {
					<-room
					open.Done()
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += size {
				room <- struct{}{}
				open.Add(1)
				if err := p.Submit(&workpool.Group{Lane: lane, Len: size, Run: run}); err != nil {
					b.Fatal(err)
				}
			}
			open.Wait()
			b.StopTimer()
			if err := p.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
