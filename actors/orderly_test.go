package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

// ordered turns the group of a stage into an orderly one.
func (s *stage) ordered() *actors.GroupSpec {
	g := s.spec.Groups[0]
	g.Order = &actors.OrderSpec{Suspend: time.Second, Turn: time.Minute}
	g.MaxReconsumes, g.Limits.Span, g.HandOff = math.MaxInt32, math.MaxInt32, 0
	return g
}

// inOrder gives the bodies of one queue in the order of the calls.
func (s *stage) inOrder(key messages.QueueKey) (out []string) {
	for _, body := range s.bodies() {
		if strings.HasPrefix(body, key.String()+"/") {
			out = append(out, strings.TrimPrefix(body, key.String()+"/"))
		}
	}
	return out
}

// upTo gives the numbers below n as text.
func upTo(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

var _ = Describe("An orderly group", func() {
	zero, one := linktest.Key("orders", "a", 0), linktest.Key("orders", "a", 1)
	newOrdered := func(queues int32) *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", queues, "a")
		s.ordered()
		return s
	}

	It("handles the messages of a queue one after the other, in order, and queues side by side", func() {
		bubble(func() {
			s := newOrdered(4)
			for id := range int32(4) {
				s.cluster.Fill(linktest.Key("orders", "a", id), 200)
			}
			var mu sync.Mutex
			running := make(map[int32]int)
			s.handle(func(_ context.Context, m *messages.Message) error {
				mu.Lock()
				running[m.GetQueueId()]++
				Expect(running[m.GetQueueId()]).To(Equal(1))
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				running[m.GetQueueId()]--
				mu.Unlock()
				return nil
			})
			s.start()
			s.pass(5 * time.Second)
			for id := range int32(4) {
				Expect(s.inOrder(linktest.Key("orders", "a", id))).To(Equal(upTo(200)))
			}
			_, most := s.busy()
			Expect(most).To(Equal(4))
			s.stop(time.Second)
		})
	})

	It("locks a queue before its first pull, reads the offset afterwards, and begins within 0.3 s", func() {
		bubble(func() {
			s := newOrdered(2)
			s.cluster.Fill(zero, 1)
			s.start()
			Expect(s.bodies()).To(HaveLen(1))
			lock := s.calls(linktest.Lock)[0]
			for _, op := range []linktest.Op{linktest.Committed, linktest.Pull} {
				Expect(s.calls(op, on(zero))[0].At).To(BeNumerically(">=", lock.Ended))
			}
			Expect(s.calls(linktest.Pull, on(zero))[0].At).To(BeNumerically("<", 300*time.Millisecond))
			Expect(s.cluster.LockHolder(group, zero)).To(Equal("me"))
			Expect(s.facts(zero).GetLocked()).To(BeTrue())
			s.stop(time.Second)
		})
	})

	It("renews all locks of a broker every 20 s in one request", func() {
		bubble(func() {
			s := newOrdered(8)
			s.start()
			s.pass(5 * time.Second)
			before := len(s.calls(linktest.Lock))
			s.pass(time.Minute)
			again := s.calls(linktest.Lock)[before:]
			Expect(again).To(HaveLen(3))
			for i, call := range again {
				Expect(call.Request.([]messages.QueueKey)).To(HaveLen(9), "eight and the retry topic's")
				if i > 0 {
					Expect(call.At - again[i-1].At).To(Equal(20 * time.Second))
				}
			}
			s.stop(time.Second)
		})
	})

	It("holds up a queue at a message that fails, counts its attempts, and holds up no other", Label("A23"), func() {
		bubble(func() {
			s := newOrdered(2)
			s.cluster.Fill(zero, 3)
			s.cluster.Fill(one, 50)
			var mu sync.Mutex
			var seen []int32
			times := func() []int32 {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(seen)
			}
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueId() == 0 && m.GetQueueOffset() == 1 {
					mu.Lock()
					seen = append(seen, m.GetReconsumeTimes())
					mu.Unlock()
					if m.GetReconsumeTimes() < 3 {
						return errors.New("not yet")
					}
				}
				return nil
			})
			s.start()
			Expect(s.inOrder(one)).To(HaveLen(50))
			Expect(s.facts(zero).GetSuspendedAttempts()).To(Equal(int32(1)))
			s.pass(2900*time.Millisecond - 200*time.Millisecond)
			Expect(times()).To(Equal([]int32{0, 1, 2}))
			s.pass(200 * time.Millisecond)
			Expect(s.inOrder(zero)).To(Equal([]string{"0", "1", "1", "1", "1", "2"}))
			Expect(times()).To(Equal([]int32{0, 1, 2, 3}))
			Expect(s.seen(messages.EventKind_EVENT_KIND_QUEUE_SUSPENDED)).To(HaveLen(3))
			Expect(s.facts(zero).GetSuspendedAttempts()).To(BeZero())
			Expect(s.calls(linktest.SendBack)).To(BeEmpty(), "nothing goes back to the broker")
			Expect(s.facts(zero).GetCommittedOffset()).To(Equal(int64(3)))
			s.stop(time.Second)
		})
	})

	It("waits as long as RetryAfter says", func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 2)
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 0 && m.GetReconsumeTimes() == 0 {
					return actors.RetryAfter(7*time.Second, errors.New("later"))
				}
				return nil
			})
			s.start()
			s.pass(6500 * time.Millisecond)
			Expect(s.bodies()).To(HaveLen(1))
			s.pass(time.Second)
			Expect(s.inOrder(zero)).To(Equal([]string{"0", "0", "1"}))
			s.stop(time.Second)
		})
	})

	It("never gives a message up by itself", Label("A24"), func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 2)
			s.handle(func(context.Context, *messages.Message) error { return errors.New("poison") })
			s.start()
			s.pass(10 * time.Minute)
			Expect(len(s.bodies())).To(BeNumerically(">=", 590))
			Expect(s.cluster.DeadLetters(group)).To(BeEmpty())
			Expect(s.facts(zero).GetSuspendedAttempts()).To(BeNumerically(">=", 590))
			s.stop(time.Second)
		})
	})

	It("publishes a message to the retry topic after its last attempt, as Java does, and goes on", Label("A24", "A31"), func() {
		bubble(func() {
			s := newOrdered(1)
			s.spec.Groups[0].MaxReconsumes = 2
			s.cluster.Fill(zero, 3)
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 1 {
					return errors.New("poison")
				}
				return nil
			})
			s.start()
			s.pass(3 * time.Second)
			Expect(s.inOrder(zero)).To(Equal([]string{"0", "1", "1", "1", "2"}))
			sent := s.calls(linktest.Send)
			Expect(sent).To(HaveLen(1))
			req := sent[0].Request.(*messages.SendRequest)
			Expect(req.GetQueue().GetTopic()).To(Equal(actors.RetryTopic(group)))
			// What the Java client was seen to send (observed.md 4): j=3, l=2; but no delay, which a 4.x broker would obey.
			Expect(req.GetReconsumeTimes()).To(Equal(int32(3)))
			Expect(req.GetMaxReconsumeTimes()).To(Equal(int32(2)))
			Expect(string(req.GetProperties())).To(ContainSubstring("DELAY\x010\x02"))
			Expect(s.facts(zero).GetCommittedOffset()).To(Equal(int64(3)))
			Expect(s.seen(messages.EventKind_EVENT_KIND_DEAD_LETTERED)).To(HaveLen(1))
			s.stop(time.Second)
		})
	})

	It("sends a message straight to the dead letter topic for DeadLetter, and goes on when the broker has it", Label("A24"), func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 3)
			s.cluster.On(linktest.SendBack, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.On(linktest.Send, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 1 {
					return actors.DeadLetter(errors.New("poison"))
				}
				return nil
			})
			s.start()
			Expect(s.inOrder(zero)).To(Equal([]string{"0", "1"}), "the broker did not take it")
			s.pass(time.Second)
			Expect(s.inOrder(zero)).To(Equal([]string{"0", "1", "1", "2"}))
			Expect(s.cluster.DeadLetters(group)).To(Equal([]string{zero.String() + "/1"}))
			s.stop(time.Second)
		})
	})

	DescribeTable("tries a batch again from the first message that failed", func(verdict error, second []string) {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 8)
			var mu sync.Mutex
			var calls [][]string
			s.spec.Groups[0].Subscriptions[0].One = nil
			s.spec.Groups[0].Subscriptions[0].BatchMax = 4
			s.spec.Groups[0].Subscriptions[0].Batch = func(_ context.Context, ms []*messages.Message) error {
				var call []string
				for _, m := range ms {
					call = append(call, fmt.Sprint(m.GetQueueOffset()))
				}
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, call)
				if len(calls) == 1 {
					return verdict
				}
				return nil
			}
			s.start()
			s.pass(2 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			Expect(calls[0]).To(Equal([]string{"0", "1", "2", "3"}))
			Expect(calls[1]).To(Equal(second))
			Expect(s.facts(zero).GetCommittedOffset()).To(Equal(int64(8)))
			s.stop(time.Second)
		})
	},
		Entry("all of it", errors.New("all"), []string{"0", "1", "2", "3"}),
		Entry("the rest of it", actors.FailedAt(map[int]error{3: errors.New("last"), 2: errors.New("third")}), []string{"2", "3", "4", "5"}),
		Entry("nothing, if nothing failed", actors.FailedAt(map[int]error{}), []string{"4", "5", "6", "7"}),
	)

	It("counts a panic as a failed attempt and goes on", Label("A36"), func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 12)
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 1 && m.GetReconsumeTimes() == 0 {
					panic("once")
				}
				return nil
			})
			s.start()
			s.pass(1500 * time.Millisecond)
			Expect(s.facts(zero).GetCommittedOffset()).To(Equal(int64(12)))
			Expect(s.seen(messages.EventKind_EVENT_KIND_HANDLER_PANICKED)).To(HaveLen(1))
			s.stop(time.Second)
		})
	})

	When("another member gets a lock", func() {
		It("ends the handler with ErrLockLost, commits nothing more, and begins anew where that one has got to", func() {
			bubble(func() {
				s := newOrdered(1)
				s.cluster.Fill(zero, 100)
				causes := make(chan error, 1)
				s.handle(func(ctx context.Context, m *messages.Message) error {
					if m.GetQueueOffset() == 10 {
						<-ctx.Done()
						causes <- context.Cause(ctx)
						return ctx.Err()
					}
					return nil
				})
				s.start()
				s.cluster.LockFor(group, "thief", zero)
				s.pass(20 * time.Second)
				Expect(causes).To(Receive(MatchError(actors.ErrLockLost)))
				Expect(s.seen(messages.EventKind_EVENT_KIND_LOCK_LOST)).To(HaveLen(1))
				s.cluster.SetOffset(group, zero, 50)
				pulls := len(s.calls(linktest.Pull, on(zero)))
				s.pass(30 * time.Second)
				Expect(s.calls(linktest.Pull, on(zero))).To(HaveLen(pulls), "nothing is pulled without the lock")
				Expect(s.cluster.Offset(group, zero)).To(Equal(int64(50)), "nothing is committed without the lock")
				Expect(s.inOrder(zero)).To(HaveLen(11))
				s.pass(31 * time.Second)
				Expect(s.inOrder(zero)[11]).To(Equal("50"), "the thief is silent, so its lock has ended")
				Expect(s.facts(zero).GetCommittedOffset()).To(Equal(int64(100)))
				s.stop(time.Second)
			})
		})

		It("gives the queue up at once if it is revoked meanwhile", func() {
			bubble(func() {
				s := newOrdered(1)
				s.cluster.Fill(zero, 100)
				s.cluster.LockFor(group, "other", zero)
				s.start()
				Expect(s.bodies()).To(BeEmpty())
				_, took := s.stop(time.Second)
				Expect(took).To(BeNumerically("<", 500*time.Millisecond))
				Expect(s.cluster.LockHolder(group, zero)).To(Equal("other"))
			})
		})
	})

	It("stops by itself when its lock has lapsed and cannot be renewed, and goes on when it is held again", func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 300)
			s.handle(func(context.Context, *messages.Message) error { time.Sleep(time.Second); return nil })
			s.start()
			s.pass(10 * time.Second)
			back := s.cluster.On(linktest.Lock, linktest.Always(linktest.Answer{Silent: true}))
			s.pass(time.Minute)
			at := len(s.bodies())
			Expect(at).To(BeNumerically("<=", 32), "30 s after the last grant")
			s.pass(time.Minute)
			Expect(s.bodies()).To(HaveLen(at))
			back()
			s.pass(25 * time.Second)
			Expect(len(s.bodies())).To(BeNumerically(">", at))
			Expect(s.inOrder(zero)).To(Equal(upTo(len(s.bodies()))), "in order, nothing twice")
			s.stop(2 * time.Second)
		})
	})

	It("locks again at once when a broker is back that has forgotten its locks", func() {
		bubble(func() {
			s := newOrdered(1)
			s.start()
			s.pass(3 * time.Second)
			s.cluster.LockFor(group, "", zero)
			s.cluster.Reconnected(linktest.Address("a"))
			s.pass(100 * time.Millisecond)
			Expect(s.cluster.LockHolder(group, zero)).To(Equal("me"))
			s.stop(time.Second)
		})
	})

	It("lets a running handler end when it stops, and unlocks after the last offset was stored", func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 10)
			s.handle(func(context.Context, *messages.Message) error { time.Sleep(300 * time.Millisecond); return nil })
			s.start()
			report, took := s.stop(5 * time.Second)
			Expect(report.GetAbandoned()).To(BeZero())
			Expect(took).To(BeNumerically("<", time.Second))
			Expect(s.cluster.Offset(group, zero)).To(Equal(int64(len(s.bodies()))))
			Expect(s.cluster.LockHolder(group, zero)).To(BeEmpty())
			unlocked := s.calls(linktest.Unlock, func(call linktest.Call) bool {
				return slices.Contains(call.Request.([]messages.QueueKey), zero)
			})
			commits := s.calls(linktest.Commit, on(zero))
			Expect(unlocked[0].At).To(BeNumerically(">=", commits[len(commits)-1].Ended))
			Expect(s.calls(linktest.Unregister)[0].At).To(BeNumerically(">=", unlocked[0].Ended))
		})
	})

	It("stops within its drain while a queue is suspended", func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 10)
			s.handle(func(context.Context, *messages.Message) error { return actors.RetryAfter(time.Hour, nil) })
			s.start()
			_, took := s.stop(30 * time.Second)
			Expect(took).To(BeNumerically("<", 500*time.Millisecond))
			Expect(s.cluster.Offset(group, zero)).To(Equal(int64(0)))
		})
	})

	It("shares few workers among many queues", func() {
		bubble(func() {
			s := newOrdered(8)
			s.spec.Groups[0].Workers = 2
			for id := range int32(8) {
				s.cluster.Fill(linktest.Key("orders", "a", id), 1000)
			}
			s.handle(func(context.Context, *messages.Message) error { time.Sleep(10 * time.Millisecond); return nil })
			s.start()
			s.pass(5 * time.Second)
			for id := range int32(8) {
				key := linktest.Key("orders", "a", id)
				Expect(len(s.inOrder(key))).To(BeNumerically(">", 20), "no queue waits for a whole turn of the others")
				Expect(s.inOrder(key)).To(Equal(upTo(len(s.inOrder(key)))))
			}
			s.stop(time.Second)
		})
	})

	It("keeps its order over failures of its actors", func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 400)
			n := 0
			s.cluster.On(linktest.Decode, func(linktest.Call) *linktest.Answer {
				if n++; n%5 == 2 {
					return &linktest.Answer{Panic: "decode"}
				}
				return nil
			})
			s.start()
			s.pass(time.Minute)
			Expect(s.inOrder(zero)).To(Equal(upTo(400)))
			s.stop(time.Second)
		})
	})

	It("commits nothing behind a message that fails before it has succeeded", Label("A23"), func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 100)
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 10 && m.GetReconsumeTimes() < 3 {
					return actors.RetryAfter(7*time.Second, errors.New("not yet"))
				}
				return nil
			})
			s.start()
			s.pass(20500 * time.Millisecond)
			for _, call := range append(s.calls(linktest.Commit, on(zero)), s.calls(linktest.Pull, on(zero))...) {
				if req, ok := call.Request.(*messages.PullRequest); ok {
					Expect(req.GetCommitOffset()).To(BeNumerically("<=", 10))
				} else {
					Expect(call.Offset).To(BeNumerically("<=", 10))
				}
			}
			s.pass(time.Second)
			Expect(s.inOrder(zero)).To(Equal(append(append(upTo(11), "10", "10", "10"), upTo(100)[11:]...)))
			s.stop(time.Second)
		})
	})

	When("locks are renewed", Label("A21"), func() {
		load := func(s *stage, queues int32, pause time.Duration, stop <-chan struct{}) {
			ticker := time.NewTicker(pause)
			go func() {
				defer ticker.Stop()
				for {
					select {
					case <-ticker.C:
						for id := range queues {
							s.cluster.Fill(linktest.Key("orders", "a", id), 1)
						}
					case <-stop:
						return
					}
				}
			}()
		}

		It("nothing pauses for it", func() {
			bubble(func() {
				s := newOrdered(16)
				s.start()
				stop := make(chan struct{})
				load(s, 16, 500*time.Millisecond, stop)
				s.pass(10 * time.Minute)
				close(stop)
				s.pass(time.Second)
				for id := range int32(16) {
					key := linktest.Key("orders", "a", id)
					Expect(s.inOrder(key)).To(Equal(upTo(int(s.cluster.Max(key)))))
					Expect(longestGap(s.calls(linktest.Pull), key)).To(BeNumerically("<", time.Second))
				}
				Expect(s.seen(messages.EventKind_EVENT_KIND_LOCK_LOST)).To(BeEmpty())
				s.stop(time.Second)
			})
		})

		It("the queue alone stops whose lock is refused, and goes on within a second after it was had again", func() {
			bubble(func() {
				s := newOrdered(4)
				s.start()
				s.pass(time.Second)
				three := linktest.Key("orders", "a", 3)
				s.cluster.LockFor(group, "thief", three)
				s.pass(20 * time.Second)
				stop := make(chan struct{})
				load(s, 4, 100*time.Millisecond, stop)
				s.pass(5 * time.Second)
				Expect(s.inOrder(three)).To(BeEmpty())
				Expect(len(s.inOrder(zero))).To(BeNumerically(">", 40))
				s.cluster.LockFor(group, "", three)
				s.pass(time.Second)
				Expect(s.inOrder(three)).NotTo(BeEmpty())
				close(stop)
				s.stop(time.Second)
			})
		})

		It("a request that times out stops nothing while the last lock counts", func() {
			bubble(func() {
				s := newOrdered(1)
				s.start()
				s.pass(5 * time.Second)
				s.cluster.On(linktest.Lock, linktest.Once(linktest.Answer{Silent: true}))
				stop := make(chan struct{})
				load(s, 1, 100*time.Millisecond, stop)
				s.pass(23 * time.Second)
				Expect(len(s.inOrder(zero))).To(BeNumerically(">", 220))
				close(stop)
				s.stop(time.Second)
			})
		})
	})

	It("pulls nothing before it has lock and offset, however often these fail, and then at the stored offset", Label("A25"), func() {
		bubble(func() {
			s := newOrdered(1)
			s.cluster.Fill(zero, 100)
			s.cluster.SetOffset(group, zero, 60)
			silent := linktest.Answer{Silent: true}
			s.cluster.On(linktest.Lock, linktest.Once(silent, silent, silent))
			s.cluster.On(linktest.Committed, linktest.For(on(zero), linktest.Once(linktest.Answer{Err: linktest.Refusal(1)})))
			s.start()
			s.pass(10 * time.Second)
			Expect(s.calls(linktest.Pull, on(zero))[0].Offset).To(Equal(int64(60)))
			Expect(s.inOrder(zero)).To(HaveLen(40))
			Expect(s.seen(messages.EventKind_EVENT_KIND_LOCK_FAILED)).NotTo(BeEmpty())
			s.stop(time.Second)
		})
	})

	It("keeps its locks through a handler call of twelve minutes, and goes on by itself afterwards", Label("A25"), func() {
		bubble(func() {
			s := newOrdered(2)
			s.cluster.Fill(zero, 3)
			s.cluster.Fill(one, 50)
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueId() == 0 && m.GetQueueOffset() == 0 {
					time.Sleep(12 * time.Minute)
				}
				return nil
			})
			s.start()
			s.pass(11 * time.Minute)
			Expect(s.inOrder(one)).To(HaveLen(50))
			Expect(s.cluster.LockHolder(group, zero)).To(Equal("me"))
			s.pass(2 * time.Minute)
			Expect(s.inOrder(zero)).To(Equal(upTo(3)))
			s.stop(time.Second)
		})
	})

	It("is never in one queue at two members at once while queues move", Label("A22"), func() {
		bubble(func() {
			first := newOrdered(4)
			second := newStageOn(first.cluster, "you", "orders")
			second.ordered()
			var mu sync.Mutex
			inside := make(map[int32]bool)
			for _, s := range []*stage{first, second} {
				s.handle(func(_ context.Context, m *messages.Message) error {
					mu.Lock()
					Expect(inside[m.GetQueueId()]).To(BeFalse())
					inside[m.GetQueueId()] = true
					mu.Unlock()
					time.Sleep(300 * time.Millisecond)
					mu.Lock()
					inside[m.GetQueueId()] = false
					mu.Unlock()
					return nil
				})
			}
			for id := range int32(4) {
				first.cluster.Fill(linktest.Key("orders", "a", id), 40)
			}
			first.start()
			first.pass(2 * time.Second)
			second.launch()
			first.pass(20 * time.Millisecond)
			joined := first.cluster.Now()
			first.cluster.Notify(group)
			first.pass(20 * time.Second)
			var begun []time.Duration
			for _, call := range first.calls(linktest.Pull, about("orders")) {
				if call.Client == "you" {
					begun = append(begun, call.At-joined)
				}
			}
			Expect(begun).NotTo(BeEmpty())
			Expect(begun[0]).To(BeNumerically("<", 500*time.Millisecond), "one call of the handler, and a margin")
			Expect(len(first.bodies()) + len(second.bodies())).To(Equal(160))
			second.stop(time.Second)
			first.stop(time.Second)
		})
	})
})
