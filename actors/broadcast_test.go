package actors_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

// offsetTable is a store of one group's offsets that specs look into.
type offsetTable struct {
	warning string

	mu     sync.Mutex
	saved  map[messages.QueueKey]int64
	saves  int
	fail   error
	closed bool
}

func (t *offsetTable) Saved() (map[messages.QueueKey]int64, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.saved), t.warning
}

func (t *offsetTable) Save(_ context.Context, offsets map[messages.QueueKey]int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		panic("saved after the end")
	}
	if t.fail != nil {
		return t.fail
	}
	t.saves++
	t.saved = maps.Clone(offsets)
	return nil
}

func (t *offsetTable) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}

func (t *offsetTable) at(key messages.QueueKey) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, ok := t.saved[key]; ok {
		return o
	}
	return -1
}

// broadcasting makes the stage's group a broadcasting one whose offsets are in table, starting at the end of new queues.
func (s *stage) broadcasting(table *offsetTable) *actors.BroadcastSpec {
	b := &actors.BroadcastSpec{Offsets: table}
	s.spec.Groups[0].Broadcast = b
	s.spec.Groups[0].Start.From = messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
	return b
}

func storeOf(key messages.QueueKey, offset int64) *offsetTable {
	return &offsetTable{saved: map[messages.QueueKey]int64{key: offset}}
}

