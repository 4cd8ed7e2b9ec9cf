package kit

import (
	"testing"

	"github.com/troupe-mq/troupe/messages"
)

// BenchmarkProbe is what the probe adds to a message: the count, and its share of the looks at the clock.
func BenchmarkProbe(b *testing.B) {
	s := New(Config{})
	p := &probe{every: lookEvery}
	b.Run("one type", func(b *testing.B) {
		var m Message = &messages.Queue{}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			p.count(m)
			if i%lookEvery == 0 {
				p.look(s.clock())
			}
		}
	})
	b.Run("four types in turn", func(b *testing.B) {
		types := []Message{&messages.Queue{}, &messages.Fact{}, &messages.Topology{}, &messages.Message{}}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			p.count(types[i%4])
			if i%lookEvery == 0 {
				p.look(s.clock())
			}
		}
	})
}
