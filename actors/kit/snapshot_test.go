package kit_test

import (
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("A snapshot", func() {
	It("lists parents before children and siblings in the order of spawning", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{})
			var y kit.Ref
			a := s.Spawn(boss("a", r))
			b := s.Spawn(boss("b", r))
			a.Tell(spawn{boss("z", r), nil})
			a.Tell(spawn{boss("y", r), &y})
			a.Tell(spawn{boss("x", r), nil})
			synctest.Wait()
			y.Tell(spawn{tame("leaf", r), nil})
			b.Tell(spawn{tame("c", r), nil})
			synctest.Wait()
			var ids, parents []string
			for _, x := range s.Snapshot() {
				ids, parents = append(ids, x.GetId()), append(parents, x.GetParent())
			}
			Expect(ids).To(Equal([]string{"a", "a/z", "a/y", "a/y/leaf", "a/x", "b", "b/c"}))
			for _, id := range ids {
				ref, ok := s.Find(id)
				Expect(ok).To(BeTrue())
				Expect(ref.ID()).To(Equal(id))
			}
			for _, id := range []string{"", "c", "a/", "a/yy", "a/y/leaf/x", "aa"} {
				_, ok := s.Find(id)
				Expect(ok).To(BeFalse(), id)
			}
			Expect(parents).To(Equal([]string{"", "a", "a", "a/y", "a", "", "b"}))
			end(s)
		})
	})

	It("counts messages by type and tells depth, last message, and since when a turn goes on", func() {
		bubble(func() {
			s := kit.New(kit.Config{})
			begin := time.Now()
			spec := tame("a", new(recorder))
			spec.Role = "worker"
			spec.Phase = func() string { return "working" }
			spec.Facts = func() []*messages.Fact { return []*messages.Fact{{Name: "queue", Value: "7"}} }
			a := s.Spawn(spec)
			synctest.Wait()
			idle := s.Snapshot()[0]
			Expect(idle.GetState()).To(Equal(messages.ActorState_ACTOR_STATE_IDLE))
			Expect(idle.GetLastMessageAt()).To(BeZero())
			Expect(idle.GetStartedAt()).To(Equal(begin.UnixMilli()))
			settle(time.Minute)
			gate := make(chan struct{})
			for i := range 40 {
				a.Tell(i)
			}
			a.Tell(&messages.Queue{})
			a.Tell(hold{gate})
			a.Tell(41)
			a.Tell(42)
			settle(5 * time.Second)
			busy := s.Snapshot()[0]
			Expect(busy.GetId()).To(Equal("a"))
			Expect(busy.GetRole()).To(Equal("worker"))
			Expect(busy.GetPhase()).To(Equal("working"))
			Expect(busy.GetFacts()).To(HaveLen(1))
			Expect(busy.GetState()).To(Equal(messages.ActorState_ACTOR_STATE_BUSY))
			Expect(busy.GetMailboxDepth()).To(BeEquivalentTo(2))
			Expect(busy.GetProcessed()).To(BeEquivalentTo(42))
			counts := make(map[string]int64)
			for _, c := range busy.GetCounts() {
				counts[c.GetType()] = c.GetCount()
			}
			Expect(counts).To(Equal(map[string]int64{"int": 40, "messages.Queue": 1, "kit_test.hold": 1}))
			Expect(busy.GetLastMessage()).To(Equal("kit_test.hold"))
			Expect(busy.GetLastMessageAt()).To(Equal(begin.Add(time.Minute).UnixMilli()))
			Expect(busy.GetInTurnMillis()).To(BeEquivalentTo(5000))
			close(gate)
			synctest.Wait()
			after := s.Snapshot()[0]
			Expect(after.GetState()).To(Equal(messages.ActorState_ACTOR_STATE_IDLE))
			Expect(after.GetMailboxDepth()).To(BeZero())
			Expect(after.GetProcessed()).To(BeEquivalentTo(44))
			Expect(after.GetInTurnMillis()).To(BeZero())
			Expect(time.Duration(after.GetBusyNanos())).To(Equal(5 * time.Second))
			Expect(after.GetLastMessageAt()).To(Equal(begin.Add(65 * time.Second).UnixMilli()))
			end(s)
		})
	})

	It("times single messages once they are slow", func() {
		bubble(func() {
			s := kit.New(kit.Config{})
			a := s.Spawn(plays("a", func(_ *kit.Context, m kit.Message) {
				if d, ok := m.(time.Duration); ok {
					time.Sleep(d)
				}
			}))
			for range 100 {
				a.Tell(time.Second)
			}
			settle(50*time.Second + 500*time.Millisecond)
			Expect(s.Snapshot()[0].GetInTurnMillis()).To(BeEquivalentTo(500))
			settle(time.Minute)
			Expect(time.Duration(s.Snapshot()[0].GetBusyNanos())).To(Equal(100 * time.Second))
			end(s)
		})
	})

	It("tells restarts and the last failure with its stack", func() {
		bubble(func() {
			s := kit.New(kit.Config{})
			begin := time.Now()
			a := s.Spawn(tame("a", new(recorder)))
			settle(time.Second)
			a.Tell(boom{})
			synctest.Wait()
			Expect(s.Snapshot()[0].GetState()).To(Equal(messages.ActorState_ACTOR_STATE_RESTARTING))
			Expect(s.Snapshot()[0].GetRestarts()).To(BeZero())
			settle(time.Second)
			got := s.Snapshot()[0]
			Expect(got.GetState()).To(Equal(messages.ActorState_ACTOR_STATE_IDLE))
			Expect(got.GetRestarts()).To(BeEquivalentTo(1))
			Expect(got.GetStartedAt()).To(BeNumerically(">", begin.Add(time.Second).UnixMilli()))
			f := got.GetLastFailure()
			Expect(f.GetReason()).To(Equal("boom"))
			Expect(f.GetMessage()).To(Equal("kit_test.boom"))
			Expect(f.GetAt()).To(Equal(begin.Add(time.Second).UnixMilli()))
			Expect(f.GetStack()).To(ContainSubstring("suite_test.go"))
			end(s)
		})
	})

	It("shows a panic of an actor's own facts instead of passing it on", func() {
		bubble(func() {
			s := kit.New(kit.Config{})
			spec := tame("a", new(recorder))
			spec.Facts = func() []*messages.Fact { panic("facts") }
			s.Spawn(spec)
			Expect(s.Snapshot()[0].GetFacts()[0].GetValue()).To(Equal("facts"))
			end(s)
		})
	})
})

var _ = Describe("Deliveries", func() {
	It("are told with sender, receiver and type", func() {
		bubble(func() {
			var got []kit.Delivery
			s := kit.New(kit.Config{OnDeliver: func(d kit.Delivery) { got = append(got, d) }})
			b := s.Spawn(kit.Spec{Role: "listener", Name: "b", New: func() kit.Actor { return script(func(*kit.Context, kit.Message) {}) }})
			s.Spawn(kit.Spec{Role: "speaker", Name: "a", New: func() kit.Actor {
				return script(func(c *kit.Context, m kit.Message) {
					if m == (kit.Started{}) {
						c.Tell(b, &messages.Queue{})
					}
				})
			}})
			synctest.Wait()
			end(s)
			Expect(got).To(Equal([]kit.Delivery{{From: "a", FromRole: "speaker", To: "b", ToRole: "listener", Message: "messages.Queue"}}))
		})
	})
})
