package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("A panic in the transport", func() {
	key := linktest.Key("orders", "a", 0)

	DescribeTable("loses nothing and stalls nothing", func(op linktest.Op) {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 2, "a")
			s.cluster.Fill(key, 100)
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 7 && m.GetReconsumeTimes() == 0 {
					return errors.New("not yet")
				}
				return nil
			})
			s.cluster.On(op, linktest.Once(linktest.Answer{Panic: "scripted"}, linktest.Answer{Panic: "scripted"}))
			s.start()
			s.pass(time.Minute)
			s.cluster.Fill(key, 100)
			s.pass(30 * time.Second)
			want := make([]string, 200)
			for i := range want {
				want[i] = fmt.Sprintf("%s/%d", key, i)
			}
			Expect(s.bodies()).To(ContainElements(want))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(200)))
			report, _ := s.stop(time.Second)
			Expect(report.GetUnpersisted()).To(BeEmpty())
			if op != linktest.Unregister {
				Expect(s.cluster.MemberIDs(group)).To(BeEmpty())
			}
		})
	},
		Entry("when a route is asked for", linktest.Route),
		Entry("in a heartbeat", linktest.Heartbeat),
		Entry("when members are listed", linktest.Members),
		Entry("when the offset is read", linktest.Committed),
		Entry("when an offset is stored", linktest.Commit),
		Entry("when a pull is sent", linktest.Pull),
		Entry("when messages are decoded", linktest.Decode),
		Entry("when a message is handed back", linktest.SendBack),
		Entry("when the group is unregistered", linktest.Unregister),
	)
})

var _ = Describe("A panic when the next pull is sent", func() {
	It("does not lose the answer to the last one, even if nothing comes any more", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 10)
			s.cluster.On(linktest.Pull, linktest.For(func(c linktest.Call) bool { return c.Queue == key && c.Offset == 10 },
				linktest.Once(linktest.Answer{Panic: "scripted"})))
			s.start()
			s.pass(10 * time.Second)
			Expect(s.bodies()).To(HaveLen(10))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			s.stop(time.Second)
		})
	})
})

// saboteur hooks into the log and panics in the turn of the actor that records an event of a kind, as often as it is told.
type saboteur struct {
	kind  messages.EventKind
	times atomic.Int32
}

// Levels are all, so that no event is left out.
func (o *saboteur) Levels() []logrus.Level { return logrus.AllLevels }

// Fire panics if it is time.
func (o *saboteur) Fire(line *logrus.Entry) error {
	if line.Data["event"] == actors.EventName(o.kind) && o.times.Add(-1) >= 0 {
		panic("sabotage")
	}
	return nil
}

// sabotage lets a client fail so often in the turns that record a kind of event.
func (s *stage) sabotage(kind messages.EventKind, times int32) *saboteur {
	evil := &saboteur{kind: kind}
	evil.times.Store(times)
	log := s.spec.Log.(*logrus.Logger)
	log.SetLevel(logrus.DebugLevel)
	log.AddHook(evil)
	return evil
}

