package actors_test

import (
	"context"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Stopping a client", func() {
	key := linktest.Key("orders", "a", 0)

	prepare := func() *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", 4, "a")
		return s
	}

	It("goes in order on the wire: no new pull, handlers end, offsets, unregister, close (A09, A32)", func() {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 8)
			var ended atomic.Int64
			s.handle(func(context.Context, *messages.Message) error {
				time.Sleep(3 * time.Second)
				ended.Store(int64(s.cluster.Now()))
				return nil
			})
			s.start()
			s.cluster.Forget()
			at := s.cluster.Now()
			report, took := s.stop(10 * time.Second)
			Expect(took).To(And(BeNumerically(">", 2*time.Second), BeNumerically("<", 4*time.Second)))
			Expect(report.GetAbandoned()).To(BeZero())
			Expect(report.GetUnpersisted()).To(BeEmpty())
			Expect(s.bodies()).To(HaveLen(8))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(8)))
			for _, p := range s.calls(linktest.Pull) {
				Expect(p.At).To(BeNumerically("<=", at), "no pull goes out after the stop began")
			}
			commits := s.calls(linktest.Commit, on(key))
			Expect(commits).NotTo(BeEmpty())
			last := commits[len(commits)-1]
			Expect(last.Offset).To(Equal(int64(8)))
			Expect(last.At).To(BeNumerically(">=", time.Duration(ended.Load())))
			unregistered := s.calls(linktest.Unregister)
			Expect(unregistered).NotTo(BeEmpty())
			for _, u := range unregistered {
				Expect(u.Group).To(Equal(group))
				Expect(u.At).To(BeNumerically(">=", last.Ended))
			}
			closed := s.calls(linktest.Close)
			Expect(closed).To(HaveLen(1))
			Expect(closed[0].At).To(BeNumerically(">=", unregistered[0].Ended))
			order := s.cluster.Calls()
			Expect(order[len(order)-1].Op).To(Equal(linktest.Close), "nothing is asked after the close")
			Expect(s.cluster.MemberIDs(group)).To(BeEmpty())
		})
	})

	It("takes no time when nothing is in flight", func() {
		bubble(func() {
			s := prepare().start()
			report, took := s.stop(10 * time.Second)
			Expect(took).To(BeNumerically("<", 500*time.Millisecond))
			Expect(report.GetAbandoned()).To(BeZero())
		})
	})

	It("cancels handlers after the drain and says how many it gave up (A32)", func() {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 4)
			gate := make(chan struct{})
			causes := atomic.Int32{}
			s.handle(func(ctx context.Context, _ *messages.Message) error {
				<-ctx.Done()
				causes.Add(1)
				<-gate
				return nil
			})
			s.start()
			report, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<", 3*time.Second))
			Expect(report.GetAbandoned()).To(Equal(int64(4)))
			Expect(causes.Load()).To(Equal(int32(4)))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(0)))
			close(gate)
			synctest.Wait()
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(0)))
		})
	})

	DescribeTable("is bounded when a broker is silent", func(op linktest.Op) {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 4)
			s.start()
			s.cluster.Fill(key, 1)
			s.cluster.On(op, linktest.Always(linktest.Answer{Silent: true}))
			s.pass(0)
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<=", 11*time.Second))
		})
	},
		Entry("to commits", linktest.Commit),
		Entry("to unregistering", linktest.Unregister),
		Entry("to heartbeats", linktest.Heartbeat),
		Entry("to pulls", linktest.Pull),
		Entry("to member lists", linktest.Members),
	)

	It("is bounded when the whole cluster is silent", func() {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 4)
			s.handle(func(context.Context, *messages.Message) error { return errNot })
			s.start()
			s.cluster.Down(linktest.Address("a"), &linktest.Answer{Silent: true})
			s.cluster.On(linktest.Route, linktest.Always(linktest.Answer{Silent: true}))
			s.pass(time.Minute)
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<=", 12*time.Second))
		})
	})

	DescribeTable("works at any moment of a start", func(after time.Duration) {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 10)
			for _, op := range []linktest.Op{linktest.Route, linktest.Heartbeat, linktest.Members, linktest.Committed, linktest.Decode} {
				s.cluster.On(op, linktest.Always(linktest.Answer{Delay: 100 * time.Millisecond}))
			}
			s.start() // 200 ms
			s.pass(after)
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<", 2*time.Second))
			Expect(s.cluster.MemberIDs(group)).To(BeEmpty())
			for _, call := range s.cluster.Calls() {
				Expect(call.Late).To(BeFalse(), "%s %s %v", call.Op, call.Address, call.Queue)
			}
		})
	},
		Entry("between heartbeat and members", time.Duration(0)),
		Entry("while members are listed", 50*time.Millisecond),
		Entry("while offsets are read", 150*time.Millisecond),
		Entry("while the first messages are decoded", 250*time.Millisecond),
		Entry("later", 450*time.Millisecond),
	)

	It("works before anything has happened", func() {
		bubble(func() {
			s := prepare()
			client := s.launch()
			_, took := s.stop(time.Second)
			Expect(client).NotTo(BeNil())
			Expect(took).To(BeNumerically("<", time.Second))
			Expect(s.cluster.MemberIDs(group)).To(BeEmpty())
		})
	})

	It("works in the middle of a rebalance", func() {
		bubble(func() {
			s := prepare().start()
			s.cluster.On(linktest.Members, linktest.Always(linktest.Answer{Delay: time.Second}))
			s.cluster.Join(group, "you")
			s.cluster.Notify(group)
			s.pass(500 * time.Millisecond)
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<", time.Second))
			Expect(s.cluster.MemberIDs(group)).To(Equal([]string{"you"}))
		})
	})

	It("shortens the grace of a queue that is being revoked", func() {
		bubble(func() {
			s := prepare()
			s.spec.Groups[0].RevokeGrace = time.Minute
			h, _ := s.block()
			s.handle(h)
			for id := range int32(4) {
				s.cluster.Fill(linktest.Key("orders", "a", id), 1)
			}
			s.start()
			s.cluster.Join(group, "you")
			s.cluster.Notify(group)
			s.pass(time.Second)
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<", 3*time.Second))
		})
	})

	It("may be asked for twice, and at once by a context that ends", func() {
		bubble(func() {
			s := prepare()
			h, _ := s.block()
			s.handle(h)
			s.cluster.Fill(key, 2)
			s.start()
			ctx, cancel := context.WithCancel(context.Background())
			both := make(chan time.Duration, 2)
			at := time.Now()
			s.stopped = true
			for range 2 {
				go func() {
					s.client.Stop(ctx, time.Minute)
					both <- time.Since(at)
				}()
			}
			s.pass(2 * time.Second)
			cancel()
			Expect(<-both).To(BeNumerically("<", 5*time.Second))
			Expect(<-both).To(BeNumerically("<", 75*time.Second))
			Expect(s.calls(linktest.Close)).NotTo(BeEmpty())
		})
	})

	It("may be asked for from inside a handler", func() {
		bubble(func() {
			s := prepare()
			s.cluster.Fill(key, 1)
			took, client := make(chan time.Duration, 1), make(chan *actors.Client, 1)
			s.handle(func(context.Context, *messages.Message) error {
				at := time.Now()
				(<-client).Stop(context.Background(), time.Second)
				took <- time.Since(at)
				return nil
			})
			s.stopped = true
			client <- s.launch()
			Expect(<-took).To(BeNumerically("<", 15*time.Second))
			synctest.Wait()
		})
	})

	It("gives the unregistered group back to nobody: an older heartbeat never announces it again (A34)", func() {
		bubble(func() {
			s := prepare().start()
			s.cluster.On(linktest.Heartbeat, linktest.Always(linktest.Answer{Delay: 2 * time.Second}))
			s.cluster.Reconnected(linktest.Address("a"))
			s.pass(time.Second)
			s.stop(time.Second)
			s.pass(10 * time.Second)
			Expect(s.cluster.MemberIDs(group)).To(BeEmpty())
			beats, unregistered := s.calls(linktest.Heartbeat), s.calls(linktest.Unregister)
			for _, b := range beats {
				if b.Address == linktest.Address("a") {
					Expect(b.Ended).To(BeNumerically("<=", unregistered[0].At))
				}
			}
		})
	})

	It("leaves another client and another group of the same process alone (A34)", func() {
		bubble(func() {
			s := prepare()
			other := newStageOn(s.cluster, "second", "orders")
			other.spec.Groups[0].Name = "shipping"
			s.start()
			other.start()
			s.stop(time.Second)
			s.cluster.Fill(key, 5)
			other.pass(time.Second)
			Expect(other.bodies()).To(HaveLen(5))
			again := newStageOn(s.cluster, "me", "orders").start()
			Expect(again.bodies()).To(HaveLen(5))
			again.stop(time.Second)
			other.stop(time.Second)
		})
	})

	It("can be done a hundred times in a row without a trace (A33)", func() {
		bubble(func() {
			cluster := linktest.New()
			cluster.Topic("orders", 4, "a")
			for range 100 {
				s := newStageOn(cluster, "me", "orders")
				cluster.Fill(key, 10)
				s.start()
				Expect(s.bodies()).To(HaveLen(10))
				s.stop(time.Second)
				stages = nil
			}
			Expect(cluster.Offset(group, key)).To(Equal(int64(1000)))
		})
	})
})
