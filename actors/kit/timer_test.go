package kit_test

import (
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
)

var _ = Describe("A timer", func() {
	var r, events *recorder
	BeforeEach(func() { r, events = new(recorder), new(recorder) })

	// act runs body as a turn of a fresh actor that keeps what it gets and when.
	act := func(body func(c *kit.Context)) (*kit.System, kit.Ref) {
		begin := time.Now()
		s := kit.New(kit.Config{Jitter: steady, OnEvent: events.event})
		a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
			switch m := m.(type) {
			case func(*kit.Context):
				m(c)
			case kit.Started, kit.Stopping:
			default:
				r.add("%v %v", time.Since(begin), m)
			}
		}))
		a.Tell(body)
		synctest.Wait()
		return s, a
	}

	It("delivers its message when its time has come, once", func() {
		bubble(func() {
			s, _ := act(func(c *kit.Context) {
				c.After(2*time.Second, "two")
				c.After(time.Second, "one")
				c.After(0, "at once")
				c.After(-time.Second, "at once too")
			})
			settle(time.Minute)
			Expect(r.all()).To(HaveLen(4))
			Expect(r.all()[:2]).To(ConsistOf("0s at once", "0s at once too"))
			Expect(r.all()[2:]).To(Equal([]string{"1s one", "2s two"}))
			end(s)
			Expect(events.all()).To(BeEmpty())
		})
	})

	It("delivers nothing once stopped, even if the message is queued already", func() {
		bubble(func() {
			var early, late, over *kit.Timer
			s, a := act(func(c *kit.Context) {
				early = c.After(time.Hour, "early")
				late = c.After(time.Second, "late")
				over = c.After(0, "over")
			})
			Expect(kit.PendingTimers(a)).To(Equal(2))
			gate := make(chan struct{})
			a.Tell(func(*kit.Context) {
				<-gate // meanwhile late is queued
				r.add("%t %t %t", early.Stop(), late.Stop(), over.Stop())
				r.add("%t %t", early.Stop(), late.Stop())
			})
			settle(1500 * time.Millisecond)
			close(gate)
			settle(time.Minute)
			Expect(r.all()).To(Equal([]string{"0s over", "true true false", "false false"}))
			Expect(kit.PendingTimers(a)).To(BeZero())
			Expect(s.Snapshot()[0].GetMailboxDepth()).To(BeZero())
			Expect(s.Snapshot()[0].GetProcessed()).To(BeEquivalentTo(3)) // two turns of ours and the timer that was over
			end(s)
			var none *kit.Timer
			Expect(none.Stop()).To(BeFalse())
			Expect(events.all()).To(BeEmpty())
		})
	})

	It("ends with the incarnation that made it, pending or queued", func() {
		bubble(func() {
			s, a := act(func(c *kit.Context) {
				c.After(5*time.Second, "pending")
				c.After(time.Second, "queued")
			})
			gate := make(chan struct{})
			a.Tell(func(*kit.Context) {
				<-gate
				panic("boom")
			})
			settle(1500 * time.Millisecond)
			close(gate)
			synctest.Wait()
			Expect(kit.PendingTimers(a)).To(Equal(1)) // the restart
			settle(time.Minute)
			Expect(s.Snapshot()[0].GetMailboxDepth()).To(BeZero())
			a.Tell("alive")
			settle(time.Minute)
			Expect(r.all()).To(Equal([]string{"1m1.5s alive"}))
			end(s)
		})
	})

	It("ends with its actor, and leaves no dead letter", func() {
		bubble(func() {
			s, a := act(func(c *kit.Context) {
				c.After(time.Second, "pending")
				c.After(0, "queued")
				c.StopSelf()
			})
			Expect(kit.PendingTimers(a)).To(BeZero())
			settle(time.Minute)
			Expect(a.Done()).To(BeClosed())
			Expect(r.all()).To(BeEmpty())
			Expect(events.all()).To(BeEmpty())
			end(s)
		})
	})

	It("can be stopped from another goroutine while it fires", func() {
		s := kit.New(kit.Config{})
		defer end(s)
		timers := make(chan *kit.Timer, 2_000)
		a := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
			if m == (kit.Started{}) {
				for i := range cap(timers) {
					timers <- c.After(time.Duration(i)*time.Microsecond, i)
				}
				close(timers)
			}
		}))
		stopped := 0
		for t := range timers {
			if t.Stop() {
				stopped++
			}
		}
		Eventually(func() int64 { return s.Snapshot()[0].GetProcessed() + int64(stopped) }).Should(BeEquivalentTo(cap(timers)))
		Expect(a.Done()).NotTo(BeClosed())
	})
})
