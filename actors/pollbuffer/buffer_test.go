package pollbuffer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/pollbuffer"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// source is one queue as a Consumer sees it: the window into which pulls are put, and the line that gives them out.
type source struct {
	window    *processqueue.Window
	line      *pollbuffer.Line
	committed atomic.Int64
	told      atomic.Int64
}

func newSource(b *pollbuffer.Buffer, id int32, offset int64) *source {
	s := &source{window: processqueue.New(offset)}
	s.line = b.Line(&messages.Queue{Topic: "orders", Broker: "a", Id: id}, offset, false, &s.committed, func() { s.told.Add(1) })
	return s
}

// pull puts n messages behind what there is.
func (s *source) pull(n int) *processqueue.Batch {
	GinkgoHelper()
	first := s.window.Next()
	slab := make([]messages.Message, n)
	for i := range slab {
		slab[i].QueueOffset = first + int64(i)
	}
	batch, err := s.window.Put(first, first+int64(n), slab)
	Expect(err).NotTo(HaveOccurred())
	s.line.Put(batch)
	s.line.Passed(s.window.Next())
	return batch
}

// skip passes offsets without messages.
func (s *source) skip(n int64) {
	GinkgoHelper()
	Expect(s.window.Skip(s.window.Next(), s.window.Next()+n)).To(Succeed())
	s.line.Passed(s.window.Next())
}

// given is what a Take gave.
type given struct {
	*pollbuffer.Handed
	messages []*messages.Message
}

func take(b *pollbuffer.Buffer) given {
	GinkgoHelper()
	h, ms, err := b.Take(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return given{h, ms}
}

var ended, gone = func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) }()

func empty(b *pollbuffer.Buffer) {
	GinkgoHelper()
	gone()
	_, _, err := b.Take(ended)
	Expect(err).To(MatchError(context.Canceled))
}