var _ = Describe("A panic in the middle of a turn", func() {
	key := linktest.Key("orders", "a", 0)

	DescribeTable("loses nothing and stalls nothing", func(kind messages.EventKind, times int32) {
		bubble(func() {
			s := newStage("orders")
			evil := s.sabotage(kind, times)
			s.cluster.Topic("orders", 2, "a")
			s.cluster.Fill(key, 10)
			s.cluster.On(linktest.Committed, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.On(linktest.Commit, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.On(linktest.Heartbeat, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.On(linktest.Members, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.On(linktest.SendBack, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.On(linktest.Send, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.handle(func(_ context.Context, m *messages.Message) error {
				if m.GetQueueOffset() == 7 && m.GetReconsumeTimes() == 0 {
					return errors.New("not yet")
				}
				return nil
			})
			s.start()
			s.pass(time.Minute)
			if kind == messages.EventKind_EVENT_KIND_OFFSET_CORRECTED {
				s.cluster.Bounds(key, 20)
				s.pass(20 * time.Second)
			}
			s.cluster.Join(group, "you") // the second queue goes and comes back
			s.cluster.Notify(group)
			s.pass(time.Minute)
			s.cluster.Leave(group, "you")
			s.cluster.Notify(group)
			s.pass(time.Minute)
			other := linktest.Key("orders", "a", 1)
			s.cluster.Fill(key, 100)
			s.cluster.Fill(other, 100)
			s.pass(time.Minute)
			Expect(s.cluster.Offset(group, key)).To(Equal(s.cluster.Max(key)))
			Expect(s.cluster.Offset(group, other)).To(Equal(s.cluster.Max(other)))
			for i := range 100 {
				Expect(s.bodies()).To(ContainElement(fmt.Sprintf("%s/%d", other, i)))
			}
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<=", 12*time.Second))
			Expect(evil.times.Load()).To(BeNumerically("<=", 0), "the sabotage happened")
		})
	},
		Entry("of the RouteKeeper", messages.EventKind_EVENT_KIND_ROUTE_CHANGED, int32(2)),
		Entry("of the HeartbeatSender", messages.EventKind_EVENT_KIND_HEARTBEAT_FAILED, int32(1)),
		Entry("of the Rebalancer over members", messages.EventKind_EVENT_KIND_MEMBERS_UNUSABLE, int32(1)),
		Entry("of the Rebalancer at the end of a round", messages.EventKind_EVENT_KIND_REBALANCED, int32(2)),
		Entry("of the AssignedQueue that locates", messages.EventKind_EVENT_KIND_START_OFFSET_FAILED, int32(1)),
		Entry("of the AssignedQueue that starts", messages.EventKind_EVENT_KIND_QUEUE_ASSIGNED, int32(2)),
		Entry("of the AssignedQueue that corrects", messages.EventKind_EVENT_KIND_OFFSET_CORRECTED, int32(1)),
		Entry("of the AssignedQueue that is being revoked", messages.EventKind_EVENT_KIND_QUEUE_REVOKING, int32(1)),
		Entry("of the AssignedQueue that was revoked", messages.EventKind_EVENT_KIND_QUEUE_REVOKED, int32(1)),
		Entry("of the OffsetPersister", messages.EventKind_EVENT_KIND_OFFSET_PERSIST_FAILED, int32(1)),
		Entry("of the RetrySender", messages.EventKind_EVENT_KIND_HAND_BACK_FAILED, int32(1)),
		Entry("of the RetrySender after the hand-back", messages.EventKind_EVENT_KIND_HANDED_BACK, int32(1)),
		Entry("of the ConsumerGroup", messages.EventKind_EVENT_KIND_GROUP_READY, int32(1)),
		Entry("of the ClientInstance", messages.EventKind_EVENT_KIND_CLIENT_STARTED, int32(1)),
	)
})

var _ = Describe("A panic in a Consumer", func() {
	key := linktest.Key("orders", "a", 0)

	It("that was about to put an answer into the window makes it pulled again", func() {
		bubble(func() {
			s := newStage("orders")
			evil := s.sabotage(messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT, 1)
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 5) // nothing follows that would tell of the gap
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(linktest.Answer{Value: &messages.PullReply{
				Status: messages.PullStatus_PULL_STATUS_FOUND, NextOffset: 5, Records: s.cluster.Records(key, 0, 1, 1, 2, 3, 4),
			}})))
			s.start()
			s.pass(10 * time.Second)
			Expect(evil.times.Load()).To(BeNumerically("<=", 0), "the sabotage happened")
			Expect(s.bodies()).To(HaveLen(5))
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(5)))
			s.stop(time.Second)
		})
	})

	DescribeTable("that ends a drain holds the queue up for one more grace at the most, and keeps what is settled",
		func(ignores bool, stored int64) {
			bubble(func() {
				s := newStage("orders")
				evil := s.sabotage(messages.EventKind_EVENT_KIND_HANDLERS_ABANDONED, 1)
				gate := make(chan struct{})
				s.cluster.Topic("orders", 1, "a")
				s.cluster.Fill(key, 5)
				s.handle(func(ctx context.Context, m *messages.Message) error {
					if m.GetQueueOffset() == 3 {
						return ignoring(gate)(ctx, m)
					}
					return nil
				})
				s.start()
				s.cluster.Join(group, "another") // it sorts before us
				s.cluster.Notify(group)
				s.pass(5*time.Second + 900*time.Millisecond)
				if !ignores {
					close(gate)
				}
				s.pass(10 * time.Second)
				Expect(s.owned("orders")).To(BeEmpty())
				Expect(s.seen(messages.EventKind_EVENT_KIND_QUEUE_REVOKED)).To(ContainElement(HaveField("Queue.Topic", "orders")))
				Expect(s.cluster.Offset(group, key)).To(Equal(stored))
				Expect(evil.times.Load()).To(BeNumerically("<=", 0), "the sabotage happened")
				if ignores {
					close(gate)
				}
				s.pass(time.Second)
				Expect(s.cluster.Offset(group, key)).To(Equal(stored))
				s.stop(time.Second)
			})
		},
		Entry("with a handler that ignores its context", true, int64(3)),
		Entry("with one that ends after all", false, int64(5)),
	)
})

var _ = Describe("A panic in the ordered stop", func() {
	DescribeTable("does not keep it from its end", func(kind messages.EventKind, times int32) {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			evil := s.sabotage(kind, times)
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 10)
			s.start()
			s.pass(6 * time.Second) // until the offset is stored
			_, took := s.stop(3 * time.Second)
			Expect(evil.times.Load()).To(BeNumerically("<=", 0), "the sabotage happened")
			Expect(took).To(BeNumerically("<", 3*time.Second))
			Expect(s.cluster.MemberIDs(group)).To(BeEmpty())
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			s.cluster.Forget()
			s.pass(time.Minute)
			Expect(s.cluster.Calls()).To(BeEmpty())
		})
	},
		Entry("of the ClientInstance at its begin", messages.EventKind_EVENT_KIND_CLIENT_STOPPING, int32(1)),
		Entry("of the ClientInstance at its end, twice", messages.EventKind_EVENT_KIND_CLIENT_STOPPED, int32(2)),
		Entry("of the ClientInstance at its end", messages.EventKind_EVENT_KIND_CLIENT_STOPPED, int32(1)),
		Entry("of the ConsumerGroup", messages.EventKind_EVENT_KIND_GROUP_STOPPED, int32(1)),
		Entry("of the AssignedQueue", messages.EventKind_EVENT_KIND_QUEUE_REVOKING, int32(1)),
		Entry("of the AssignedQueue at its end", messages.EventKind_EVENT_KIND_QUEUE_REVOKED, int32(1)),
	)
})

