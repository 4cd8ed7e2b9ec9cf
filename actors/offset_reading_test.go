package actors_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Finding the offset to start at", func() {
	key, other := linktest.Key("orders", "a", 0), linktest.Key("orders", "a", 1)

	When("reading the stored offset fails and is silent before it succeeds (A01)", func() {
		It("pulls nothing below the stored offset, and other queues do not wait", func() {
			bubble(func() {
				s := newStage("orders")
				s.cluster.Topic("orders", 2, "a")
				s.cluster.Bounds(key, 0)
				s.cluster.Fill(key, 70)
				s.cluster.SetOffset(group, key, 60)
				s.cluster.SetOffset(group, other, 0)
				s.cluster.On(linktest.Committed, linktest.For(on(key), linktest.Once(
					linktest.Answer{Err: linktest.Refusal(1)}, linktest.Answer{Silent: true})))
				s.start()
				Expect(s.calls(linktest.Pull, on(other))).NotTo(BeEmpty())
				s.pass(25 * time.Second)
				Expect(s.calls(linktest.Committed, on(key))).To(HaveLen(3))
				good := s.calls(linktest.Committed, on(key))[2]
				pulls := s.calls(linktest.Pull, on(key))
				Expect(pulls[0].Offset).To(Equal(int64(60)))
				Expect(pulls[0].At - good.Ended).To(BeNumerically("<", 25*time.Second))
				Expect(offsetsOf(pulls)).To(HaveEach(BeNumerically(">=", 60)))
				Expect(s.seen(messages.EventKind_EVENT_KIND_START_OFFSET_FAILED)).To(HaveLen(2))
				Expect(s.bodies()).To(HaveLen(10))
				s.stop(time.Second)
			})
		})
	})

	When("the broker says that there is no offset", func() {
		DescribeTable("follows the rule", func(from messages.ConsumeFrom, expected int64) {
			bubble(func() {
				s := newStage("orders")
				s.spec.Groups[0].Start.From = from
				s.cluster.Topic("orders", 1, "a")
				s.cluster.Bounds(key, 100)
				s.cluster.Fill(key, 20)
				s.start()
				Expect(s.calls(linktest.Pull, on(key))[0].Offset).To(Equal(expected))
				s.stop(time.Second)
			})
		},
			Entry("first", messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET, int64(100)),
			Entry("last", messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET, int64(120)),
			Entry("timestamp", messages.ConsumeFrom_CONSUME_FROM_TIMESTAMP, int64(100)),
		)
	})

	When("a young queue answers 0 for a new group that begins at the end (A02)", func() {
		DescribeTable("behaves as documented", func(strict bool, expected int64) {
			bubble(func() {
				s := newStage("orders")
				s.spec.Groups[0].Start.From = messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
				s.spec.Groups[0].Start.StrictLast = strict
				s.cluster.Topic("orders", 1, "a")
				s.cluster.Fill(key, 50)
				s.cluster.SetOffset(group, key, 0)
				s.start()
				Expect(s.calls(linktest.Pull, on(key))[0].Offset).To(Equal(expected))
				s.stop(time.Second)
			})
		},
			Entry("as Java does by default", false, int64(0)),
			Entry("at the end if strict", true, int64(50)),
		)
	})

	When("a new group begins at the end and its retry topic already holds messages (A30)", func() {
		It("starts the retry queue at its minimum", func() {
			bubble(func() {
				retry := linktest.Key("%RETRY%"+group, "a", 0)
				s := newStage("orders")
				s.spec.Groups[0].Start.From = messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
				s.spec.Groups[0].Start.StrictLast = true
				s.cluster.Topic("orders", 1, "a")
				s.cluster.Topic(retry.Topic, 1, "a")
				for range 12 {
					s.cluster.Store(retry, &messages.Message{Topic: "orders", Body: []byte("again"), ReconsumeTimes: 1})
				}
				s.start()
				Expect(s.calls(linktest.Pull, on(retry))[0].Offset).To(Equal(int64(0)))
				Expect(s.bodies()).To(HaveLen(12))
				s.stop(time.Second)
			})
		})
	})
})