var _ = Describe("A broadcasting group", func() {
	key, other := linktest.Key("orders", "a", 0), linktest.Key("orders", "b", 0)

	It("owns every queue beside other members, and asks for and tells nothing that clustering needs", func() {
		bubble(func() {
			s := newStage("orders")
			table := &offsetTable{}
			s.broadcasting(table)
			s.cluster.Topic("orders", 2, "a", "b")
			s.cluster.Join(group, "another", "third")
			s.start()
			Expect(s.owned("orders")).To(HaveLen(4))
			s.cluster.Fill(key, 3)
			s.cluster.Notify(group)
			s.pass(time.Minute)
			Expect(s.bodies()).To(HaveLen(3))
			Expect(s.owned("orders")).To(HaveLen(4))
			s.stop(time.Second)
			Expect(s.calls(linktest.Lock)).To(BeEmpty())
			Expect(s.calls(linktest.Members)).To(BeEmpty())
			Expect(s.calls(linktest.Commit)).To(BeEmpty())
			Expect(s.calls(linktest.Committed)).To(BeEmpty())
			Expect(s.calls(linktest.Route, about("%RETRY%"+group))).To(BeEmpty())
			for _, call := range s.calls(linktest.Pull) {
				req := call.Request.(*messages.PullRequest)
				Expect(req.GetCommit()).To(BeFalse())
				Expect(req.GetCommitOffset()).To(BeZero())
			}
			beats := s.calls(linktest.Heartbeat)
			Expect(beats).NotTo(BeEmpty())
			for _, call := range beats {
				data := call.Request.(*messages.Heartbeat).GetGroups()[0]
				Expect(data.GetModel()).To(Equal(messages.MessageModel_MESSAGE_MODEL_BROADCASTING))
				Expect(data.GetSubscriptions()).To(HaveLen(1))
			}
			Expect(table.at(key)).To(Equal(int64(3)))
			Expect(table.closed).To(BeTrue())
		})
	})

	It("goes on at its own saved offset, whatever the broker has for the group", Label("A51"), func() {
		bubble(func() {
			s := newStage("orders")
			table := storeOf(key, 500)
			s.broadcasting(table)
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 510)
			s.cluster.SetOffset(group, key, 100)
			s.start()
			Expect(s.calls(linktest.Pull, on(key))[0].Offset).To(Equal(int64(500)))
			Expect(s.bodies()).To(HaveLen(10))
			s.pass(6 * time.Second)
			Expect(table.at(key)).To(Equal(int64(510)))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(100)))
			s.stop(time.Second)
		})
	})

	It("tells once what its store had to say", Label("A51"), func() {
		bubble(func() {
			s := newStage("orders")
			s.broadcasting(&offsetTable{warning: "nothing is durable"})
			s.cluster.Topic("orders", 1, "a")
			s.start()
			s.pass(time.Minute)
			told := s.seen(messages.EventKind_EVENT_KIND_OFFSET_STORE_WARNING)
			Expect(told).To(HaveLen(1))
			Expect(told[0].GetText()).To(Equal("nothing is durable"))
			s.stop(time.Second)
		})
	})

	It("stores where it began at once, so that a crash skips nothing", Label("A52"), func() {
		bubble(func() {
			s := newStage("orders")
			table := &offsetTable{}
			s.broadcasting(table)
			s.cluster.Topic("orders", 2, "a")
			s.cluster.Fill(key, 40)
			s.start()
			Expect(table.at(key)).To(Equal(int64(40)))
			Expect(table.at(linktest.Key("orders", "a", 1))).To(BeZero())
			s.stop(time.Second)
		})
	})

	It("is ready only when each queue has its start: what is stored from then on is delivered", Label("A52"), func() {
		bubble(func() {
			s := newStage("orders")
			s.broadcasting(&offsetTable{})
			s.cluster.Topic("orders", 1, "a", "b")
			s.cluster.Fill(key, 5)
			s.cluster.Fill(other, 5)
			s.cluster.On(linktest.MaxOffset, linktest.For(on(other), linktest.Once(
				linktest.Answer{Err: linktest.Refusal(1)}, linktest.Answer{Delay: 2 * time.Second})))
			client := s.launch()
			began := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
			defer cancel()
			Expect(client.WaitReady(ctx)).To(MatchError(context.DeadlineExceeded))
			Expect(client.Obstacles()).To(HaveKeyWithValue(group, HaveOccurred()))
			Expect(client.WaitReady(context.Background())).To(Succeed())
			Expect(time.Since(began)).To(BeNumerically(">", 2*time.Second))
			s.cluster.Put(key, "new a")
			s.cluster.Put(other, "new b")
			s.pass(time.Second)
			Expect(s.bodies()).To(ConsistOf("new a", "new b"))
			s.stop(time.Second)
		})
	})

	It("begins at the minimum of queues that come while it consumes", Label("A52"), func() {
		bubble(func() {
			s := newStage("orders")
			s.broadcasting(&offsetTable{})
			s.cluster.Topic("orders", 1, "a")
			s.start()
			s.cluster.Fill(other, 7)
			s.cluster.Topic("orders", 1, "a", "b")
			s.pass(40 * time.Second)
			Expect(s.bodies()).To(HaveLen(7))
			s.stop(time.Second)
		})
	})

	It("keeps saved offsets of queues that leave the route, and goes on there when they come back", Label("A52"), func() {
		bubble(func() {
			s := newStage("orders")
			table := storeOf(key, 500)
			s.broadcasting(table)
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 500)
			s.start()
			s.cluster.Topic("orders", 0, "a")
			s.pass(60 * time.Second)
			Expect(s.owned("orders")).To(BeEmpty())
			s.cluster.Fill(key, 100)
			s.pass(10 * time.Second)
			Expect(s.bodies()).To(BeEmpty())
			Expect(table.at(key)).To(Equal(int64(500)))
			s.cluster.Topic("orders", 1, "a")
			s.pass(40 * time.Second)
			Expect(s.bodies()).To(HaveLen(100))
			s.stop(time.Second)
			Expect(table.at(key)).To(Equal(int64(600)))
		})
	})

	DescribeTable("follows the broker's correction, also in its own store", Label("A06"), func(saved int64) {
		bubble(func() {
			s := newStage("orders")
			table := storeOf(key, saved)
			s.broadcasting(table)
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Bounds(key, 1000)
			s.start()
			pulls := s.calls(linktest.Pull, on(key))
			Expect(offsetsOf(pulls)).To(Equal([]int64{saved, 1000}))
			Expect(pulls[1].At - pulls[0].Ended).To(BeNumerically("<=", time.Second))
			Expect(table.at(key)).To(Equal(int64(1000)))
			Expect(s.seen(messages.EventKind_EVENT_KIND_OFFSET_CORRECTED)).To(HaveLen(1))
			s.cluster.Fill(key, 3)
			s.pass(6 * time.Second)
			Expect(table.at(key)).To(Equal(int64(1003)))
			s.stop(time.Second)
		})
	},
		Entry("below the minimum", int64(100)),
		Entry("beyond the maximum", int64(5000)),
	)

	It("reports a store that refuses, goes on, and saves when it can", func() {
		bubble(func() {
			s := newStage("orders")
			table := &offsetTable{fail: errors.New("disk full")}
			s.broadcasting(table)
			s.cluster.Topic("orders", 1, "a")
			s.start()
			s.cluster.Fill(key, 3)
			s.pass(6 * time.Second)
			Expect(s.bodies()).To(HaveLen(3))
			Expect(s.seen(messages.EventKind_EVENT_KIND_OFFSET_PERSIST_FAILED)).NotTo(BeEmpty())
			table.mu.Lock()
			table.fail = nil
			table.mu.Unlock()
			s.pass(6 * time.Second)
			Expect(table.at(key)).To(Equal(int64(3)))
			saves := table.saves
			s.pass(time.Minute)
			Expect(table.saves).To(Equal(saves), "nothing moved")
			s.stop(time.Second)
		})
	})

	When("handlers fail", func() {
		// attempts runs one failing message beside good ones and gives when it was tried, and the end of it.
		attempts := func(change func(*actors.GroupSpec), err error) (at []time.Duration, dropped []*messages.Event, stored int64) {
			s := newStage("orders")
			table := &offsetTable{}
			s.broadcasting(table)
			change(s.spec.Groups[0])
			s.cluster.Topic("orders", 1, "a")
			var mu sync.Mutex
			s.handle(func(_ context.Context, m *messages.Message) error {
				if string(m.GetBody()) != "bad" {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				at = append(at, s.cluster.Now())
				return err
			})
			s.start()
			s.cluster.Put(key, "good", "bad", "good too")
			s.pass(time.Minute)
			s.stop(time.Second)
			Expect(s.calls(linktest.SendBack)).To(BeEmpty())
			Expect(s.calls(linktest.Send)).To(BeEmpty())
			return at, s.seen(messages.EventKind_EVENT_KIND_MESSAGE_DROPPED), table.at(key)
		}
		gaps := func(at []time.Duration) (out []time.Duration) {
			for i := 1; i < len(at); i++ {
				out = append(out, at[i]-at[i-1])
			}
			return out
		}
		none := []time.Duration(nil)

		DescribeTable("tries again here as told, then drops the message, tells why, and goes on",
			func(retries int, err error, expected []time.Duration, reason string) {
				bubble(func() {
					at, dropped, stored := attempts(func(g *actors.GroupSpec) {
						g.Broadcast.LocalRetries, g.Broadcast.RetryDelay = retries, 2*time.Second
					}, err)
					Expect(gaps(at)).To(Equal(expected))
					Expect(dropped).To(HaveLen(1))
					Expect(dropped[0].GetText()).To(ContainSubstring(reason))
					Expect(dropped[0].GetOffset()).To(Equal(int64(1)))
					Expect(dropped[0].GetCount()).To(Equal(int64(len(at))))
					Expect(stored).To(Equal(int64(3)))
				})
			},
			Entry("at once, as Java does", 0, errors.New("bad luck"), none, "bad luck"),
			Entry("twice", 2, errors.New("bad luck"), []time.Duration{2 * time.Second, 2 * time.Second}, "bad luck"),
			Entry("when the handler asks for it", 1, actors.RetryAfter(7*time.Second, errors.New("closed")), []time.Duration{7 * time.Second}, "closed"),
			Entry("not at all when the handler says so", 5, actors.DeadLetter(errors.New("unreadable")), none, "unreadable"),
			Entry("a failed message of a batch verdict", 1, actors.FailedAt(map[int]error{0: errors.New("item")}), []time.Duration{2 * time.Second}, "batch failed"),
		)

		It("drops what takes longer than the group allows, once, and lets a late result change nothing", func() {
			bubble(func() {
				s := newStage("orders")
				table := &offsetTable{}
				s.broadcasting(table).LocalRetries = 3
				s.spec.Groups[0].HandlerTimeout = time.Second
				s.cluster.Topic("orders", 1, "a")
				gate := make(chan struct{})
				s.handle(ignoring(gate))
				s.start()
				s.cluster.Put(key, "slow")
				s.pass(20 * time.Second)
				Expect(s.seen(messages.EventKind_EVENT_KIND_MESSAGE_DROPPED)).To(HaveLen(1))
				Expect(table.at(key)).To(Equal(int64(1)))
				close(gate)
				s.pass(20 * time.Second)
				Expect(s.bodies()).To(HaveLen(1))
				Expect(s.seen(messages.EventKind_EVENT_KIND_MESSAGE_DROPPED)).To(HaveLen(1))
				s.stop(time.Second)
				Expect(s.calls(linktest.SendBack)).To(BeEmpty())
			})
		})

		It("leaves a message that waits for its next attempt to the next start", Label("A51"), func() {
			bubble(func() {
				s := newStage("orders")
				table := &offsetTable{}
				b := s.broadcasting(table)
				b.LocalRetries, b.RetryDelay = 3, time.Hour
				s.cluster.Topic("orders", 1, "a")
				s.handle(func(context.Context, *messages.Message) error { return errors.New("later") })
				s.start()
				s.cluster.Put(key, "unlucky")
				s.pass(time.Second)
				report, took := s.stop(10 * time.Second)
				Expect(report.GetAbandoned()).To(BeZero())
				Expect(took).To(BeNumerically("<", time.Second))
				Expect(table.at(key)).To(BeZero())

				again := newStageOn(s.cluster, "me again", "orders")
				again.broadcasting(&offsetTable{saved: table.saved})
				again.start()
				Expect(again.bodies()).To(Equal([]string{"unlucky"}))
				again.stop(time.Second)
			})
		})
	})
})
