package kit_test

import (
	"errors"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// timed keeps starts and failures with their virtual times.
func timed(r *recorder, begin time.Time) func(kit.Event) {
	return func(e kit.Event) { r.add("%v %s %s %v", time.Since(begin), e.Kind, e.Actor, e.Wait) }
}

var _ = Describe("An actor that panics", func() {
	It("is restarted after a back-off as a fresh instance, keeps its mailbox, and loses only the message", func() {
		bubble(func() {
			r, events := new(recorder), new(recorder)
			s := kit.New(kit.Config{Jitter: steady, OnEvent: events.event})
			begin := time.Now()
			instances := 0
			spec := kit.Spec{Role: "test", Name: "a", New: func() kit.Actor {
				instances++
				mine := instances
				return script(func(c *kit.Context, m kit.Message) {
					if m == 1 {
						panic("one")
					}
					r.add("%v@%v %d/%d %T %v", m, time.Since(begin), mine, c.Incarnation(), m, c.Sender().IsZero())
				})
			}}
			a := s.Spawn(spec)
			a.Tell(0)
			a.Tell(1)
			a.Tell(2)
			settle(time.Second)
			end(s)
			Expect(r.all()).To(Equal([]string{"{}@0s 1/1 kit.Started true", "0@0s 1/1 int true", "{}@100ms 2/2 kit.Started true",
				"2@100ms 2/2 int true", "{}@1s 2/2 kit.Stopping true"}))
			Expect(events.all()).To(Equal([]string{"failed|a|int", "restarted|a|"}))
		})
	})

	It("backs off longer with each consecutive failure, up to the cap, without end", func() {
		bubble(func() {
			r := new(recorder)
			begin := time.Now()
			s := kit.New(kit.Config{Jitter: steady, OnEvent: timed(r, begin)})
			spec := plays("a", func(_ *kit.Context, m kit.Message) { panic(m) })
			spec.Strategy = kit.Strategy{Initial: time.Second, Max: 5 * time.Second}
			s.Spawn(spec)
			settle(13 * time.Second)
			Expect(s.Snapshot()[0].GetState()).To(Equal(messages.ActorState_ACTOR_STATE_RESTARTING))
			end(s)
			Expect(r.all()).To(Equal([]string{"0s failed a 1s", "1s restarted a 0s", "1s failed a 2s", "3s restarted a 0s", "3s failed a 4s",
				"7s restarted a 0s", "7s failed a 5s", "12s restarted a 0s", "12s failed a 5s"}))
		})
	})

	It("starts over with the back-off once an incarnation has lived longer than the window", func() {
		bubble(func() {
			r := new(recorder)
			begin := time.Now()
			s := kit.New(kit.Config{Jitter: steady, OnEvent: timed(r, begin)})
			spec := tame("a", new(recorder))
			spec.Strategy = kit.Strategy{Initial: time.Second, Window: 10 * time.Second}
			a := s.Spawn(spec)
			for _, pause := range []time.Duration{0, 11 * time.Second, 12 * time.Second} {
				settle(pause)
				a.Tell(boom{})
			}
			settle(time.Minute)
			end(s)
			Expect(r.all()).To(Equal([]string{"0s failed a 1s", "1s restarted a 0s", "11s failed a 2s", "13s restarted a 0s",
				"23s failed a 4s", "27s restarted a 0s"}))
		})
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{Jitter: steady, OnEvent: timed(r, time.Now())})
			spec := tame("a", new(recorder))
			spec.Strategy = kit.Strategy{Initial: time.Second, Window: 10 * time.Second}
			a := s.Spawn(spec)
			a.Tell(boom{})
			settle(12 * time.Second)
			a.Tell(boom{})
			settle(time.Minute)
			end(s)
			Expect(r.all()).To(Equal([]string{"0s failed a 1s", "1s restarted a 0s", "12s failed a 1s", "13s restarted a 0s"}))
		})
	})

	It("is given up after the set number of consecutive failures, and the parent is told why, once", func() {
		bubble(func() {
			r, events := new(recorder), new(recorder)
			s := kit.New(kit.Config{OnEvent: events.event})
			var err error
			parent := s.Spawn(plays("p", func(c *kit.Context, m kit.Message) {
				switch m := m.(type) {
				case kit.Started:
					spec := tame("c", r)
					spec.Strategy.GiveUpAfter = 2
					child := c.Spawn(spec)
					for range 3 {
						child.Tell(boom{})
					}
				case kit.ChildStopped:
					r.add("%s %s %s", m.Ref, m.Role, m.Name)
					err = m.Err
				}
			}))
			settle(time.Minute)
			Expect(s.Snapshot()).To(HaveLen(1))
			end(s)
			Expect(parent.Done()).To(BeClosed())
			Expect(r.all()).To(Equal([]string{"c: kit.Started", "c: kit.Started", "p/c test c"}))
			Expect(events.all()).To(Equal([]string{"failed|p/c|kit_test.boom", "restarted|p/c|", "gave up|p/c|kit_test.boom", "dead letter|p/c|kit_test.boom"}))
			var panicked *kit.PanicError
			Expect(errors.As(err, &panicked)).To(BeTrue())
			Expect(panicked.Value).To(Equal("boom"))
			Expect(panicked.Error()).To(Equal("p/c: panic on kit_test.boom: boom"))
			Expect(string(panicked.Stack)).To(ContainSubstring("suite_test.go"))
		})
	})

	It("holds up neither its parent nor its siblings while it waits", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{})
			p := s.Spawn(boss("p", r))
			var bad, good kit.Ref
			p.Tell(spawn{tame("bad", r), &bad})
			p.Tell(spawn{tame("good", r), &good})
			synctest.Wait()
			bad.Tell(boom{})
			synctest.Wait()
			good.Tell(7)
			bad.Tell(8)
			synctest.Wait()
			Expect(r.all()).To(ContainElement("good: 7"))
			Expect(r.all()).NotTo(ContainElement("bad: 8"))
			settle(time.Second)
			Expect(r.all()).To(ContainElement("bad: 8"))
			end(s)
		})
	})

	DescribeTable("is restarted whatever fails in a start", func(spec kit.Spec, reason string) {
		bubble(func() {
			var events recorder
			s := kit.New(kit.Config{OnEvent: func(e kit.Event) {
				if e.Err != nil {
					events.add("%v", e.Err)
				}
			}})
			s.Spawn(spec)
			settle(150 * time.Millisecond)
			Expect(len(events.all())).To(BeNumerically(">=", 2))
			Expect(events.all()[0]).To(Equal(reason))
			end(s)
		})
	},
		Entry("in Started", plays("a", func(*kit.Context, kit.Message) { panic("no") }), "a: panic on kit.Started: no"),
		Entry("in New", kit.Spec{Name: "a", New: func() kit.Actor { panic("new") }}, "a: panic on kit.Started: new"),
		Entry("nil from New", kit.Spec{Name: "a", New: func() kit.Actor { return nil }}, "a: panic on kit.Started: New returned nil"),
	)

	It("is restarted when it leaves its goroutine by Goexit", func() {
		bubble(func() {
			r := new(recorder)
			var err error
			s := kit.New(kit.Config{OnEvent: func(e kit.Event) {
				if e.Kind == kit.EventFailed {
					err = e.Err
				}
			}})
			a := s.Spawn(tame("a", r))
			a.Tell(exit{})
			a.Tell(1)
			settle(time.Second)
			end(s)
			Expect(err).To(MatchError(kit.ErrGoexit))
			Expect(r.all()).To(Equal([]string{"a: kit.Started", "a: kit.Started", "a: 1", "a: kit.Stopping"}))
		})
	})

	It("takes its children with it before the fresh instance starts, which may use their names and hears nothing of them", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{})
			gate := make(chan struct{})
			a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				switch m := m.(type) {
				case kit.Started:
					r.add("a: started")
					c.Spawn(tame("c", r)).Tell(hold{gate})
				case boom:
					panic("boom")
				default:
					r.add("a: %T", m)
				}
			}))
			a.Tell(boom{})
			settle(time.Minute) // far more than the back-off: the child is what it waits for
			Expect(r.all()).To(Equal([]string{"a: started", "c: kit.Started"}))
			close(gate)
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"a: started", "c: kit.Started", "c: kit.Stopping", "a: started", "c: kit.Started"}))
			Expect(s.Snapshot()).To(HaveLen(2))
			end(s)
		})
	})

	It("never ends the process, whatever the root and the listener do", func() {
		bubble(func() {
			s := kit.New(kit.Config{OnEvent: func(kit.Event) { panic("listener") }})
			spec := tame("a", new(recorder))
			spec.Strategy.GiveUpAfter = 3
			a := s.Spawn(spec)
			for range 5 {
				a.Tell(boom{})
			}
			settle(time.Minute)
			Expect(a.Done()).To(BeClosed())
			a.Tell(1)
			Expect(s.Counts()).To(Equal(map[string]int64{"failed": 2, "restarted": 2, "gave up": 1, "dead letter": 3}))
			end(s)
		})
	})

	It("is not brought back by its restart once it is being stopped", func() {
		bubble(func() {
			r, events := new(recorder), new(recorder)
			s := kit.New(kit.Config{OnEvent: events.event})
			p := s.Spawn(boss("p", r))
			gate := make(chan struct{})
			var a kit.Ref
			p.Tell(spawn{plays("a", func(c *kit.Context, m kit.Message) {
				r.add("a: %T", m)
				switch m.(type) {
				case kit.Started:
					c.Spawn(tame("slow", new(recorder))).Tell(hold{gate})
				case boom:
					panic("boom")
				}
			}), &a})
			synctest.Wait()
			a.Tell(boom{})
			synctest.Wait()
			p.Tell(kill{"a"}) // while it waits for its restart; it then waits for its child
			settle(time.Minute)
			kit.Revive(a)
			settle(time.Minute)
			close(gate)
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"p: kit.Started", "a: kit.Started", "a: kit_test.boom", "p: a stopped: <nil>"}))
			Expect(events.all()).To(Equal([]string{"failed|p/a|kit_test.boom"}))
			end(s)
		})
	})
})
