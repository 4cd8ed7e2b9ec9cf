package kit_test

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
)

var _ = Describe("Shutdown", func() {
	It("stops the roots one after the other, the youngest first, each after its mailbox and with its whole tree", func() {
		bubble(func() {
			r, events := new(recorder), new(recorder)
			s := kit.New(kit.Config{OnEvent: events.event})
			var refs []kit.Ref
			for _, name := range []string{"a", "b"} {
				p := s.Spawn(boss(name, r))
				p.Tell(spawn{tame(name+"1", r), nil})
				p.Tell(spawn{tame(name+"2", r), nil})
				refs = append(refs, p)
			}
			synctest.Wait()
			before := len(r.all())
			gate := make(chan struct{})
			refs[1].Tell(hold{gate})
			refs[1].Tell("last")
			time.AfterFunc(time.Second, func() { close(gate) })
			end(s)
			got := r.all()[before:]
			Expect(got[:2]).To(Equal([]string{"b: string", "b: kit.Stopping"}))
			Expect(got[2:6]).To(ConsistOf("b1: kit.Stopping", "b2: kit.Stopping", "b: b1 stopped: <nil>", "b: b2 stopped: <nil>"))
			Expect(got[6]).To(Equal("a: kit.Stopping"))
			Expect(got).To(HaveLen(11))
			Expect(s.Snapshot()).To(BeEmpty())
			Expect(events.all()).To(BeEmpty())
		})
	})

	It("may be called any number of times, also at once", func() {
		bubble(func() {
			s := kit.New(kit.Config{})
			s.Spawn(tame("a", new(recorder)))
			var callers sync.WaitGroup
			for range 5 {
				callers.Go(func() { end(s) })
			}
			callers.Wait()
			end(s)
		})
	})

	It("names what does not stop in time, stops it all the same, and can be waited for again", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{})
			s.Spawn(tame("a", r))
			p := s.Spawn(boss("p", r))
			var c kit.Ref
			p.Tell(spawn{tame("c", r), &c})
			synctest.Wait()
			gate := make(chan struct{})
			c.Tell(hold{gate})
			synctest.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			err := s.Shutdown(ctx)
			Expect(err).To(MatchError("shutdown: still running: actors a, p, p/c: context deadline exceeded"))
			Expect(err).To(MatchError(context.DeadlineExceeded))
			var still *kit.ShutdownError
			Expect(errors.As(err, &still)).To(BeTrue())
			Expect(still.Works).To(BeEmpty())
			synctest.Wait()
			Expect(r.all()).To(ContainElement("a: kit.Stopping"))
			close(gate)
			end(s)
			Expect(s.Snapshot()).To(BeEmpty())
		})
	})

	It("does not wait for a back-off", func() {
		bubble(func() {
			s := kit.New(kit.Config{})
			spec := plays("a", func(*kit.Context, kit.Message) { panic("always") })
			spec.Strategy.Initial = time.Hour
			s.Spawn(spec)
			synctest.Wait()
			begin := time.Now()
			end(s)
			Expect(time.Since(begin)).To(BeZero())
		})
	})

	It("lets no root in any more, and makes dead letters of what is sent after it", func() {
		bubble(func() {
			events := new(recorder)
			s := kit.New(kit.Config{OnEvent: events.event})
			a := s.Spawn(tame("a", new(recorder)))
			end(s)
			Expect(s.Spawn(tame("b", new(recorder))).IsZero()).To(BeTrue())
			a.Tell(1)
			Expect(events.all()).To(Equal([]string{"spawn refused|b|", "dead letter|a|int"}))
		})
	})

	It("takes in stride that roots are spawned at the same time", func() {
		for range 20 {
			s := kit.New(kit.Config{})
			var spawner sync.WaitGroup
			var refs []kit.Ref
			spawner.Go(func() {
				for i := range 50 {
					refs = append(refs, s.Spawn(tame(string(rune('A'+i)), new(recorder))))
				}
			})
			end(s)
			spawner.Wait()
			end(s)
			for _, ref := range refs {
				Expect(ref.Done()).To(BeClosed())
			}
		}
	})
})