// broken is an observer that always panics.
type broken struct{}

func (broken) Observe(*messages.Event) { panic("a fault of the program") }

var _ = Describe("An observer that panics", func() {
	It("costs neither a message nor an actor, and is told in the log", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.spec.Observers = append([]actors.Observer{broken{}}, s.spec.Observers...)
			s.cluster.Topic("orders", 2, "a")
			s.cluster.Fill(key, 20)
			s.handle(func(_ context.Context, m *messages.Message) error {
				switch m.GetQueueOffset() {
				case 5:
					return errNot
				case 6:
					panic("this one")
				}
				return nil
			})
			s.spec.Groups[0].MaxReconsumes = 0
			s.start()
			s.pass(20 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(20)))
			Expect(s.cluster.DeadLetters(group)).To(HaveLen(2))
			Expect(s.seen(messages.EventKind_EVENT_KIND_HANDLER_FAILED)).To(HaveLen(2), "the other observers are told")
			Expect(s.seen(messages.EventKind_EVENT_KIND_ACTOR_RESTARTED)).To(BeEmpty())
			told := slices.DeleteFunc(s.lines(), func(line string) bool { return !strings.Contains(line, "a fault of the program") })
			Expect(told).To(HaveLen(1))
			_, took := s.stop(time.Second)
			Expect(took).To(BeNumerically("<", time.Second))
		})
	})
})
