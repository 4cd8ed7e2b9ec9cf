package kit_test

import (
	"context"
	"runtime"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
)

var _ = Describe("Asynchronous work", func() {
	type do struct {
		timeout time.Duration
		work    func(ctx context.Context) kit.Message
	}
	var r, events *recorder
	var s *kit.System
	var a kit.Ref
	BeforeEach(func() { r, events = new(recorder), new(recorder) })

	start := func() {
		begin := time.Now()
		s = kit.New(kit.Config{Jitter: steady, OnEvent: events.event})
		a = s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
			switch m := m.(type) {
			case do:
				c.Go(m.timeout, m.work)
			case boom:
				panic("boom")
			case stop:
				c.StopSelf()
			case *kit.WorkPanicked:
				r.add("%v panicked: %v %t", time.Since(begin), m.Value, len(m.Stack) > 0)
			case string:
				r.add("%v %s", time.Since(begin), m)
			}
		}))
	}
	// lasting is work that takes a second, or less if it is told so.
	lasting := func(ctx context.Context) kit.Message {
		select {
		case <-time.After(time.Second):
			return "done"
		case <-ctx.Done():
			r.add("cause: %v", context.Cause(ctx))
			return ctx.Err().Error()
		}
	}

	It("delivers its result, exactly once, and does not hold up the actor meanwhile", func() {
		bubble(func() {
			start()
			a.Tell(do{0, lasting})
			a.Tell("meanwhile")
			settle(time.Minute)
			end(s)
			Expect(r.all()).To(Equal([]string{"0s meanwhile", "1s done"}))
			Expect(events.all()).To(BeEmpty())
		})
	})

	It("is told when its time is over, and its result still counts", func() {
		bubble(func() {
			start()
			a.Tell(do{100 * time.Millisecond, lasting})
			settle(time.Minute)
			end(s)
			Expect(r.all()).To(Equal([]string{"cause: context deadline exceeded", "100ms context deadline exceeded"}))
		})
	})

	DescribeTable("ends in a WorkPanicked when it", func(work func(context.Context) kit.Message, want string, event []string) {
		bubble(func() {
			start()
			a.Tell(do{time.Second, work})
			settle(time.Minute)
			end(s)
			Expect(r.all()).To(Equal([]string{want}))
			Expect(events.all()).To(Equal(event))
		})
	},
		Entry("panics", func(context.Context) kit.Message { panic("no") }, "0s panicked: no true", nil),
		Entry("leaves its goroutine", func(context.Context) kit.Message { runtime.Goexit(); return 1 }, "0s panicked: goroutine left by Goexit false", nil),
		Entry("returns nil", func(context.Context) kit.Message { return nil }, "0s panicked: work returned no message false", []string{"no result|a|"}),
	)

	It("is cancelled, and its result dropped, when its actor fails", func() {
		bubble(func() {
			start()
			a.Tell(do{0, lasting})
			a.Tell(boom{})
			settle(time.Minute)
			Expect(s.Snapshot()[0].GetMailboxDepth()).To(BeZero())
			a.Tell(do{0, lasting})
			settle(time.Minute)
			end(s)
			Expect(r.all()).To(Equal([]string{"cause: actor failed and is restarted", "1m1s done"}))
			Expect(events.all()).To(Equal([]string{"failed|a|kit_test.boom", "restarted|a|", "late result|a|string"}))
		})
	})

	It("is cancelled, and its result dropped, when its actor stops", func() {
		bubble(func() {
			start()
			a.Tell(do{0, lasting})
			a.Tell(stop{})
			settle(time.Minute)
			end(s)
			Expect(r.all()).To(Equal([]string{"cause: actor stopped"}))
			Expect(events.all()).To(Equal([]string{"late result|a|string"}))
		})
	})

	It("is waited for by the shutdown, which names it if it takes too long", func() {
		bubble(func() {
			start()
			gate := make(chan struct{})
			a.Tell(do{0, func(context.Context) kit.Message { <-gate; return "deaf" }})
			synctest.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			err := s.Shutdown(ctx)
			Expect(err).To(MatchError("shutdown: still running: work of a: context deadline exceeded"))
			close(gate)
			end(s)
			Expect(events.all()).To(Equal([]string{"late result|a|string"}))
		})
	})

	It("without work is a failure of the actor", func() {
		bubble(func() {
			start()
			a.Tell(do{})
			synctest.Wait()
			Expect(events.all()).To(Equal([]string{"failed|a|kit_test.do"}))
			end(s)
		})
	})
})
