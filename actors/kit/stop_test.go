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
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Stopping", func() {
	var r, events *recorder
	BeforeEach(func() { r, events = new(recorder), new(recorder) })

	// household runs a boss p with one tame child c.
	household := func() (s *kit.System, p, c kit.Ref) {
		s = kit.New(kit.Config{OnEvent: events.event})
		p = s.Spawn(boss("p", r))
		p.Tell(spawn{tame("c", r), &c})
		synctest.Wait()
		return s, p, c
	}

	It("lets a child process what it has got, and makes dead letters of the rest", func() {
		bubble(func() {
			s, p, c := household()
			gate := make(chan struct{})
			c.Tell(hold{gate})
			c.Tell(1)
			p.Tell(stop{"c"})
			synctest.Wait()
			c.Tell(2)
			close(gate)
			synctest.Wait()
			c.Tell("late")
			Expect(c.Done()).To(BeClosed())
			Expect(r.all()).To(Equal([]string{"p: kit.Started", "c: kit.Started", "c: 1", "c: kit.Stopping", "p: c stopped: <nil>"}))
			Expect(events.all()).To(Equal([]string{"dead letter|p/c|int", "dead letter|p/c|string"}))
			end(s)
		})
	})

	It("kills a child at once, with dead letters for what it has got", func() {
		bubble(func() {
			s, p, c := household()
			gate := make(chan struct{})
			c.Tell(hold{gate})
			synctest.Wait()
			c.Tell(1)
			p.Tell(kill{"c"})
			synctest.Wait()
			close(gate)
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"p: kit.Started", "c: kit.Started", "c: kit.Stopping", "p: c stopped: <nil>"}))
			Expect(events.all()).To(Equal([]string{"dead letter|p/c|int"}))
			end(s)
		})
	})

	It("tells the parent once, however often and by whatever ways a child is stopped", func() {
		bubble(func() {
			s, p, c := household()
			gate := make(chan struct{})
			c.Tell(hold{gate})
			synctest.Wait()
			for range 3 {
				p.Tell(stop{"c"})
				p.Tell(kill{"c"})
			}
			close(gate)
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"p: kit.Started", "c: kit.Started", "c: kit.Stopping", "p: c stopped: <nil>"}))
			Expect(events.all()).To(BeEmpty())
			end(s)
		})
	})

	It("ends a child at once that fails on the way, or waits for its restart", func() {
		bubble(func() {
			s, p, c := household()
			gate := make(chan struct{})
			c.Tell(hold{gate})
			c.Tell(boom{})
			c.Tell(1)
			p.Tell(stop{"c"})
			synctest.Wait()
			close(gate)
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"p: kit.Started", "c: kit.Started", "p: c stopped: p/c: panic on kit_test.boom: boom"}))
			Expect(events.all()).To(Equal([]string{"gave up|p/c|kit_test.boom", "dead letter|p/c|int"}))
			end(s)
		})
		r, events = new(recorder), new(recorder)
		bubble(func() {
			s, p, c := household()
			c.Tell(boom{})
			c.Tell(1)
			synctest.Wait()
			p.Tell(stop{"c"})
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"p: kit.Started", "c: kit.Started", "p: c stopped: <nil>"}))
			Expect(events.all()).To(Equal([]string{"failed|p/c|kit_test.boom", "dead letter|p/c|int"}))
			end(s)
		})
	})

	It("ends an actor that stops itself after its turn", func() {
		bubble(func() {
			s := kit.New(kit.Config{OnEvent: events.event})
			a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				r.add("%T", m)
				if m == 1 {
					c.StopSelf()
					r.add("end of turn")
				}
			}))
			a.Tell(1)
			a.Tell("rest")
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"kit.Started", "int", "end of turn", "kit.Stopping"}))
			Expect(events.all()).To(Equal([]string{"dead letter|a|string"}))
			Expect(s.Snapshot()).To(BeEmpty())
			end(s)
		})
	})

	It("delivers nothing but ChildStopped between Stopping and the end, and spawns nobody", func() {
		bubble(func() {
			s := kit.New(kit.Config{OnEvent: events.event})
			gate := make(chan struct{})
			var child kit.Ref
			a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				r.add("%T", m)
				switch m.(type) {
				case kit.Started:
					child = c.Spawn(tame("c", new(recorder)))
					child.Tell(hold{gate})
				case boom:
					c.StopSelf()
				case kit.Stopping, kit.ChildStopped:
					r.add("refused: %t", c.Spawn(tame("late", r)).IsZero())
					c.After(0, "timer")
				}
			}))
			synctest.Wait()
			a.Tell(boom{})
			synctest.Wait()
			a.Tell(1)
			synctest.Wait()
			Expect(s.Snapshot()[0].GetState()).To(Equal(messages.ActorState_ACTOR_STATE_STOPPING))
			close(gate)
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"kit.Started", "kit_test.boom", "kit.Stopping", "refused: true", "kit.ChildStopped", "refused: true"}))
			Expect(events.all()).To(Equal([]string{"spawn refused|a/late|", "dead letter|a|int", "spawn refused|a/late|"}))
			Expect(a.Done()).To(BeClosed())
			end(s)
		})
	})

	DescribeTable("ends the parent too when a child", func(fail func()) {
		bubble(func() {
			s := kit.New(kit.Config{OnEvent: events.event})
			a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				if m == (kit.Started{}) {
					c.Spawn(plays("c", func(c *kit.Context, m kit.Message) {
						r.add("%T", m)
						switch m.(type) {
						case kit.Started:
							c.Spawn(tame("grandchild", r))
						case kit.Stopping:
							fail()
						}
					}))
				}
			}))
			synctest.Wait()
			end(s)
			Expect(a.Done()).To(BeClosed())
			Expect(r.all()).To(ConsistOf("kit.Started", "kit.Stopping", "grandchild: kit.Started", "grandchild: kit.Stopping"))
			Expect(events.all()).To(Equal([]string{"panicked while stopping|a/c|kit.Stopping"}))
		})
	},
		Entry("panics in Stopping", func() { panic("stopping") }),
		Entry("leaves its goroutine in Stopping", func() { runtime.Goexit() }),
	)

	DescribeTable("ends an actor that in ChildStopped", func(fail func()) {
		bubble(func() {
			s := kit.New(kit.Config{OnEvent: events.event})
			a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				r.add("%T", m)
				switch m.(type) {
				case kit.Started:
					c.Spawn(tame("b", new(recorder)))
					c.Spawn(tame("c", new(recorder)))
				case kit.ChildStopped:
					fail()
				}
			}))
			synctest.Wait()
			end(s)
			Expect(a.Done()).To(BeClosed())
			Expect(r.all()).To(Equal([]string{"kit.Started", "kit.Stopping", "kit.ChildStopped"}))
			Expect(events.all()).To(Equal([]string{"panicked while stopping|a|kit.ChildStopped"}))
		})
	},
		Entry("panics", func() { panic("stopping") }),
		Entry("leaves its goroutine", func() { runtime.Goexit() }),
	)

	It("frees a child's name by the time ChildStopped is delivered", func() {
		bubble(func() {
			s := kit.New(kit.Config{OnEvent: events.event})
			n := 0
			a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				switch m := m.(type) {
				case kit.Started, kit.ChildStopped:
					if n++; n < 100 {
						c.Kill(c.Spawn(plays("c", func(*kit.Context, kit.Message) {})))
					}
				default:
					r.add("%T", m)
				}
			}))
			synctest.Wait()
			Expect(n).To(Equal(100))
			Expect(events.all()).To(BeEmpty())
			end(s)
			Expect(a.Done()).To(BeClosed())
		})
	})

	It("loses no message of senders that race with it", func() {
		var dead, got atomic.Int64
		s := kit.New(kit.Config{OnEvent: func(e kit.Event) {
			if e.Kind == kit.EventDeadLetter {
				dead.Add(1)
			}
		}})
		a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
			if _, ok := m.(int); ok && got.Add(1) == 5_000 {
				c.StopSelf()
			}
		}))
		var senders sync.WaitGroup
		for range 4 {
			senders.Go(func() {
				for i := range 5_000 {
					a.Tell(i)
				}
			})
		}
		senders.Wait()
		end(s)
		Expect(got.Load() + dead.Load()).To(BeEquivalentTo(20_000))
		Expect(got.Load()).To(BeEquivalentTo(5_000))
	})

	It("lets go of what the actor was, even if its address is kept", func() {
		s := kit.New(kit.Config{})
		defer end(s)
		var freed atomic.Int64
		refs := make([]kit.Ref, 20)
		for i := range refs {
			state := make([]byte, 1<<20)
			runtime.AddCleanup(&state[0], func(int) { freed.Add(1) }, 0)
			refs[i] = s.Spawn(kit.Spec{Name: string(rune('a' + i)), New: func() kit.Actor {
				return script(func(c *kit.Context, m kit.Message) {
					if m == 1 {
						state[0]++
						c.StopSelf()
					}
				})
			}, Facts: func() []*messages.Fact {
				_ = state[0]
				return nil
			}})
		}
		for _, ref := range refs {
			ref.Tell(1)
			Eventually(ref.Done()).Should(BeClosed())
		}
		Eventually(func() int64 { runtime.GC(); return freed.Load() }).WithTimeout(5 * time.Second).Should(BeNumerically(">=", 19))
		runtime.KeepAlive(refs)
	})

	It("leaves nothing behind of many short lives", func() {
		s := kit.New(kit.Config{})
		defer end(s)
		for range 2_000 {
			a := s.Spawn(plays("a", func(c *kit.Context, _ kit.Message) { c.StopSelf() }))
			<-a.Done()
			Eventually(s.Snapshot).Should(BeEmpty())
		}
	})
})
