package actors_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/allocation"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

// scene makes events happen by their real cause.
type scene struct {
	text  string
	kinds []messages.EventKind
	play  func(s *stage)
}

// lineBook takes the entries of a log.
type lineBook struct {
	mu    sync.Mutex
	lines []*logrus.Entry
}

// Levels are all.
func (b *lineBook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire takes an entry.
func (b *lineBook) Fire(line *logrus.Entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, &logrus.Entry{Level: line.Level, Message: line.Message, Data: maps.Clone(line.Data)})
	return nil
}

// of gives the lines of an event kind.
func (b *lineBook) of(kind messages.EventKind) (out []*logrus.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.lines {
		if line.Data["event"] == actors.EventName(kind) {
			out = append(out, line)
		}
	}
	return out
}

// jamming is a transport whose pulls cannot be cancelled without a panic.
type jamming struct{ actors.Transport }

// Open opens a link of that kind.
func (t jamming) Open(config actors.LinkConfig) (actors.Link, error) {
	l, err := t.Transport.Open(config)
	return jammedLink{l}, err
}

type jammedLink struct{ actors.Link }

// Pull pulls, but cannot be cancelled.
func (l jammedLink) Pull(req *messages.PullRequest, done actors.PullDone) actors.PullUnderway {
	return jammedPull{l.Link.Pull(req, done)}
}

type jammedPull struct{ actors.PullUnderway }

// Cancel cancels, and fails over it.
func (p jammedPull) Cancel() {
	p.PullUnderway.Cancel()
	panic("jammed")
}

// fieldsOf gives the fields that a line must have, by what its event says.
func fieldsOf(e *messages.Event) map[string]any {
	fields := map[string]any{}
	for name, value := range map[string]string{"group": e.GetGroup(), "topic": e.GetTopic(), "address": e.GetAddress(), "actor": e.GetActor()} {
		if value != "" {
			fields[name] = value
		}
	}
	if q := e.GetQueue(); q != nil {
		fields["topic"], fields["broker"], fields["queue"] = q.GetTopic(), q.GetBroker(), q.GetId()
	}
	return fields
}