var _ = Describe("A poll buffer", func() {
	It("gives one pull at a time, the queues in turn, and settles what it gives", func() {
		b := pollbuffer.New(false)
		one, two := newSource(b, 1, 0), newSource(b, 2, 100)
		one.pull(3)
		one.pull(2)
		two.pull(4)
		Expect(b.Messages()).To(Equal(int64(9)))
		var turns []int32
		for _, want := range []int64{0, 100, 3} {
			h := take(b)
			turns = append(turns, h.Queue().GetId())
			Expect(h.First()).To(Equal(want))
			Expect(h.messages[0].GetQueueOffset()).To(Equal(want))
		}
		Expect(turns).To(Equal([]int32{1, 2, 1}))
		Expect(b.Messages()).To(BeZero())
		_, freed, _ := one.window.Advance()
		Expect(freed).To(Equal(5), "what was given does not count as cached any more")
		Expect(one.told.Load()).To(BeNumerically(">", 0))
		empty(b)
	})

	It("leaves out what a filter has settled, and pulls of which nothing is left", func() {
		b := pollbuffer.New(false)
		s := newSource(b, 1, 0)
		slab := make([]messages.Message, 3)
		for i := range slab {
			slab[i].QueueOffset = int64(i)
		}
		batch, err := s.window.Put(0, 3, slab)
		Expect(err).NotTo(HaveOccurred())
		batch.Settle(1)
		s.line.Put(batch)
		all, err := s.window.Put(3, 4, []messages.Message{{QueueOffset: 3}})
		Expect(err).NotTo(HaveOccurred())
		all.Settle(0)
		s.line.Put(all)
		Expect(b.Messages()).To(Equal(int64(2)))
		h := take(b)
		Expect(h.messages).To(HaveLen(2))
		empty(b)
		Expect(h.Finish()).To(Succeed())
		s.line.Passed(s.window.Next())
		Expect(s.committed.Load()).To(Equal(int64(4)), "what the filter left out behind it is committed, too")
	})

	It("commits up to the oldest batch that is not finished", func() {
		b := pollbuffer.New(false)
		s := newSource(b, 1, 10)
		Expect(s.committed.Load()).To(Equal(int64(10)))
		for range 3 {
			s.pull(5)
		}
		Expect(s.committed.Load()).To(Equal(int64(10)), "what only waits is not committed")
		x, y, z := take(b), take(b), take(b)
		Expect(y.Finish()).To(Succeed())
		Expect(s.committed.Load()).To(Equal(int64(10)))
		Expect(x.Finish()).To(Succeed())
		Expect(s.committed.Load()).To(Equal(int64(20)))
		s.skip(7)
		Expect(s.committed.Load()).To(Equal(int64(20)))
		Expect(s.line.Unfinished()).To(Equal(int64(1)))
		Expect(z.Finish()).To(Succeed())
		Expect(z.Finish()).To(Succeed(), "twice")
		Expect(s.committed.Load()).To(Equal(int64(32)))
		Expect(s.line.Unfinished()).To(BeZero())
	})

	It("finishes for a program that comes back, whatever it gets then", func() {
		b := pollbuffer.New(true)
		s := newSource(b, 1, 0)
		s.pull(5)
		s.pull(5)
		take(b)
		Expect(s.committed.Load()).To(BeZero())
		take(b)
		Expect(s.committed.Load()).To(Equal(int64(5)))
		empty(b)
		Expect(s.committed.Load()).To(Equal(int64(10)))
	})

	It("does not finish for a program that has left", func() {
		b := pollbuffer.New(true)
		s := newSource(b, 1, 0)
		s.pull(5)
		take(b)
		Expect(s.line.Awaited()).To(BeTrue())
		b.Leave()
		Expect(s.line.Awaited()).To(BeFalse())
		empty(b)
		Expect(s.committed.Load()).To(BeZero())
	})

	It("drops what waits when its queue is put at another offset, and outdates what was given", func() {
		b := pollbuffer.New(false)
		s := newSource(b, 1, 0)
		s.pull(5)
		s.pull(5)
		h := take(b)
		s.window.Reset(100)
		s.line.Restart(100, false, false)
		Expect(b.Messages()).To(BeZero())
		Expect(h.Finish()).To(MatchError(pollbuffer.ErrOutdated))
		Expect(s.committed.Load()).To(Equal(int64(100)))
		empty(b)
		s.pull(1)
		Expect(take(b).First()).To(Equal(int64(100)))
	})

	It("holds what is committed while only the position has moved", func() {
		b := pollbuffer.New(false)
		s := newSource(b, 1, 0)
		s.pull(5)
		Expect(take(b).Finish()).To(Succeed())
		s.window.Reset(50)
		s.line.Restart(50, false, true)
		s.skip(3)
		Expect([]int64{s.committed.Load(), s.line.Position()}).To(Equal([]int64{5, 53}))
		s.window.Reset(20)
		s.line.Restart(20, false, true)
		Expect([]int64{s.committed.Load(), s.line.Position()}).To(Equal([]int64{5, 20}), "twice")
		s.pull(4)
		h := take(b)
		Expect(s.committed.Load()).To(Equal(int64(5)))
		Expect(h.Finish()).To(Succeed())
		Expect(s.committed.Load()).To(Equal(int64(24)))
		s.window.Reset(0)
		s.line.Restart(0, false, true)
		s.line.FinishAll()
		Expect(s.committed.Load()).To(BeZero(), "FinishAll commits where it was put")
	})

	It("keeps what lies before a rewound batch", func() {
		b := pollbuffer.New(false)
		s := newSource(b, 1, 0)
		for range 3 {
			s.pull(5)
		}
		x, y, z := take(b), take(b), take(b)
		s.window.Reset(y.First())
		s.line.Restart(y.First(), true, true)
		Expect(y.Fault()).To(MatchError(pollbuffer.ErrOutdated))
		Expect(z.Fault()).To(MatchError(pollbuffer.ErrOutdated))
		Expect(x.Fault()).NotTo(HaveOccurred())
		Expect(s.line.Unfinished()).To(Equal(int64(1)))
		Expect(x.Finish()).To(Succeed())
		Expect(s.committed.Load()).To(Equal(int64(5)))
	})

	It("gives nothing of a queue that is paused or is given up, and revokes what is not finished at its end", func() {
		b := pollbuffer.New(false)
		s := newSource(b, 1, 0)
		s.pull(5)
		s.pull(5)
		s.pull(5)
		s.line.Pause(true)
		empty(b)
		s.line.Pause(false)
		x, y := take(b), take(b)
		s.line.Leave()
		Expect(b.Messages()).To(BeZero())
		empty(b)
		told := s.told.Load()
		Expect(x.Finish()).To(Succeed(), "while it is given up")
		Expect(s.told.Load()).To(Equal(told+1), "whoever gives the queue up may wait for it")
		Expect(s.line.End()).To(Equal(int64(1)))
		Expect(y.Finish()).To(MatchError(pollbuffer.ErrRevoked))
		s.line.Passed(1000)
		Expect(s.committed.Load()).To(Equal(int64(5)))
	})

	It("is for one caller if it finishes by itself, and wakes everybody at its end", func() {
		bubble(func() {
			b := pollbuffer.New(true)
			failure := make(chan error, 1)
			go func() { _, _, err := b.Take(context.Background()); failure <- err }()
			synctest.Wait()
			_, _, err := b.Take(context.Background())
			Expect(err).To(MatchError(pollbuffer.ErrPolling))
			b.Close(errors.New("closed"))
			Expect(<-failure).To(MatchError("closed"))
			_, _, err = b.Take(context.Background())
			Expect(err).To(MatchError("closed"))
		})
	})

	It("wakes a caller for each pull, however many wait", func() {
		bubble(func() {
			b := pollbuffer.New(false)
			s := newSource(b, 1, 0)
			got := make(chan int64, 10)
			for range 3 {
				go func() {
					h, _, err := b.Take(context.Background())
					if err == nil {
						got <- h.First()
					}
				}()
			}
			synctest.Wait()
			waiting, _, _ := b.Facts()
			Expect(waiting).To(Equal(3))
			s.pull(1)
			s.pull(1)
			synctest.Wait()
			Expect(got).To(HaveLen(2))
			b.Close(errors.New("closed"))
			synctest.Wait()
			waiting, _, _ = b.Facts()
			Expect(waiting).To(BeZero())
		})
	})

	It("gives everything once and in order to many callers, while queues are paused and put elsewhere", func() {
		b := pollbuffer.New(false)
		const queues, pulls = 4, 300
		sources := make([]*source, queues)
		for i := range sources {
			sources[i] = newSource(b, int32(i), 0)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		var mu sync.Mutex
		seen := make(map[int32][]int64)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for {
					h, ms, err := b.Take(ctx)
					if err != nil {
						return
					}
					mu.Lock()
					for _, m := range ms {
						seen[h.Queue().GetId()] = append(seen[h.Queue().GetId()], m.GetQueueOffset())
					}
					mu.Unlock()
					_ = h.Finish()
				}
			})
		}
		for n := range pulls * queues {
			s := sources[n%queues]
			s.pull(1 + rand.IntN(5))
			if rand.IntN(10) == 0 {
				s.line.Pause(true)
				s.line.Pause(false)
			}
			s.window.Advance()
		}
		for i, s := range sources {
			Eventually(func() int64 { return s.committed.Load() }, "20s").Should(Equal(s.window.Next()), "queue %d", i)
		}
		b.Close(errors.New("closed"))
		all.Wait()
		for i, s := range sources {
			offsets := seen[int32(i)]
			slices.Sort(offsets)
			Expect(offsets).To(HaveLen(int(s.window.Next())))
			Expect(slices.Compact(offsets)).To(HaveLen(int(s.window.Next())))
		}
	})
})
