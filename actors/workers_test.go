package actors_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Workers of a group", func() {
	fill := func(s *stage, topic string, queues int32, n int) {
		s.cluster.Topic(topic, queues, "a")
		for id := range queues {
			s.cluster.Fill(linktest.Key(topic, "a", id), n)
		}
	}

	DescribeTable("are as many as asked for, over all topics (A19)", func(workers, least int) {
		bubble(func() {
			s := newStage("x", "y", "z")
			s.spec.Groups[0].Workers = workers
			s.handle(func(context.Context, *messages.Message) error {
				time.Sleep(10 * time.Millisecond)
				return nil
			})
			for _, topic := range []string{"x", "y", "z"} {
				fill(s, topic, 8, 40)
			}
			s.start()
			s.pass(30 * time.Second)
			_, most := s.busy()
			Expect(most).To(And(BeNumerically("<=", workers), BeNumerically(">=", least)))
			Expect(s.bodies()).To(HaveLen(3 * 8 * 40))
			s.stop(time.Second)
		})
	},
		Entry("one", 1, 1),
		Entry("sixty-four", 64, 60),
	)

	It("follow SetWorkers while running", func() {
		bubble(func() {
			s := newStage("orders")
			s.spec.Groups[0].Workers = 4
			fill(s, "orders", 8, 100)
			s.handle(func(context.Context, *messages.Message) error {
				time.Sleep(10 * time.Millisecond)
				return nil
			})
			s.start()
			_, most := s.busy()
			Expect(most).To(BeNumerically("<=", 4))
			s.client.Tell(group, &messages.SetWorkers{Workers: 12})
			s.pass(time.Second)
			_, most = s.busy()
			Expect(most).To(And(BeNumerically(">", 4), BeNumerically("<=", 12)))
			s.stop(time.Second)
		})
	})

	It("of one topic that blocks leave the others theirs (A16)", func() {
		bubble(func() {
			s := newStage("x", "y")
			gate := make(chan struct{})
			s.spec.Groups[0].Subscriptions[0].One = s.handler(ignoring(gate))
			fill(s, "x", 8, 100)
			s.start()
			s.pass(time.Second)
			retry := linktest.Key("%RETRY%"+group, "a", 0)
			fill(s, "y", 8, 500)
			s.cluster.Store(retry, &messages.Message{Topic: "y", Body: []byte("again"), ReconsumeTimes: 1})
			s.pass(40 * time.Second) // the route of y is asked for again
			for id := range int32(8) {
				Expect(s.cluster.Offset(group, linktest.Key("y", "a", id))).To(Equal(int64(500)))
			}
			Expect(s.bodies()).To(ContainElement("again"))
			close(gate)
			s.pass(10 * time.Second)
			Expect(s.bodies()).To(HaveLen(800 + 4000 + 1))
			s.stop(time.Second)
		})
	})
})

var _ = Describe("A pause", func() {
	It("stops pulls of the queues named and ends with Resume", func() {
		bubble(func() {
			key, other := linktest.Key("orders", "a", 0), linktest.Key("orders", "a", 1)
			s := newStage("orders")
			s.cluster.Topic("orders", 2, "a")
			s.start()
			s.client.Tell(group, &messages.PauseQueues{Queues: []*messages.Queue{key.Queue()}})
			s.pass(20 * time.Second) // the long poll under way runs out
			s.cluster.Forget()
			s.cluster.Fill(key, 2)
			s.cluster.Fill(other, 2)
			s.pass(time.Minute)
			Expect(s.calls(linktest.Pull, on(key))).To(BeEmpty())
			Expect(s.bodies()).To(HaveLen(2))
			Expect(s.facts(key).GetWaiting()).To(Equal("paused"))
			s.client.Tell(group, &messages.ResumeQueues{})
			s.pass(10 * time.Second)
			Expect(s.bodies()).To(HaveLen(4))
			s.stop(time.Second)
		})
	})
})

var _ = Describe("Retried messages", func() {
	It("reach the handler of their own topic, with their count (A27)", func() {
		bubble(func() {
			s := newStage("x", "y")
			fill := func(topic string) { s.cluster.Topic(topic, 1, "a"); s.cluster.Fill(linktest.Key(topic, "a", 0), 1) }
			fill("x")
			fill("y")
			var seen []string
			for _, sub := range s.spec.Groups[0].Subscriptions {
				sub.One = s.handler(func(_ context.Context, m *messages.Message) error {
					s.mu.Lock()
					defer s.mu.Unlock()
					if sub.Topic == "y" {
						seen = append(seen, fmt.Sprintf("%s %d", m.GetTopic(), m.GetReconsumeTimes()))
						if m.GetReconsumeTimes() < 3 {
							return errNot
						}
					}
					return nil
				})
			}
			s.start()
			s.pass(10 * time.Minute)
			s.stop(time.Second)
			Expect(seen).To(Equal([]string{"y 0", "y 1", "y 2", "y 3"}))
		})
	})
})
