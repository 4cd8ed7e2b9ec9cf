package actors_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("Limits of a topic", func() {
	key := func(id int32) messages.QueueKey { return linktest.Key("orders", "a", id) }

	// held gives what each queue of the topic holds that this member has.
	held := func(s *stage) (messages, bytes []int64) {
		for id := range int32(8) {
			if f := s.facts(key(id)); f != nil {
				messages, bytes = append(messages, f.GetCachedMessages()), append(bytes, f.GetCachedBytes())
			}
		}
		return messages, bytes
	}
	stuck := func(body string) (s *stage, release func()) {
		s = newStage("orders")
		s.cluster.Topic("orders", 8, "a")
		for id := range int32(8) {
			for range 400 {
				s.cluster.Put(key(id), body)
			}
		}
		h, release := s.block()
		s.handle(h)
		return s, release
	}

	It("are split over the member's queues, and split again when queues come and go", func() {
		bubble(func() {
			s, release := stuck("x")
			s.spec.Groups[0].Limits.TopicMessages = 80
			s.cluster.Join(group, "you")
			s.start()
			s.pass(10 * time.Second)
			count, _ := held(s)
			Expect(count).To(HaveLen(4))
			Expect(count).To(HaveEach(int64(20)), "80 over 4")
			release() // so that the queues move and go on
			s.cluster.Leave(group, "you")
			s.cluster.Notify(group)
			s.pass(10 * time.Second)
			Expect(s.owned("orders")).To(HaveLen(8))
			s.cluster.Forget()
			for id := range int32(8) {
				s.cluster.Fill(key(id), 100)
			}
			s.pass(10 * time.Second)
			for _, p := range s.calls(linktest.Pull, about("orders")) {
				if p.At > 10*time.Second {
					Expect(p.Request.(*messages.PullRequest).GetMaxMessages()).To(Equal(int32(10)), "80 over 8")
				}
			}
			Expect(s.cluster.Offset(group, key(0))).To(Equal(int64(500)))
			s.stop(time.Second)
		})
	})

	It("leave each queue one message at least, and bound bytes by one pull more", func() {
		bubble(func() {
			s, release := stuck(strings.Repeat("x", 1000))
			s.spec.Groups[0].Limits.TopicMessages = 3
			s.start()
			s.pass(10 * time.Second)
			count, _ := held(s)
			Expect(count).To(Equal([]int64{1, 1, 1, 1, 1, 1, 1, 1}))
			release()
			s.pass(10 * time.Second)
			s.stop(time.Second)
			for id := range int32(8) {
				Expect(s.cluster.Offset(group, key(id))).To(BeNumerically(">", 1), "goes on")
			}
		})
		bubble(func() {
			s, _ := stuck(strings.Repeat("x", 1000))
			s.spec.Groups[0].Limits.TopicBytes = 400_000
			s.start()
			s.pass(10 * time.Second)
			_, bytes := held(s)
			Expect(bytes).To(HaveLen(8))
			Expect(bytes).To(HaveEach(And(BeNumerically(">=", 50_000), BeNumerically("<", 50_000+32*1000))))
			s.free()
			s.stop(time.Second)
		})
	})
})

var _ = Describe("The pull interval", func() {
	It("is between a pull that brought messages and the next, and nowhere else", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.spec.Groups[0].PullInterval = 700 * time.Millisecond
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 96)
			s.start()
			s.pass(20 * time.Second)
			pulls := s.calls(linktest.Pull, on(key))
			Expect(len(pulls)).To(BeNumerically(">=", 4))
			for i := range 3 {
				Expect(pulls[i+1].At - pulls[i].Ended).To(Equal(700 * time.Millisecond))
			}
			Expect(pulls[4].At).To(Equal(pulls[3].Ended), "nothing was found")
			Expect(s.bodies()).To(HaveLen(96))
			s.stop(time.Second)
		})
	})
})
