package workpool_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/workpool"
)

var _ = Describe("The worker pool", func() {
	It("runs every message once, whatever the sizes of groups and the speed of handlers", func() {
		p := workpool.New(workpool.Config{Workers: 8})
		lanes := []*workpool.Lane{p.Lane("x"), p.Lane("y"), p.Lane("z")}
		const submitters, groups = 4, 300
		var want, ran atomic.Int64
		var all sync.WaitGroup
		var submitting sync.WaitGroup
		for s := range submitters {
			submitting.Go(func() {
				r := rand.New(rand.NewPCG(uint64(s), 3))
				for range groups {
					n := r.IntN(80)
					marks := make([]atomic.Int32, n)
					kind := r.IntN(20)
					want.Add(int64(n))
					all.Add(n)
					g := &workpool.Group{Lane: lanes[r.IntN(3)], Len: n, Run: func(_ context.Context, i int) {
						defer all.Done()
						if marks[i].Add(1) == 1 {
							ran.Add(1)
						}
						if kind == 0 && i%16 == 0 {
							time.Sleep(3 * time.Millisecond)
						}
						if kind == 1 && i%5 == 0 {
							panic("user code")
						}
						if kind == 2 && i%7 == 0 {
							runtime.Goexit()
						}
					}}
					if err := p.Submit(g); err != nil {
						panic(err)
					}
					if r.IntN(10) == 0 {
						p.SetWorkers(1 + r.IntN(12))
					}
				}
			})
		}
		submitting.Wait()
		all.Wait() // a message run twice would panic it
		Expect(ran.Load()).To(Equal(want.Load()))
		closed(p)
		Expect(p.Queued()).To(BeZero())
		Expect(p.Busy()).To(BeZero())
	})

	It("runs groups of one lane in the order in which they were submitted", func() {
		bubble(func() {
			p := workpool.New(workpool.Config{Workers: 1})
			var order []int
			for k := range 20 {
				submit(p, p.Lane("x"), 3, func(i int) { order = append(order, 3*k+i) })
			}
			synctest.Wait()
			Expect(order).To(HaveLen(60))
			for i, k := range order {
				Expect(k).To(Equal(i))
			}
			closed(p)
		})
	})

	It("gives every worker a context of its own", func() {
		bubble(func() {
			type scratch struct{ context.Context }
			made, seen := 0, map[*scratch]int{}
			p := workpool.New(workpool.Config{Workers: 3, Context: func() context.Context {
				made++
				return &scratch{context.Background()}
			}})
			var mu sync.Mutex
			Expect(p.Submit(&workpool.Group{Lane: p.Lane("x"), Len: 30, Run: func(ctx context.Context, _ int) {
				mu.Lock()
				seen[ctx.(*scratch)]++
				mu.Unlock()
				time.Sleep(time.Second)
			}})).To(Succeed())
			rest(time.Minute)
			Expect(made).To(Equal(3))
			Expect(seen).To(HaveLen(3))
			closed(p)
		})
	})

	When("user code panics or ends its goroutine", func() {
		It("tells of the panic, goes on with the rest and keeps all workers", Label("A36"), func() {
			bubble(func() {
				var told atomic.Int32
				p := workpool.New(workpool.Config{Workers: 2, Panicked: func(value any, stack []byte) {
					if value == "ouch" && len(stack) > 0 {
						told.Add(1)
					}
				}})
				all := &probe{}
				submit(p, p.Lane("x"), 40, func(i int) {
					all.run(0)
					switch i % 10 {
					case 3:
						panic("ouch")
					case 7:
						runtime.Goexit()
					}
				})
				synctest.Wait()
				Expect(all.count()).To(Equal(40))
				Expect(told.Load()).To(Equal(int32(4)))
				Expect(p.Busy()).To(BeZero())

				after := &probe{}
				submit(p, p.Lane("x"), 2, func(int) { after.run(time.Second) })
				time.Sleep(10 * time.Millisecond)
				Expect(after.count()).To(Equal(2), "both workers are there")
				closed(p)
			})
		})
	})

	When("the number of workers is changed", func() {
		It("starts more at once, and lets running handlers end before it has fewer", func() {
			bubble(func() {
				p := workpool.New(workpool.Config{Workers: 2})
				all := &probe{}
				submit(p, p.Lane("x"), 1000, func(int) { all.run(10 * time.Millisecond) })
				time.Sleep(55 * time.Millisecond)
				Expect(p.Busy()).To(Equal(2))
				p.SetWorkers(10)
				Expect(p.Workers()).To(Equal(10))
				Expect(p.Busy()).To(Equal(10))
				p.SetWorkers(3)
				Expect(p.Busy()).To(Equal(10))
				time.Sleep(11 * time.Millisecond)
				Expect(p.Busy()).To(Equal(3))
				p.SetWorkers(0)
				Expect(p.Workers()).To(Equal(1))
				time.Sleep(11 * time.Millisecond)
				Expect(p.Busy()).To(Equal(1))
				p.SetWorkers(50)
				time.Sleep(time.Second)
				Expect(all.count()).To(Equal(1000))
				p.SetWorkers(5) // ends parked ones
				closed(p)
			})
		})
	})

	When("a group is withdrawn", func() {
		It("runs nothing of it any more, and says how much that is", func() {
			bubble(func() {
				p := workpool.New(workpool.Config{Workers: 2})
				x, y := &probe{}, &probe{}
				g := submit(p, p.Lane("x"), 32, func(int) { x.run(time.Minute) })
				h := submit(p, p.Lane("x"), 32, func(int) { x.run(time.Minute) })
				submit(p, p.Lane("x"), 5, func(int) { y.run(0) })
				time.Sleep(time.Second)
				Expect(p.Busy()).To(Equal(2))
				running := x.count()
				Expect(p.Queued()).To(Equal(69 - running))
				Expect(p.Withdraw(g) + p.Withdraw(h)).To(Equal(64 - running))
				Expect(p.Withdraw(g)).To(BeZero())
				time.Sleep(time.Hour)
				Expect(x.count()).To(Equal(running))
				Expect(y.count()).To(Equal(5))
				closed(p)
			})
		})

		It("also takes back what a worker has claimed behind its handler", func() {
			bubble(func() {
				p := workpool.New(workpool.Config{Workers: 1, SlowAfter: time.Hour})
				x := &probe{}
				g := submit(p, p.Lane("x"), 32, func(int) { x.run(time.Second) })
				time.Sleep(2500 * time.Millisecond)
				Expect(p.Queued()).To(Equal(29))
				Expect(p.Withdraw(g)).To(Equal(29))
				closed(p)
				Expect(x.count()).To(Equal(3))
			})
		})
	})

	When("a lane is dropped", func() {
		It("forgets what waits in it and takes no more, while others go on", func() {
			bubble(func() {
				p := workpool.New(workpool.Config{Workers: 1})
				x, y := p.Lane("x"), p.Lane("y")
				Expect(p.Lane("x")).To(BeIdenticalTo(x))
				Expect(x.Name()).To(Equal("x"))
				all, others := &probe{}, &probe{}
				submit(p, x, 10, func(int) { all.run(time.Minute) })
				submit(p, y, 10, func(int) { others.run(0) })
				time.Sleep(time.Second)
				Expect(p.Drop(x)).To(Equal(9))
				Expect(p.Submit(&workpool.Group{Lane: x, Len: 1, Run: func(context.Context, int) {}})).To(MatchError(workpool.ErrClosed))
				time.Sleep(time.Hour)
				Expect(all.count()).To(Equal(1))
				Expect(others.count()).To(Equal(10))
				Expect(p.Lane("x")).NotTo(BeIdenticalTo(x))
				closed(p)
			})
		})
	})

	When("it is closed", func() {
		It("takes nothing more, forgets what waits and waits for running handlers", func() {
			bubble(func() {
				p := workpool.New(workpool.Config{Workers: 2})
				all := &probe{}
				submit(p, p.Lane("x"), 32, func(int) { all.run(time.Minute) })
				time.Sleep(time.Second)
				start := time.Now()
				closed(p)
				Expect(time.Since(start)).To(Equal(59*time.Second+2*time.Millisecond), "the second began when the watch had looked twice")
				Expect(all.count()).To(Equal(2))
				Expect(all.running).To(BeZero())
				Expect(p.Submit(&workpool.Group{Lane: p.Lane("x"), Len: 1, Run: func(context.Context, int) {}})).To(MatchError(workpool.ErrClosed))
				closed(p)
			})
		})

		It("gives up waiting when the context ends, and the goroutines end later", func() {
			bubble(func() {
				p := workpool.New(workpool.Config{})
				submit(p, p.Lane("x"), 1, func(int) { time.Sleep(time.Minute) })
				synctest.Wait()
				ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("drain deadline"))
				defer cancel()
				Expect(p.Close(ctx)).To(MatchError("worker pool: 1 handlers still run: drain deadline"))
				Expect(p.Busy()).To(Equal(1))
				time.Sleep(time.Minute)
				closed(p)
			})
		})

		It("ends at once if nothing ever ran", func() {
			closed(workpool.New(workpool.Config{}))
		})
	})

	It("refuses a group that cannot run", func() {
		p := workpool.New(workpool.Config{})
		Expect(p.Submit(&workpool.Group{Len: 1, Run: func(context.Context, int) {}})).NotTo(Succeed())
		Expect(p.Submit(&workpool.Group{Lane: p.Lane("x"), Len: 1})).NotTo(Succeed())
		Expect(p.Submit(&workpool.Group{Lane: p.Lane("x"), Len: -1, Run: func(context.Context, int) {}})).NotTo(Succeed())
		Expect(p.Submit(&workpool.Group{Lane: p.Lane("x"), Run: func(context.Context, int) {}})).To(Succeed())
		closed(p)
	})
})
