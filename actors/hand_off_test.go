package actors_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("A queue that moves between two members", func() {
	key := func(id int32) messages.QueueKey { return linktest.Key("orders", "a", id) }

	// pair makes two members of one group; the first has all eight queues and is given messages every 10 ms on each.
	pair := func(orderly bool, handler time.Duration) (first, second *stage, stopLoad func()) {
		first = newStage("orders")
		second = newStageOn(first.cluster, "you", "orders")
		for _, s := range []*stage{first, second} {
			if orderly {
				s.ordered()
			}
			s.handle(func(context.Context, *messages.Message) error { time.Sleep(handler); return nil })
		}
		first.cluster.Topic("orders", 8, "a")
		first.start()
		ticker, ended := time.NewTicker(10*time.Millisecond), make(chan struct{})
		go func() {
			for {
				select {
				case <-ticker.C:
					for id := range int32(8) {
						first.cluster.Fill(key(id), 1)
					}
				case <-ended:
					return
				}
			}
		}()
		return first, second, func() { ticker.Stop(); close(ended) }
	}

	// once expects every stored message to have been handled once, by anybody.
	once := func(stages ...*stage) {
		GinkgoHelper()
		seen := make(map[string]int)
		for _, s := range stages {
			for _, body := range s.bodies() {
				seen[body]++
			}
		}
		total := int64(0)
		for id := range int32(8) {
			total += stages[0].cluster.Max(key(id))
		}
		Expect(int64(len(seen))).To(Equal(total), "nothing lost")
		for body, n := range seen {
			Expect(n).To(Equal(1), body)
		}
	}

	DescribeTable("is handled once, and pauses for no longer than what is in a handler, when a member joins and leaves",
		func(orderly bool) {
			bubble(func() {
				first, second, stopLoad := pair(orderly, 5*time.Millisecond)
				first.pass(time.Second)
				second.launch()
				first.pass(20 * time.Millisecond)
				first.cluster.Notify(group)
				first.pass(time.Second)
				Expect(second.owned("orders")).To(HaveLen(4))
				for id := range int32(8) {
					gap := longestGap(first.cluster.Calls(linktest.Pull), key(id))
					Expect(gap).To(BeNumerically("<", 200*time.Millisecond), "%v", id)
				}
				second.stop(5 * time.Second)
				first.cluster.Notify(group)
				first.pass(time.Second)
				stopLoad()
				first.pass(time.Second)
				Expect(first.owned("orders")).To(HaveLen(8))
				for id := range int32(8) {
					gap := longestGap(first.cluster.Calls(linktest.Pull), key(id))
					Expect(gap).To(BeNumerically("<", 200*time.Millisecond), "%v", id)
				}
				once(first, second)
				first.stop(time.Second)
			})
		},
		Entry("in a concurrent group", false),
		Entry("in an orderly group", true),
	)

	It("is begun by the new owner only after the last handler of the old one has ended and its offset is stored", func() {
		bubble(func() {
			first, second, stopLoad := pair(false, 700*time.Millisecond)
			first.pass(3 * time.Second)
			stopLoad()
			second.launch()
			first.pass(20 * time.Millisecond)
			first.cluster.Notify(group)
			first.pass(time.Minute)
			once(first, second)
			Expect(second.seen(messages.EventKind_EVENT_KIND_LOCK_PASSED_OVER)).To(BeEmpty())
			first.stop(time.Second)
			second.stop(time.Second)
		})
	})

	It("is begun at once when the old owner takes no locks, like a member of another language", func() {
		bubble(func() {
			first, second, stopLoad := pair(false, time.Millisecond)
			defer stopLoad()
			first.stop(time.Second)
			first.cluster.Join(group, "java")
			second.start()
			Expect(second.owned("orders")).To(HaveLen(4))
			Expect(second.bodies()).NotTo(BeEmpty())
			second.stop(time.Second)
		})
	})

	It("is begun within 2 s by a concurrent group when the lock is left behind by nobody knows whom", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key(0), 10)
			s.cluster.LockFor(actors.HandOffGroup(group), "crashed", key(0))
			s.start()
			s.pass(1600 * time.Millisecond)
			Expect(s.bodies()).To(BeEmpty())
			s.pass(500 * time.Millisecond)
			Expect(s.bodies()).To(HaveLen(10))
			passed := s.seen(messages.EventKind_EVENT_KIND_LOCK_PASSED_OVER)
			Expect(passed).To(HaveLen(1))
			Expect(passed[0].GetQueue().Key()).To(Equal(key(0)))
			s.pass(80 * time.Second)
			Expect(s.cluster.LockHolder(actors.HandOffGroup(group), key(0))).To(Equal("me"), "it is locked as soon as it can be")
			s.stop(time.Second)
		})
	})

	It("is begun within 2 s by an orderly group when its owner has crashed that was known as a member", func() {
		bubble(func() {
			s := newStage("orders")
			s.ordered()
			s.cluster.Topic("orders", 2, "a")
			s.cluster.Fill(key(0), 10)
			s.cluster.Fill(key(1), 10)
			s.cluster.Join(group, "a-crashing")
			s.cluster.LockFor(group, "a-crashing", key(0))
			s.start()
			s.pass(10 * time.Second)
			Expect(s.bodies()).To(HaveLen(10))
			s.cluster.LockFor(group, "a-crashing", key(0))
			s.cluster.Leave(group, "a-crashing")
			s.cluster.Notify(group)
			s.pass(2 * time.Second)
			Expect(s.bodies()).To(HaveLen(20))
			Expect(s.cluster.LockHolder(group, key(0))).To(Equal("me"))
			s.stop(time.Second)
		})
	})

	It("stays with a member that was cut off for a moment only", func() {
		bubble(func() {
			s := newStage("orders")
			s.ordered()
			s.cluster.Topic("orders", 2, "a")
			s.cluster.Join(group, "a-blinking")
			s.cluster.LockFor(group, "a-blinking", key(0))
			s.start()
			s.pass(10 * time.Second)
			s.cluster.LockFor(group, "a-blinking", key(0))
			s.cluster.Leave(group, "a-blinking")
			s.cluster.Notify(group)
			s.pass(time.Second)
			s.cluster.Join(group, "a-blinking")
			s.cluster.Notify(group)
			s.pass(10 * time.Second)
			Expect(s.cluster.LockHolder(group, key(0))).To(Equal("a-blinking"))
			Expect(s.owned("orders")).To(HaveLen(1))
			s.stop(time.Second)
		})
	})

	It("is not waited for where brokers do not know locks", func() {
		bubble(func() {
			s := newStage("orders")
			s.cluster.Topic("orders", 4, "a")
			s.cluster.Fill(key(0), 10)
			knows := s.cluster.On(linktest.Lock, linktest.Always(linktest.Answer{Err: linktest.Refusal(3)}))
			s.start()
			Expect(s.bodies()).To(HaveLen(10))
			s.pass(time.Minute)
			Expect(s.seen(messages.EventKind_EVENT_KIND_LOCK_FAILED)).To(HaveLen(1), "it is told once")
			Expect(s.seen(messages.EventKind_EVENT_KIND_LOCK_PASSED_OVER)).To(BeEmpty())
			Expect(len(s.calls(linktest.Lock))).To(BeNumerically("<=", 6), "asked again with each renewal")
			knows()
			s.pass(20 * time.Second)
			Expect(s.cluster.LockHolder(actors.HandOffGroup(group), key(0))).To(Equal("me"))
			s.stop(time.Second)
		})
	})

	It("takes no locks in a group that wants none", func() {
		bubble(func() {
			s := newStage("orders")
			s.spec.Groups[0].HandOff = 0
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key(0), 10)
			s.start()
			s.stop(time.Second)
			Expect(s.bodies()).To(HaveLen(10))
			Expect(s.calls(linktest.Lock)).To(BeEmpty())
			Expect(s.calls(linktest.Unlock)).To(BeEmpty())
		})
	})
})

// longestGap is the longest time between the end of a pull of a queue and the beginning of the next, by anybody.
func longestGap(pulls []linktest.Call, key messages.QueueKey) (longest time.Duration) {
	last := time.Duration(-1)
	for _, pull := range pulls {
		if pull.Queue != key {
			continue
		}
		if last >= 0 {
			longest = max(longest, pull.At-last)
		}
		if !pull.Pending {
			last = pull.Ended
		}
	}
	return longest
}
