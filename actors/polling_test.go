package actors_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/actors/pollbuffer"
	"github.com/troupe-mq/troupe/messages"
)

// polled is what the program of a pull group has got.
type polled struct {
	*pollbuffer.Handed
	offsets []int64
}

// take polls for something that is there.
func (s *stage) take() polled {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h, ms, err := s.client.PollGroup(group).Take(ctx)
	Expect(err).NotTo(HaveOccurred())
	p := polled{Handed: h}
	for _, m := range ms {
		p.offsets = append(p.offsets, m.GetQueueOffset())
	}
	return p
}

func span(from, to int64) (out []int64) {
	for ; from < to; from++ {
		out = append(out, from)
	}
	return out
}

var _ = Describe("A pull group", func() {
	key, other := linktest.Key("orders", "a", 0), linktest.Key("orders", "a", 1)
	ctx := context.Background()
	prepare := func(p actors.PollSpec, queues int32) *stage {
		s := newStage("orders")
		s.cluster.Topic("orders", queues, "a")
		s.poll(p)
		return s
	}

	It("announces itself as active, without a retry topic, and its pulls carry the filter and commit nothing", Label("A49"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{AutoCommit: true}, 1)
			s.cluster.Fill(key, 40)
			s.start()
			s.take()
			s.take()
			s.pass(10 * time.Second)
			s.cluster.Fill(key, 5) // which is pulled after something was committed
			s.pass(time.Second)
			beat := s.calls(linktest.Heartbeat)[0].Request.(*messages.Heartbeat)
			Expect(beat.GetGroups()).To(HaveLen(1))
			Expect(beat.GetGroups()[0].GetActive()).To(BeTrue())
			Expect(beat.GetGroups()[0].GetSubscriptions()).To(ConsistOf(HaveField("Topic", "orders")))
			for _, call := range s.calls(linktest.Pull) {
				Expect(call.Topic).To(Equal("orders"))
				Expect(call.Request.(*messages.PullRequest).GetSubscription().GetExpression()).To(Equal("*"))
				Expect(call.Request.(*messages.PullRequest).GetCommit()).To(BeFalse())
			}
			Expect(s.calls(linktest.Pull, on(key))).To(ContainElement(HaveField("Offset", BeNumerically(">=", 40))))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(32)), "the first batch: the program has come back for another")
			s.stop(time.Second)
		})
	})

	It("pulls as much as may wait, and goes on as it is polled", Label("A18"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{Limit: 10_000}, 1)
			s.spec.Groups[0].Limits.Messages = 96
			s.cluster.Fill(key, 1000)
			s.start()
			s.pass(time.Minute)
			Expect(s.facts(key).GetCachedMessages()).To(Equal(int64(96)))
			Expect(s.facts(key).GetWaiting()).To(ContainSubstring("message count"))
			pulls := len(s.calls(linktest.Pull, on(key)))
			for i := range int64(20) {
				Expect(s.take().offsets).To(Equal(span(32*i, 32*i+32)), "what is unfinished takes no room")
				s.pass(0)
			}
			Expect(s.facts(key).GetUnfinished()).To(Equal(int64(20)))
			Expect(len(s.calls(linktest.Pull, on(key)))).To(Equal(pulls + 20))
			s.stop(time.Second)
		})
	})

	It("holds no more than it may over all queues", Label("A18"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{Limit: 100}, 4)
			for i := range int32(4) {
				s.cluster.Fill(linktest.Key("orders", "a", i), 1000)
			}
			s.start()
			s.pass(time.Minute)
			facts := s.client.Topology().GetGroups()[0].GetPolls()
			Expect(facts.GetMessages()).To(BeNumerically(">=", 100))
			Expect(facts.GetMessages()).To(BeNumerically("<", 100+4*32), "what was under way comes on top")
			Expect(s.facts(key).GetWaiting()).To(ContainSubstring("wait to be polled"))
			for range 10 {
				s.take()
				s.pass(100 * time.Millisecond)
			}
			Expect(s.client.Topology().GetGroups()[0].GetPolls().GetMessages()).To(BeNumerically(">=", 100), "it goes on by itself")
			s.stop(time.Second)
		})
	})

	It("shows who waits and what is unfinished", func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 1)
			s.start()
			done := make(chan error, 1)
			go func() { _, _, err := s.client.PollGroup(group).Take(ctx); done <- err }()
			s.pass(0)
			polls := s.client.Topology().GetGroups()[0].GetPolls()
			Expect([]any{polls.GetWaiting(), polls.GetMessages(), polls.GetLastPollAt()}).To(Equal([]any{int32(1), int64(0), int64(0)}))
			s.cluster.Fill(key, 1)
			s.pass(time.Second)
			Expect(<-done).NotTo(HaveOccurred())
			polls = s.client.Topology().GetGroups()[0].GetPolls()
			Expect([]any{polls.GetWaiting(), polls.GetUnfinished()}).To(Equal([]any{int32(0), int64(1)}))
			Expect(polls.GetLastPollAt()).NotTo(BeZero())
			Expect(s.facts(key).GetPosition()).To(Equal(int64(1)))
			var desk *messages.ActorSnapshot
			for _, a := range s.client.Topology().GetActors() {
				Expect(a.GetRole()).NotTo(Equal("WorkerPool"))
				if a.GetRole() == "PollDesk" {
					desk = a
				}
			}
			Expect(desk.GetFacts()).To(ContainElements(HaveField("Name", "messages"), HaveField("Name", "waiting"), HaveField("Name", "polled")))
			s.stop(time.Second)
		})
	})

	It("is put at the broker's offset when it stands at one that does not exist, and drops what is outdated by it", Label("A06"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 1)
			s.cluster.SetOffset(group, key, 500)
			s.cluster.Fill(key, 10)
			s.start()
			s.pass(time.Second)
			Expect(s.seen(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED)).To(HaveLen(1))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			s.cluster.Fill(key, 5)
			var offsets []int64
			for len(offsets) < 5 {
				offsets = append(offsets, s.take().offsets...)
			}
			Expect(offsets).To(Equal(span(10, 15)))
			s.stop(time.Second)
		})
	})

	It("is put where an administrator says, and stays there", Label("A07"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 1)
			s.cluster.Fill(key, 20)
			s.start()
			h := s.take()
			s.client.Tell(group, &messages.ResetOffsets{Offsets: []*messages.QueueOffset{{Queue: key.Queue(), Offset: 5}}})
			s.pass(time.Second)
			Expect(h.Finish()).To(MatchError(actors.ErrBatchOutdated))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(5)))
			s.pass(time.Minute)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(5)))
			Expect(s.take().offsets).To(Equal(span(5, 20)))
			s.stop(time.Second)
		})
	})

	It("does not take a failing read of its offset for a beginning", Label("A01"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{AutoCommit: true}, 1)
			s.cluster.SetOffset(group, key, 7)
			s.cluster.Fill(key, 10)
			s.cluster.On(linktest.Committed, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}, linktest.Answer{Err: linktest.Unreachable("a")}))
			s.start()
			Expect(s.calls(linktest.Pull, on(key))).To(BeEmpty())
			Expect(s.take().offsets).To(Equal(span(7, 10)))
			s.stop(time.Second)
		})
	})

	It("waits for a batch under way when a queue moves, but not longer than its grace", Label("A50"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 2)
			s.cluster.Fill(key, 5)
			s.cluster.Fill(other, 5)
			s.start()
			one, two := s.take(), s.take()
			lost := map[string]polled{one.Queue().Text(): one, two.Queue().Text(): two}[other.Queue().Text()]
			s.cluster.Join(group, "you")
			s.cluster.Notify(group)
			s.pass(4 * time.Second)
			Expect(s.facts(other).GetPhase()).To(Equal("draining"))
			s.pass(2 * time.Second)
			Expect(s.facts(other)).To(BeNil())
			Expect(lost.Finish()).To(MatchError(actors.ErrQueueRevoked))
			Expect(s.cluster.Offset(group, other)).To(BeZero())
			e := s.seen(messages.EventKind_EVENT_KIND_BATCHES_UNFINISHED)
			Expect(e).To(HaveLen(1))
			Expect([]int64{e[0].GetCount(), e[0].GetOffset()}).To(Equal([]int64{1, 0}))
			s.stop(time.Second)
		})
	})

	It("bounds OnRevoke in time, and contains its panic", Label("A50"), func() {
		bubble(func() {
			asked, causes := make(chan string, 10), make(chan error, 10)
			s := prepare(actors.PollSpec{OnRevoke: func(ctx context.Context, q *messages.Queue) {
				asked <- q.Text()
				if q.GetId() == 0 {
					panic("in OnRevoke")
				}
				<-ctx.Done()
				causes <- ctx.Err()
			}}, 2)
			s.start()
			begun := time.Now()
			s.stop(3 * time.Second)
			Expect(time.Since(begun)).To(BeNumerically("~", 3*time.Second, 100*time.Millisecond), "as long as the shutdown lets it")
			Expect(asked).To(HaveLen(2))
			Expect(<-causes).To(MatchError(context.DeadlineExceeded))
			Expect(s.seen(messages.EventKind_EVENT_KIND_HANDLER_PANICKED)).To(HaveLen(1))
		})
	})

	It("pulls by hand from the slave when the master cannot be reached, and from the master when that is back", Label("A05"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{Assigned: []messages.QueueKey{}}, 1)
			s.cluster.Fill(key, 5)
			s.start()
			door := s.client.PollGroup(group)
			pull := func() (string, error) {
				reply, ms, err := door.Pull(ctx, actors.HandPull{
					Queue: key.Queue(), Subscription: &messages.Subscription{Topic: "orders", Expression: "*"}, Max: 32, Timeout: 10 * time.Second,
				})
				if err != nil {
					return "", err
				}
				Expect(ms).To(HaveLen(5))
				Expect(reply.GetNextOffset()).To(Equal(int64(5)))
				calls := s.calls(linktest.Pull, on(key))
				return calls[len(calls)-1].Address, nil
			}
			Expect(pull()).To(Equal(linktest.Address("a")))
			s.cluster.Down(linktest.Address("a"), &linktest.Answer{Err: linktest.Unreachable("a")})
			_, err := pull()
			Expect(err).To(HaveOccurred())
			Expect(pull()).To(Equal(linktest.SlaveAddress("a")), "the next one asks the slave at once")
			s.cluster.Down(linktest.Address("a"), nil)
			s.pass(2 * time.Second)
			Expect(pull()).To(Equal(linktest.Address("a")))
			s.stop(time.Second)
		})
	})

	It("says that it has no handler to a tool that wants a message consumed directly", func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 1)
			s.start()
			reply := s.ask(consumeDirectly(group, &messages.Message{Topic: "orders", Body: []byte("x")}))
			Expect(reply.GetRemark()).To(ContainSubstring("no handler for topic orders"))
			s.stop(time.Second)
		})
	})

	It("gives nothing of a queue before its program has been told of it, whatever the telling does", Label("A49"), func() {
		bubble(func() {
			gate := make(chan struct{})
			s := prepare(actors.PollSpec{OnAssignment: func(_ string, all, mine []*messages.Queue) {
				<-gate
				if len(mine) == 1 {
					panic("in OnAssignment")
				}
			}}, 2)
			s.cluster.Fill(key, 5)
			s.start()
			ask := func() error {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_, _, err := s.client.PollGroup(group).Take(short)
				return err
			}
			Expect(ask()).To(MatchError(context.DeadlineExceeded))
			Expect(s.facts(key).GetWaiting()).To(ContainSubstring("OnAssignment has not returned"))
			gate <- struct{}{}
			s.pass(0)
			Expect(ask()).To(Succeed())
			s.cluster.Join(group, "you")
			s.cluster.Notify(group)
			s.pass(time.Second)
			gate <- struct{}{}
			s.cluster.Fill(key, 5)
			s.pass(0)
			Expect(ask()).To(Succeed(), "what is kept goes on")
			Expect(s.seen(messages.EventKind_EVENT_KIND_HANDLER_PANICKED)).To(HaveLen(1))
			close(gate)
			s.stop(time.Second)
		})
	})

	It("does not hang in a shutdown for a program that will not come back", Label("A32"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{AutoCommit: true}, 1)
			s.cluster.Fill(key, 5)
			s.start()
			s.take()
			_, took := s.stop(30 * time.Second)
			Expect(took).To(BeNumerically("<=", s.spec.Groups[0].RevokeGrace+100*time.Millisecond))
			Expect(s.cluster.Offset(group, key)).To(BeZero())
		})
	})

	It("follows the youngest of several orders, and answers all", Label("A49"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 1)
			s.cluster.Fill(key, 100)
			s.start()
			door := s.client.PollGroup(group)
			answers := make(chan error, 3)
			for _, to := range []int64{90, 50, 70} {
				go func() { answers <- door.Seek(ctx, key, to, false) }()
				s.pass(0)
			}
			for range 3 {
				Expect(<-answers).To(Succeed())
			}
			Expect(s.take().offsets).To(Equal(span(70, 100)))
			Expect(door.Seek(ctx, linktest.Key("orders", "a", 9), 0, false)).To(MatchError(actors.ErrNotAssigned))
			s.stop(time.Second)
			Expect(door.Seek(ctx, key, 0, false)).To(MatchError(actors.ErrClosed))
		})
	})

	It("seeks a queue whose start is not known yet", Label("A49"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 1)
			s.cluster.SetOffset(group, key, 3)
			s.cluster.Fill(key, 10)
			s.cluster.On(linktest.Committed, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.start()
			Expect(s.facts(key).GetPhase()).To(Equal("locating"))
			Expect(s.client.PollGroup(group).Seek(ctx, key, 8, false)).To(Succeed())
			Expect(s.take().offsets).To(Equal(span(8, 10)))
			Expect(s.facts(key).GetCommittedOffset()).To(Equal(int64(3)), "the program has only moved where it reads")
			s.stop(time.Second)
		})
	})

	It("goes on after its Consumer failed, with what waits and what is unfinished", func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 1)
			s.cluster.Fill(key, 64)
			s.cluster.On(linktest.Decode, linktest.For(func(c linktest.Call) bool { return c.Offset == 64 }, linktest.Once(linktest.Answer{Panic: "scripted"})))
			s.start()
			s.pass(5 * time.Second)
			one, two := s.take(), s.take()
			Expect(append(one.offsets, two.offsets...)).To(Equal(span(0, 64)))
			Expect(two.Finish()).To(Succeed())
			Expect(one.Finish()).To(Succeed())
			Expect(s.client.PollGroup(group).Store(ctx, key)).To(Succeed())
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(64)))
			s.stop(time.Second)
		})
	})

	It("stores what is committed by hand also of a queue that was assigned for a while", Label("A49"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{Assigned: []messages.QueueKey{}}, 1)
			s.cluster.Fill(key, 50)
			s.start()
			door := s.client.PollGroup(group)
			Expect(door.Note(ctx, key.Queue(), 7)).To(Succeed())
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(7)))
			assign := func(queues ...messages.QueueKey) {
				s.client.Tell(group, &actors.AssignQueues{Queues: queues, Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: "*"})
				s.pass(time.Second)
			}
			assign(key)
			Expect(s.take().Finish()).To(Succeed())
			assign()
			Expect(s.owned("orders")).To(BeEmpty())
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(39)), "32 from where the program stood")
			Expect(door.Note(ctx, key.Queue(), 45)).To(Succeed())
			s.pass(6 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(45)))
			s.stop(time.Second)
		})
	})

	It("says what became of a commit", Label("A50"), func() {
		bubble(func() {
			s := prepare(actors.PollSpec{}, 1)
			s.cluster.Fill(key, 5)
			s.start()
			door := s.client.PollGroup(group)
			s.cluster.On(linktest.Commit, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}, linktest.Answer{Silent: true}))
			Expect(s.take().Finish()).To(Succeed())
			var refused *messages.BrokerError
			Expect(errors.As(door.Store(ctx, key), &refused)).To(BeTrue())
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			Expect(door.Store(short, key)).To(MatchError(context.DeadlineExceeded))
			s.pass(20 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(5)), "stored later")
			Expect(door.Store(ctx, linktest.Key("orders", "a", 9))).To(MatchError(actors.ErrNotAssigned))
			s.stop(time.Second)
		})
	})

	It("has the queues that it was assigned, asks for no members and takes no locks", Label("A49"), func() {
		bubble(func() {
			missing := linktest.Key("orders", "a", 7)
			s := prepare(actors.PollSpec{Assigned: []messages.QueueKey{other, missing}}, 2)
			s.cluster.Fill(key, 5)
			s.cluster.Fill(other, 5)
			s.start()
			Expect(s.owned("orders")).To(Equal([]string{other.String()}))
			Expect(s.take().Queue().Key()).To(Equal(other))
			Expect(s.calls(linktest.Members)).To(BeEmpty())
			Expect(s.calls(linktest.Lock)).To(BeEmpty())
			Expect(s.calls(linktest.Heartbeat)[0].Request.(*messages.Heartbeat).GetGroups()[0].GetSubscriptions()).To(BeEmpty())
			told := s.seen(messages.EventKind_EVENT_KIND_ALLOCATION_FAULTY)
			Expect(told).To(HaveLen(1))
			Expect(told[0].GetText()).To(ContainSubstring(missing.String()))
			s.cluster.Topic("orders", 8, "a")
			s.pass(time.Minute)
			Expect(s.owned("orders")).To(Equal([]string{other.String(), missing.String()}), "as soon as it exists")
			s.stop(time.Second)
		})
	})
})
