package kit_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
)

// bundle looks like what the library takes for a batch of messages.
type bundle struct{}

func (bundle) GetMessages() []any { return []any{1, 2} }

var _ = Describe("A mailbox", func() {
	It("delivers Started, the messages in the order of sending, and Stopping", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{})
			a := s.Spawn(tame("a", r))
			for i := range 100 {
				a.Tell(i)
			}
			end(s)
			got := r.all()
			Expect(got).To(HaveLen(102))
			Expect(got[:3]).To(Equal([]string{"a: kit.Started", "a: 0", "a: 1"}))
			Expect(got[99:]).To(Equal([]string{"a: 98", "a: 99", "a: kit.Stopping"}))
			Expect(a.Done()).To(BeClosed())
		})
	})

	It("refuses nil, counts it, and is none the worse for it", func() {
		bubble(func() {
			r, events := new(recorder), new(recorder)
			s := kit.New(kit.Config{OnEvent: events.event})
			a := s.Spawn(tame("a", r))
			synctest.Wait()
			a.Tell(nil)
			a.Tell(1)
			synctest.Wait()
			Expect(s.Snapshot()[0].GetMailboxDepth()).To(BeZero())
			end(s)
			Expect(r.all()).To(Equal([]string{"a: kit.Started", "a: 1", "a: kit.Stopping"}))
			Expect(events.all()).To(Equal([]string{"nil message|a|nil"}))
			Expect(s.Count(kit.EventNilMessage)).To(BeEquivalentTo(1))
		})
	})

	It("delivers a message that looks like a batch once, as it is", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{})
			s.Spawn(tame("a", r)).Tell(bundle{})
			end(s)
			Expect(r.all()).To(Equal([]string{"a: kit.Started", "a: kit_test.bundle", "a: kit.Stopping"}))
		})
	})

	It("tells who sent a message, and lets it be answered, even if other questions come between", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{})
			echo := s.Spawn(plays("echo", func(c *kit.Context, m kit.Message) {
				if n, ok := m.(int); ok {
					c.Reply(n * 10)
				}
			}))
			ask := func(name string, n int) {
				s.Spawn(plays(name, func(c *kit.Context, m kit.Message) {
					switch m := m.(type) {
					case kit.Started:
						c.Tell(echo, n)
					case int:
						r.add("%s got %d from %s", name, m, c.Sender())
					}
				}))
			}
			ask("a", 1)
			ask("b", 2)
			synctest.Wait()
			end(s)
			Expect(r.all()).To(ConsistOf("a got 10 from echo", "b got 20 from echo"))
		})
	})

	It("makes dead letters of an answer to nobody and of a message to nobody", func() {
		bubble(func() {
			events := new(recorder)
			s := kit.New(kit.Config{OnEvent: events.event})
			a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				if m == 1 {
					c.Reply("answer")
					c.Tell(c.Parent(), 2.5)
				}
			}))
			a.Tell(1)
			synctest.Wait()
			end(s)
			Expect(events.all()).To(Equal([]string{"dead letter||string", "dead letter||float64"}))
			Expect(kit.Ref{}.IsZero()).To(BeTrue())
			Expect(kit.Ref{}.ID()).To(BeEmpty())
			Expect(kit.Ref{}.Done()).To(BeClosed())
			kit.Ref{}.Tell(1)
		})
	})

	It("gives its memory back after a burst", func() {
		s := kit.New(kit.Config{})
		defer end(s)
		done := make(chan struct{})
		gate := make(chan struct{})
		a := s.Spawn(plays("a", func(_ *kit.Context, m kit.Message) {
			switch m := m.(type) {
			case hold:
				<-m.until
			case string:
				done <- struct{}{}
			}
		}))
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		a.Tell(hold{gate})
		var one any = 1
		for range 500_000 {
			a.Tell(one)
		}
		Expect(heap()).To(BeNumerically(">", before+8<<20))
		close(gate)
		for range 3 {
			a.Tell("end")
			<-done
		}
		Expect(heap()).To(BeNumerically("<", before+2<<20))
	})

	It("never shows a negative depth", func() {
		s := kit.New(kit.Config{})
		defer end(s)
		a := s.Spawn(plays("a", func(*kit.Context, kit.Message) {}))
		var negative atomic.Int64
		var senders sync.WaitGroup
		for range 2 {
			senders.Go(func() {
				for i := range 20_000 {
					a.Tell(i)
					if s.Snapshot()[0].GetMailboxDepth() < 0 {
						negative.Add(1)
					}
				}
			})
		}
		senders.Wait()
		Expect(negative.Load()).To(BeZero())
	})
})

var _ = Describe("A context", func() {
	It("refuses to be used outside its turn", func() {
		bubble(func() {
			s := kit.New(kit.Config{})
			var kept *kit.Context
			s.Spawn(plays("a", func(c *kit.Context, _ kit.Message) { kept = c }))
			synctest.Wait()
			Expect(func() { kept.Tell(kit.Ref{}, 1) }).To(PanicWith("kit: context used outside its turn"))
			Expect(func() { kept.Self() }).To(Panic())
			end(s)
		})
	})

	It("knows its actor, parent, children and incarnation", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{})
			s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				if m != (kit.Started{}) {
					return
				}
				for _, name := range []string{"x", "y"} {
					child := c.Spawn(plays(name, func(c *kit.Context, m kit.Message) {
						if m == (kit.Started{}) {
							r.add("%s below %s, %s", c.Self(), c.Parent(), c.Self().Role())
						}
					}))
					again, ok := c.Child(name)
					r.add("%t %t", ok, again == child)
				}
				_, ok := c.Child("z")
				r.add("%v %v %t %d", c.Children(), c.Parent().IsZero(), ok, c.Incarnation())
			}))
			synctest.Wait()
			end(s)
			Expect(r.all()).To(ConsistOf("true true", "true true", "[a/x a/y] true false 1", "a/x below a, test", "a/y below a, test"))
		})
	})

	It("refuses an incomplete spec and a name that is taken, as a failure of the actor that spawns", func() {
		bubble(func() {
			var reasons []any
			s := kit.New(kit.Config{OnEvent: func(e kit.Event) {
				if e.Kind == kit.EventFailed {
					reasons = append(reasons, e.Err.Error())
				}
			}})
			r := new(recorder)
			a := s.Spawn(boss("a", r))
			for _, spec := range []kit.Spec{{Role: "x", Name: "n"}, plays("", nil), plays("x/y", nil)} {
				a.Tell(spawn{spec, nil})
				settle(time.Minute)
			}
			a.Tell(spawn{tame("twin", r), nil})
			a.Tell(spawn{tame("twin", r), nil})
			settle(time.Minute)
			Expect(reasons).To(Equal([]any{
				"a: panic on kit_test.spawn: kit: spec of x n lacks New or a name without slash",
				"a: panic on kit_test.spawn: kit: spec of test  lacks New or a name without slash",
				"a: panic on kit_test.spawn: kit: spec of test x/y lacks New or a name without slash",
				"a: panic on kit_test.spawn: kit: a/twin is there already",
			}))
			Expect(func() { s.Spawn(tame("a", r)) }).To(PanicWith("kit: a is there already"))
			end(s)
		})
	})
})