var _ = Describe("What happens", Label("A46"), func() {
	key, other := linktest.Key("orders", "a", 0), linktest.Key("orders", "a", 1)

	scenes := []scene{
		{"when a client starts, shares, reconnects and stops", []messages.EventKind{
			messages.EventKind_EVENT_KIND_CLIENT_STARTED, messages.EventKind_EVENT_KIND_CLIENT_STOPPING,
			messages.EventKind_EVENT_KIND_CLIENT_STOPPED, messages.EventKind_EVENT_KIND_GROUP_READY,
			messages.EventKind_EVENT_KIND_GROUP_STOPPED, messages.EventKind_EVENT_KIND_ROUTE_CHANGED,
			messages.EventKind_EVENT_KIND_REBALANCED, messages.EventKind_EVENT_KIND_QUEUE_ASSIGNED,
			messages.EventKind_EVENT_KIND_QUEUE_REVOKING, messages.EventKind_EVENT_KIND_QUEUE_REVOKED,
			messages.EventKind_EVENT_KIND_CONNECTED, messages.EventKind_EVENT_KIND_DISCONNECTED,
		}, func(s *stage) {
			s.start()
			s.cluster.Reconnected(linktest.Address("a"))
			s.cluster.Join(group, "another")
			s.cluster.Notify(group)
			s.pass(10 * time.Second)
		}},
		{"when name servers and brokers do not answer, or not with what was asked for", []messages.EventKind{
			messages.EventKind_EVENT_KIND_ROUTE_MISSING, messages.EventKind_EVENT_KIND_ROUTE_FAILED,
			messages.EventKind_EVENT_KIND_HEARTBEAT_FAILED, messages.EventKind_EVENT_KIND_MEMBERS_UNUSABLE,
			messages.EventKind_EVENT_KIND_START_OFFSET_FAILED, messages.EventKind_EVENT_KIND_OFFSET_PERSIST_FAILED,
			messages.EventKind_EVENT_KIND_PULL_DELAYED, messages.EventKind_EVENT_KIND_SUBSCRIPTION_MISMATCH,
			messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT,
		}, func(s *stage) {
			s.cluster.On(linktest.Route, linktest.For(about("orders"), linktest.Once(
				linktest.Answer{Err: &messages.NoRouteError{Topic: "orders"}}, linktest.Answer{Err: linktest.Unreachable("names")})))
			for _, op := range []linktest.Op{linktest.Heartbeat, linktest.Members, linktest.Committed, linktest.Commit} {
				s.cluster.On(op, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			}
			notLatest := linktest.Answer{Err: linktest.Refusal(25)}
			s.cluster.Fill(key, 5)
			s.cluster.On(linktest.Pull, linktest.For(on(key), linktest.Once(notLatest, notLatest, notLatest, linktest.Answer{Value: &messages.PullReply{
				Status: messages.PullStatus_PULL_STATUS_FOUND, NextOffset: 5, Records: s.cluster.Records(key, 0, 1, 1, 2, 3, 4),
			}})))
			s.start()
			s.pass(2 * time.Minute)
		}},
		{"when a handler fails, panics, is late, and its message goes back", []messages.EventKind{
			messages.EventKind_EVENT_KIND_HANDLER_FAILED, messages.EventKind_EVENT_KIND_HANDLER_PANICKED,
			messages.EventKind_EVENT_KIND_HANDLER_OVERDUE, messages.EventKind_EVENT_KIND_HANDED_BACK,
			messages.EventKind_EVENT_KIND_HAND_BACK_FAILED, messages.EventKind_EVENT_KIND_DEAD_LETTERED,
		}, func(s *stage) {
			s.spec.Groups[0].HandlerTimeout = time.Second
			s.cluster.On(linktest.SendBack, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.On(linktest.Send, linktest.Once(linktest.Answer{Err: linktest.Refusal(1)}))
			s.cluster.Fill(key, 4)
			s.handle(func(ctx context.Context, m *messages.Message) error {
				switch m.GetQueueOffset() {
				case 0:
					return errNot
				case 1:
					panic("no")
				case 2:
					<-ctx.Done()
				case 3:
					return actors.DeadLetter(errNot)
				}
				return nil
			})
			s.start()
			s.pass(time.Minute)
		}},
		{"when a broker or an administrator puts a queue elsewhere, and asks what nobody knows", []messages.EventKind{
			messages.EventKind_EVENT_KIND_OFFSET_CORRECTED, messages.EventKind_EVENT_KIND_OFFSET_RESET,
			messages.EventKind_EVENT_KIND_CALL_REFUSED,
		}, func(s *stage) {
			s.cluster.SetOffset(group, key, 100)
			s.cluster.Fill(key, 10)
			s.start()
			Expect(s.ask(reset(group, "orders", 5, key)).GetCode()).To(BeZero())
			Expect(s.ask(&messages.BrokerCall{Code: 999, Address: linktest.Address("a")}).GetCode()).NotTo(BeZero())
			s.pass(10 * time.Second)
		}},
		{"when a group begins behind messages", []messages.EventKind{messages.EventKind_EVENT_KIND_QUEUES_SKIPPED}, func(s *stage) {
			s.spec.Groups[0].Start.From = messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
			s.cluster.Fill(key, 10)
			s.cluster.Fill(other, 10)
			s.cluster.SetOffset(group, key, 10)
			s.start()
			s.pass(time.Minute)
		}},
		{"when a message is stuck, its queue is held back, goes on and is taken away from another one that is stuck", []messages.EventKind{
			messages.EventKind_EVENT_KIND_OLDEST_IN_FLIGHT, messages.EventKind_EVENT_KIND_PULL_RESUMED,
			messages.EventKind_EVENT_KIND_HANDLERS_ABANDONED,
		}, func(s *stage) {
			s.spec.Groups[0].Limits.Span = 100
			s.cluster.Fill(key, 1000)
			first, last := make(chan struct{}), make(chan struct{})
			s.handle(func(ctx context.Context, m *messages.Message) error {
				switch m.GetQueueOffset() {
				case 11:
					return ignoring(first)(ctx, m)
				case 999:
					return ignoring(last)(ctx, m)
				}
				return nil
			})
			s.start()
			s.pass(5 * time.Minute)
			close(first)
			s.pass(10 * time.Second)
			s.cluster.Join(group, "another")
			s.cluster.Notify(group)
			s.pass(30 * time.Second)
			close(last)
		}},
		{"when pulls get lost", []messages.EventKind{messages.EventKind_EVENT_KIND_PULL_LOOP_SILENT}, func(s *stage) {
			s.spec.Groups[0].PullTimeout = 10 * time.Minute
			s.cluster.On(linktest.Pull, linktest.Always(linktest.Answer{Silent: true}))
			s.start()
			s.pass(2 * time.Minute)
		}},
		{"when an orderly queue fails and its lock is not to be had", []messages.EventKind{
			messages.EventKind_EVENT_KIND_QUEUE_SUSPENDED, messages.EventKind_EVENT_KIND_LOCK_LOST,
			messages.EventKind_EVENT_KIND_LOCK_FAILED,
		}, func(s *stage) {
			s.ordered()
			s.cluster.On(linktest.Lock, linktest.Once(linktest.Answer{Err: linktest.Unreachable("a")}))
			s.cluster.Fill(key, 1)
			s.handle(func(context.Context, *messages.Message) error { return errNot })
			s.start()
			s.pass(10 * time.Second)
			s.cluster.LockFor(group, "thief", key)
			s.pass(30 * time.Second)
		}},
		{"when a former owner leaves its lock behind", []messages.EventKind{messages.EventKind_EVENT_KIND_LOCK_PASSED_OVER}, func(s *stage) {
			s.cluster.LockFor(actors.HandOffGroup(group), "crashed", key)
			s.start()
			s.pass(5 * time.Second)
		}},
		{"when a broadcasting group fails, with a store that has something to say", []messages.EventKind{
			messages.EventKind_EVENT_KIND_MESSAGE_DROPPED, messages.EventKind_EVENT_KIND_OFFSET_STORE_WARNING,
		}, func(s *stage) {
			s.broadcasting(&offsetTable{warning: "nothing is durable"})
			s.handle(func(context.Context, *messages.Message) error { return errNot })
			s.start()
			s.cluster.Fill(key, 1)
			s.pass(10 * time.Second)
		}},
		{"when no broker takes traces", []messages.EventKind{messages.EventKind_EVENT_KIND_TRACE_DROPPED}, func(s *stage) {
			s.spec.Trace = &actors.TraceSpec{Topic: traceTopic, Batch: 10}
			s.cluster.Store(key, traceable("x"))
			s.start()
		}},
		{"when an allocation strategy fails", []messages.EventKind{messages.EventKind_EVENT_KIND_ALLOCATION_FAULTY}, func(s *stage) {
			s.spec.Groups[0].Allocate = allocation.Custom{As: "NONE", Divide: func(string, []string, []*messages.Queue) ([]*messages.Queue, error) {
				return nil, errors.New("no idea")
			}}
			s.start()
			s.pass(5 * time.Second)
		}},
		{"when a group subscribes and unsubscribes, and when a broker refuses its filter", []messages.EventKind{
			messages.EventKind_EVENT_KIND_SUBSCRIBED, messages.EventKind_EVENT_KIND_UNSUBSCRIBED,
			messages.EventKind_EVENT_KIND_SUBSCRIPTION_REJECTED,
		}, func(s *stage) {
			s.cluster.Topic("refunds", 1, "a")
			s.cluster.On(linktest.CheckSubscription, linktest.Always(linktest.Answer{Err: linktest.Refusal(23)}))
			s.start()
			s.client.Tell(group, &actors.ChangeSubscription{Topic: "refunds", Spec: &actors.SubscriptionSpec{
				Topic: "refunds", One: s.handler(func(context.Context, *messages.Message) error { return nil }),
				Subscription: &messages.Subscription{
					Topic: "refunds", Kind: messages.FilterKind_FILTER_KIND_SQL92, Expression: "price >", Version: 1,
				},
			}})
			s.pass(10 * time.Second)
			s.client.Tell(group, &actors.ChangeSubscription{Topic: "refunds"})
			s.pass(10 * time.Second)
		}},
		{"when an actor fails, and when one fails as it is being stopped, with an answer on its way to it", []messages.EventKind{
			messages.EventKind_EVENT_KIND_ACTOR_RESTARTED, messages.EventKind_EVENT_KIND_ACTOR_GAVE_UP,
			messages.EventKind_EVENT_KIND_DEAD_LETTER,
		}, func(s *stage) {
			s.spec.Transport = jamming{s.cluster}
			s.ordered()
			s.sabotage(messages.EventKind_EVENT_KIND_LOCK_LOST, 1)
			s.start()
			s.cluster.LockFor(group, "thief", key) // noticed while a pull is held, which nobody has told to end
			s.pass(25 * time.Second)
		}},
		{"when the program of a pull group moves where it reads, and is away when a queue is given up", []messages.EventKind{
			messages.EventKind_EVENT_KIND_OFFSET_SOUGHT, messages.EventKind_EVENT_KIND_BATCHES_UNFINISHED,
		}, func(s *stage) {
			s.poll(actors.PollSpec{})
			s.cluster.Fill(key, 5)
			door := s.start().client.PollGroup(group)
			Expect(door.Seek(context.Background(), key, 2, true)).To(Succeed())
			_, _, err := door.Take(context.Background())
			Expect(err).NotTo(HaveOccurred())
		}},
	}

	for _, scene := range scenes {
		It(scene.text+", observers are told, and a logger with group, topic, broker and queue", func() {
			bubble(func() {
				s := newStage("orders")
				s.cluster.Topic("orders", 2, "a")
				book := &lineBook{}
				log := s.spec.Log.(*logrus.Logger)
				log.SetLevel(logrus.DebugLevel)
				log.AddHook(book)
				scene.play(s)
				s.stop(time.Second)
				for _, kind := range scene.kinds {
					told := s.seen(kind)
					Expect(told).NotTo(BeEmpty(), kind.String())
					lines := book.of(kind)
					Expect(lines).NotTo(BeEmpty(), kind.String())
					Expect(lines[0].Message).NotTo(Equal(actors.EventName(kind)), "it has a line of its own")
					// Actors that run at once are told of to observers and to the log in any order.
					fields := []types.GomegaMatcher{Not(BeNil())}
					for name, value := range fieldsOf(told[0]) {
						fields = append(fields, HaveKeyWithValue(name, value))
					}
					Expect(lines).To(ContainElement(HaveField("Data", And(fields...))), kind.String())
				}
			})
		})
	}

	It("is of no kind that no spec makes happen", func() {
		var played []messages.EventKind
		for _, scene := range scenes {
			played = append(played, scene.kinds...)
		}
		var kinds []messages.EventKind
		for number := range messages.EventKind_name {
			kinds = append(kinds, messages.EventKind(number))
		}
		kinds = slices.DeleteFunc(kinds, func(k messages.EventKind) bool { return k == messages.EventKind_EVENT_KIND_UNSPECIFIED })
		Expect(played).To(ConsistOf(kinds))
	})
})
