package processqueue_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

func put(w *processqueue.Window, n, size int) *processqueue.Batch {
	GinkgoHelper()
	first := w.Next()
	b, err := w.Put(first, first+int64(n), consecutive(first, n, size))
	Expect(err).NotTo(HaveOccurred())
	return b
}

func cached(w *processqueue.Window) [2]int64 {
	count, bytes := w.Cached()
	return [2]int64{count, bytes}
}

var _ = Describe("The window of pulled messages", func() {
	It("begins at an offset with nothing cached", func() {
		w := processqueue.New(42)
		Expect(w.Committed()).To(Equal(int64(42)))
		Expect(w.Next()).To(Equal(int64(42)))
		Expect(w.Span()).To(BeZero())
		Expect(cached(w)).To(Equal([2]int64{0, 0}))
		m, _ := w.Oldest()
		Expect(m).To(BeNil())
		committed, freed, bytes := w.Advance()
		Expect([]int64{committed, int64(freed), bytes}).To(Equal([]int64{42, 0, 0}))
	})

	It("commits the lowest unsettled offset, however many after it are settled", Label("A08"), func() {
		w := processqueue.New(0)
		var bs []*processqueue.Batch
		for range 63 {
			bs = append(bs, put(w, 32, 10))
		}
		for i, b := range bs {
			for k := range b.Len() {
				if i*32+k != 11 {
					b.Settle(k)
				}
			}
		}
		committed, freed, bytes := w.Advance()
		Expect([]int64{committed, int64(freed), bytes}).To(Equal([]int64{11, 2015, 20150}))
		Expect(w.Span()).To(Equal(int64(2005)))
		Expect(cached(w)).To(Equal([2]int64{1, 10}))
		m, _ := w.Oldest()
		Expect(m.QueueOffset).To(Equal(int64(11)))

		Expect(bs[0].Settle(11)).To(BeTrue())
		committed, freed, _ = w.Advance()
		Expect([]int64{committed, int64(freed)}).To(Equal([]int64{2016, 1}))
	})

	It("tells how long the oldest unsettled message has been waiting", Label("A08"), func() {
		bubble(func() {
			w := processqueue.New(0)
			first, start := put(w, 2, 1), time.Now()
			time.Sleep(time.Minute)
			put(w, 1, 1)
			time.Sleep(time.Minute)
			first.Settle(0)
			w.Advance()
			m, at := w.Oldest()
			Expect(m.QueueOffset).To(Equal(int64(1)))
			Expect(at).To(Equal(start))
			first.Settle(1)
			w.Advance()
			m, at = w.Oldest()
			Expect(m.QueueOffset).To(Equal(int64(2)))
			Expect(time.Since(at)).To(Equal(time.Minute))
		})
	})

	When("offsets carry no message", func() {
		It("passes holes within, before and behind the messages of a pull", func() {
			w := processqueue.New(100)
			b, err := w.Put(100, 200, []messages.Message{{QueueOffset: 120}, {QueueOffset: 150}})
			Expect(err).NotTo(HaveOccurred())
			Expect(w.Committed()).To(Equal(int64(120)))
			b.Settle(0)
			w.Advance()
			Expect(w.Committed()).To(Equal(int64(150)))
			b.Settle(1)
			w.Advance()
			Expect(w.Committed()).To(Equal(int64(200)))
		})

		It("moves the committed offset over a filtered stretch at once if nothing is cached, else with the last message", func() {
			w := processqueue.New(0)
			Expect(w.Skip(0, 5_000_000_000)).To(Succeed())
			Expect(w.Committed()).To(Equal(int64(5_000_000_000)))
			b := put(w, 1, 1)
			Expect(w.Skip(5_000_000_001, 9_000_000_000)).To(Succeed())
			Expect(w.Committed()).To(Equal(int64(5_000_000_000)))
			b.Settle(0)
			w.Advance()
			Expect(w.Committed()).To(Equal(int64(9_000_000_000)))
		})

		It("takes a pull without any message as a skip", func() {
			w := processqueue.New(7)
			b, err := w.Put(7, 9, nil)
			Expect(err).NotTo(HaveOccurred())
			Expect(b.Len()).To(BeZero())
			Expect(w.Committed()).To(Equal(int64(9)))
		})
	})

	DescribeTable("We refuse what would leave a gap or a repeat, and put nothing",
		func(first, next int64, offsets []int64, text string) {
			w := processqueue.New(10)
			var ms []messages.Message
			for _, o := range offsets {
				ms = append(ms, messages.Message{QueueOffset: o}) //nolint:govet // built in place
			}
			_, err := w.Put(first, next, ms)
			Expect(err).To(MatchError(text))
			Expect(err).To(BeAssignableToTypeOf(&processqueue.OrderError{}))
			Expect(w.Next()).To(Equal(int64(10)))
			Expect(cached(w)).To(Equal([2]int64{0, 0}))
		},
		Entry("a pull behind the end", int64(11), int64(12), nil, "pull of 11 to 12 put into a window that ends at 10"),
		Entry("a pull before the end", int64(9), int64(12), nil, "pull of 9 to 12 put into a window that ends at 10"),
		Entry("a pull that goes backwards", int64(10), int64(9), nil, "pull of 10 to 9 put into a window that ends at 10"),
		Entry("a message before the pull", int64(10), int64(12), []int64{9}, "message at offset 9 out of order in a pull of 10 to 12"),
		Entry("a message behind the pull", int64(10), int64(12), []int64{12}, "message at offset 12 out of order in a pull of 10 to 12"),
		Entry("the same message twice", int64(10), int64(12), []int64{10, 10}, "message at offset 10 out of order in a pull of 10 to 12"),
		Entry("messages in descending order", int64(10), int64(12), []int64{11, 10}, "message at offset 10 out of order in a pull of 10 to 12"),
	)

	It("refuses a skip that does not begin at its end", func() {
		w := processqueue.New(10)
		Expect(w.Skip(11, 12)).To(MatchError("pull of 11 to 12 put into a window that ends at 10"))
		Expect(w.Next()).To(Equal(int64(10)))
	})

	It("asks for one notification a burst", func() {
		w := processqueue.New(0)
		b := put(w, 40, 1)
		Expect(b.Settle(3)).To(BeTrue())
		Expect(b.Settle(4)).To(BeFalse())
		Expect(b.Settle(3)).To(BeFalse())
		_, freed, _ := w.Advance()
		Expect(freed).To(Equal(2))
		Expect(b.Settle(5)).To(BeTrue())
		_, freed, _ = w.Advance()
		Expect(freed).To(Equal(1))
	})

	It("counts a message that is settled twice once", Label("A17"), func() {
		w := processqueue.New(0)
		b := put(w, 2, 10)
		for range 3 {
			b.Settle(1)
			w.Advance()
		}
		Expect(cached(w)).To(Equal([2]int64{1, 10}))
	})

	It("goes through what is not settled, for a hand-over or a fresh Consumer", func() {
		w := processqueue.New(0)
		a, b := put(w, 300, 1), put(w, 3, 1)
		for i := range 299 {
			a.Settle(i)
		}
		b.Settle(1)
		list := func() (offsets []int64) {
			for b, i := range w.Pending() {
				offsets = append(offsets, b.Messages()[i].QueueOffset)
			}
			return offsets
		}
		Expect(list()).To(Equal([]int64{299, 300, 302}))
		w.Advance()
		Expect(list()).To(Equal([]int64{299, 300, 302}))
	})

	When("it is reset", func() {
		It("keeps results of the time before away from the committed offset", func() {
			w := processqueue.New(0)
			old := put(w, 32, 10)
			w.Reset(1000)
			Expect(cached(w)).To(Equal([2]int64{0, 0}))
			b := put(w, 32, 10)
			Expect(b.First()).To(Equal(int64(1000)))
			Expect(b.Next()).To(Equal(int64(1032)))
			for i := range 32 {
				Expect(old.Settle(i)).To(BeFalse())
			}
			committed, freed, _ := w.Advance()
			Expect([]int64{committed, int64(freed)}).To(Equal([]int64{1000, 0}))
			Expect(cached(w)).To(Equal([2]int64{32, 320}))
			Expect(b.Settle(0)).To(BeTrue())
			w.Advance()
			Expect(w.Committed()).To(Equal(int64(1001)))
		})

		It("may go back", func() {
			w := processqueue.New(500)
			put(w, 10, 1)
			w.Reset(100)
			Expect(w.Committed()).To(Equal(int64(100)))
			Expect(put(w, 1, 1).First()).To(Equal(int64(100)))
		})
	})

	It("says so when a message is settled that the batch does not have", func() {
		b := put(processqueue.New(0), 1, 1)
		Expect(func() { b.Settle(1) }).To(PanicWith(ContainSubstring("no such message")))
		Expect(func() { b.Settle(-1) }).To(PanicWith(ContainSubstring("no such message")))
	})

	It("agrees with a plain map after any sequence of puts, skips, settlements and resets", Label("A17"), func() {
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := &model{open: map[int64]int{}, next: r.Int64N(1000)}
			w := processqueue.New(m.next)
			var held, late []handle
			freed, bytes := 0, int64(0)
			for step := range 400 {
				fault := func(what string, got, want any) {
					GinkgoHelper()
					if !reflect.DeepEqual(got, want) {
						Fail(fmt.Sprintf("%s: got %v, want %v (seed %d step %d)", what, got, want, seed, step))
					}
				}
				switch k := r.IntN(100); {
				case k < 20:
					most := 40
					if r.IntN(10) == 0 {
						most = 700
					}
					ms, next := slab(r, m.next, most)
					b, err := w.Put(m.next, next, ms)
					fault("put", err, nil)
					for i := range ms {
						m.open[ms[i].QueueOffset] = len(ms[i].Body)
						held = append(held, handle{b, i})
					}
					m.next = next
				case k < 23:
					n := m.next + r.Int64N(100_000)
					fault("skip", w.Skip(m.next, n), nil)
					m.next = n
				case k < 24:
					late = append(late, held...)
					held = nil
					m.open, m.next = map[int64]int{}, r.Int64N(1000)
					w.Reset(m.next)
				case k < 30 && len(late) > 0:
					h := late[r.IntN(len(late))]
					fault("late", h.b.Settle(h.i), false)
				default:
					// Mostly from the front, so that the base moves.
					for range r.IntN(60) {
						if len(held) == 0 {
							break
						}
						at := r.IntN(min(len(held), 1+r.IntN(50)))
						h := held[at]
						h.b.Settle(h.i)
						if r.IntN(20) > 0 { // else it stays with us and is settled twice
							held = append(held[:at], held[at+1:]...)
						}
						delete(m.open, h.offset())
					}
				}
				before := cached(w)
				_, freed, bytes = w.Advance()
				fault("freed", [2]int64{before[0] - int64(freed), before[1] - bytes}, cached(w))
				fault("cached", cached(w), [2]int64{int64(len(m.open)), m.bytes()})
				fault("committed", w.Committed(), m.committed())
				fault("next", w.Next(), m.next)
				if step%20 == 0 {
					var pending []int64
					for b, i := range w.Pending() {
						pending = append(pending, b.Messages()[i].QueueOffset)
					}
					fault("pending", pending, m.offsets())
				}
			}
		}
	})

	When("many workers settle while the owner puts and advances", func() {
		It("loses no mark and no notification, and never commits past an unsettled message", func() {
			const workers, total, span = 8, 60_000, 1000
			w := processqueue.New(0)
			work, dirty := make(chan handle, total), make(chan struct{}, total)
			done := make([]atomic.Bool, total)
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for h := range work {
						done[h.offset()].Store(true)
						if h.b.Settle(h.i) {
							dirty <- struct{}{}
						}
					}
				})
			}
			r, notified, checked := rand.New(rand.NewPCG(7, 7)), 0, int64(0)
			for w.Committed() < total {
				for w.Next() < total && w.Span() < span {
					n := int(min(int64(1+r.IntN(90)), total-w.Next()))
					b := put(w, n, 3)
					for i := range n {
						work <- handle{b, i}
					}
				}
				// If a notification were lost, nobody would wake us again.
				Eventually(dirty).WithTimeout(20 * time.Second).Should(Receive())
				notified++
				committed, _, _ := w.Advance()
				for ; checked < committed; checked++ {
					if !done[checked].Load() {
						Fail(fmt.Sprintf("committed %d past unsettled %d", committed, checked))
					}
				}
			}
			close(work)
			wg.Wait()
			Expect(cached(w)).To(Equal([2]int64{0, 0}))
			Expect(notified).To(BeNumerically("<=", total))
		})

		It("loses no mark that is set while the owner looks", func() {
			const rounds, burst = 3000, 24
			w := processqueue.New(0)
			work := make(chan *processqueue.Batch)
			var notified atomic.Bool
			var ended atomic.Int64
			var wg sync.WaitGroup
			wg.Go(func() {
				for b := range work {
					for i := range burst {
						if b.Settle(i) {
							notified.Store(true)
						}
					}
					ended.Add(1)
				}
			})
			for round := range int64(rounds) {
				work <- put(w, burst, 1)
				for w.Span() > 0 {
					over := ended.Load() > round
					if notified.Swap(false) {
						w.Advance()
					} else if over {
						Fail(fmt.Sprintf("round %d: nobody told us of the last mark", round))
					} else if runtime.NumCPU() == 1 {
						runtime.Gosched()
					}
				}
			}
			close(work)
			wg.Wait()
		})

		It("stays unmoved by workers of the time before a reset", func() {
			w := processqueue.New(0)
			for round := range int64(200) {
				w.Reset(round * 1000)
				old := put(w, 100, 1)
				var wg sync.WaitGroup
				for k := range 4 {
					wg.Go(func() {
						for i := k; i < 100; i += 4 {
							old.Settle(i)
						}
					})
				}
				w.Reset(round*1000 + 500)
				b := put(w, 100, 1)
				w.Advance()
				wg.Wait()
				w.Advance()
				Expect(w.Committed()).To(Equal(round*1000 + 500))
				Expect(cached(w)).To(Equal([2]int64{100, 100}))
				Expect(b.Settle(0)).To(BeTrue())
			}
		})
	})
})
