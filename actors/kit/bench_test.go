package kit_test

import (
	"context"
	"testing"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// window is how many messages are in flight in the steady benchmarks.
const window = 256

func system(b *testing.B, config kit.Config) *kit.System {
	s := kit.New(config)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			b.Error(err)
		}
	})
	return s
}

// credit is what comes back for the messages of half a window.
type credit struct{ back chan struct{} }

func (k credit) take(i int) {
	if i%(window/2) == 0 {
		<-k.back
	}
}

func newCredit() credit {
	k := credit{make(chan struct{}, 2)}
	k.back <- struct{}{}
	k.back <- struct{}{}
	return k
}

// counter takes messages and gives credit back.
func counter(name string, k credit) kit.Spec {
	n := 0
	return plays(name, func(_ *kit.Context, m kit.Message) {
		if _, ok := m.(*messages.Queue); ok {
			if n++; n%(window/2) == 0 {
				k.back <- struct{}{}
			}
		}
	})
}

// relay passes messages on.
func relay(name string, to kit.Ref) kit.Spec {
	return plays(name, func(c *kit.Context, m kit.Message) {
		switch m.(type) {
		case kit.Started, kit.Stopping:
		default:
			c.Tell(to, m)
		}
	})
}

func eachDispatcher(b *testing.B, body func(b *testing.B, config kit.Config)) {
	b.Run("parked", func(b *testing.B) { body(b, kit.Config{}) })
	b.Run("library", func(b *testing.B) { body(b, kit.Config{DefaultDispatcher: true}) })
}

func BenchmarkTellSteady(b *testing.B) {
	s := system(b, kit.Config{})
	k := newCredit()
	a := s.Spawn(counter("a", k))
	var m any = &messages.Queue{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k.take(i)
		a.Tell(m)
	}
}

func BenchmarkThreeHopsSteady(b *testing.B) {
	s := system(b, kit.Config{})
	k := newCredit()
	a := s.Spawn(relay("x", s.Spawn(relay("y", s.Spawn(counter("z", k))))))
	var m any = &messages.Queue{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k.take(i)
		a.Tell(m)
	}
}

// batch is 32 entries in one message.
type batch struct{ entries []*messages.Message }

func BenchmarkThreeHopsBatch32(b *testing.B) {
	s := system(b, kit.Config{})
	back := make(chan struct{}, 16)
	n := 0
	z := s.Spawn(plays("z", func(_ *kit.Context, m kit.Message) {
		if m, ok := m.(*batch); ok {
			n += len(m.entries)
			back <- struct{}{}
		}
	}))
	a := s.Spawn(relay("x", s.Spawn(relay("y", z))))
	m := &batch{make([]*messages.Message, 32)}
	for range cap(back) - 1 {
		back <- struct{}{}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		<-back
		a.Tell(m)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/entry")
}

func BenchmarkIdleWake(b *testing.B) {
	eachDispatcher(b, func(b *testing.B, config kit.Config) {
		s := system(b, config)
		back := make(chan struct{})
		a := s.Spawn(plays("a", func(_ *kit.Context, m kit.Message) {
			if _, ok := m.(*messages.Queue); ok {
				back <- struct{}{}
			}
		}))
		var m any = &messages.Queue{}
		b.ReportAllocs()
		for b.Loop() {
			a.Tell(m)
			<-back
		}
	})
}

func BenchmarkPingPong(b *testing.B) {
	eachDispatcher(b, func(b *testing.B, config kit.Config) {
		s := system(b, config)
		done := make(chan struct{})
		pong := s.Spawn(plays("pong", func(c *kit.Context, m kit.Message) {
			if _, ok := m.(*messages.Queue); ok {
				c.Reply(m)
			}
		}))
		left := 0
		ping := s.Spawn(plays("ping", func(c *kit.Context, m kit.Message) {
			switch m := m.(type) {
			case int:
				left = m
				c.Tell(pong, &messages.Queue{})
			case *messages.Queue:
				if left--; left > 0 {
					c.Tell(pong, m)
				} else {
					close(done)
				}
			}
		}))
		b.ReportAllocs()
		b.ResetTimer()
		ping.Tell(b.N)
		<-done
	})
}

func BenchmarkSpawnStop(b *testing.B) {
	s := system(b, kit.Config{})
	b.ReportAllocs()
	for b.Loop() {
		a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
			if m == (kit.Started{}) {
				c.StopSelf()
			}
		}))
		<-a.Done()
		for len(s.Snapshot()) > 0 { //nolint:revive // the name is free a moment after the end
		}
	}
}

func BenchmarkTimer(b *testing.B) {
	s := system(b, kit.Config{})
	done := make(chan struct{})
	a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
		if n, ok := m.(int); ok {
			for range n {
				c.After(time.Hour, m).Stop()
			}
			close(done)
		}
	}))
	b.ReportAllocs()
	b.ResetTimer()
	a.Tell(b.N)
	<-done
}

func BenchmarkGo(b *testing.B) {
	s := system(b, kit.Config{})
	done := make(chan struct{})
	left := 0
	a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
		switch m := m.(type) {
		case int:
			left = m
		case *messages.Queue:
			left--
		default:
			return
		}
		if left == 0 {
			close(done)
			return
		}
		c.Go(time.Minute, func(context.Context) kit.Message { return &messages.Queue{} })
	}))
	b.ReportAllocs()
	b.ResetTimer()
	a.Tell(b.N)
	<-done
}

func BenchmarkSnapshot1000(b *testing.B) {
	s := system(b, kit.Config{})
	a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
		if n, ok := m.(int); ok {
			for i := range n {
				c.Spawn(relay(string(rune('A'+i)), kit.Ref{}))
			}
		}
	}))
	a.Tell(999)
	for len(s.Snapshot()) < 1000 {
		time.Sleep(time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Snapshot()
	}
}
