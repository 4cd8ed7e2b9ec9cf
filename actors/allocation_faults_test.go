package actors_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/allocation"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("An allocation strategy of the user's own", func() {
	faulty := messages.EventKind_EVENT_KIND_ALLOCATION_FAULTY
	type share func(queues []*messages.Queue) ([]*messages.Queue, error)

	// by makes a stage whose strategy can be replaced while it runs; retry queues go to everybody.
	by := func() (*stage, *atomic.Pointer[share]) {
		s := newStage("orders")
		s.cluster.Topic("orders", 4, "a")
		var now atomic.Pointer[share]
		even := share(func(queues []*messages.Queue) ([]*messages.Queue, error) {
			return slices.DeleteFunc(queues, func(q *messages.Queue) bool { return q.GetId()%2 == 1 }), nil
		})
		now.Store(&even)
		s.spec.Groups[0].Allocate = allocation.Custom{As: "EVEN", Divide: func(_ string, _ []string, queues []*messages.Queue) ([]*messages.Queue, error) {
			if queues[0].GetTopic() != "orders" {
				return queues, nil
			}
			return (*now.Load())(queues)
		}}
		return s, &now
	}

	It("decides what is owned", func() {
		bubble(func() {
			s, _ := by()
			s.start()
			Expect(s.owned("orders")).To(ConsistOf("orders@a:0", "orders@a:2"))
			Expect(s.seen(faulty)).To(BeEmpty())
			s.stop(time.Second)
		})
	})

	DescribeTable("that fails changes nothing, is told once and asked again", func(bad share, text string) {
		bubble(func() {
			s, now := by()
			s.start()
			now.Store(&bad)
			s.cluster.Topic("orders", 8, "a")
			s.pass(2 * time.Minute)
			Expect(s.owned("orders")).To(ConsistOf("orders@a:0", "orders@a:2"))
			Expect(s.seen(messages.EventKind_EVENT_KIND_QUEUE_REVOKING)).To(BeEmpty())
			Expect(s.seen(messages.EventKind_EVENT_KIND_ACTOR_RESTARTED)).To(BeEmpty())
			Expect(s.seen(faulty)).To(HaveLen(1))
			Expect(s.seen(faulty)[0].GetFailure().Err()).To(MatchError(ContainSubstring(text)))
			all := share(func(queues []*messages.Queue) ([]*messages.Queue, error) { return queues, nil })
			now.Store(&all)
			s.pass(5 * time.Second)
			Expect(s.owned("orders")).To(HaveLen(8))
			s.stop(time.Second)
		})
	},
		Entry("by an error", share(func([]*messages.Queue) ([]*messages.Queue, error) { return nil, errors.New("no idea") }), "allocate by EVEN: no idea"),
		Entry("by a panic", share(func([]*messages.Queue) ([]*messages.Queue, error) { panic("no idea") }), "allocate by EVEN: panic: no idea"),
	)

	It("that gives strange queues, nil and queues twice has these left out, told once", func() {
		bubble(func() {
			s, now := by()
			odd := share(func(queues []*messages.Queue) ([]*messages.Queue, error) {
				return []*messages.Queue{queues[1], queues[1], {Topic: "orders", Broker: "a", Id: 77}, nil, {Topic: "payments", Broker: "a"}}, nil
			})
			now.Store(&odd)
			s.start()
			s.pass(2 * time.Minute)
			Expect(s.owned("orders")).To(ConsistOf("orders@a:1"))
			Expect(s.owned("payments")).To(BeEmpty())
			Expect(s.seen(faulty)).To(HaveLen(1))
			Expect(s.seen(faulty)[0].GetText()).To(Equal("allocate by EVEN: not of the topic: @:0, orders@a:77, payments@a:0; given twice: orders@a:1"))
			s.stop(time.Second)
		})
	})
})
