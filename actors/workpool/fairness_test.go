package workpool_test

import (
	"runtime"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/workpool"
)

var _ = Describe("Fairness between messages", func() {
	It("keeps fast messages fast beside one in a hundred that sleeps 200 ms, at 2,000 messages a second", func() {
		bubble(func() {
			p := workpool.New(workpool.Config{Workers: 20})
			lane, fast, number := p.Lane("x"), &probe{}, 0
			for range 625 { // ten seconds of pulls of 32
				submitted, first := time.Now(), number
				submit(p, lane, 32, func(i int) {
					if (first+i)%100 == 99 {
						time.Sleep(200 * time.Millisecond)
						return
					}
					fast.waited(time.Since(submitted))
				})
				number += 32
				time.Sleep(16 * time.Millisecond)
			}
			rest(time.Second)
			Expect(fast.waits).To(HaveLen(19_800))
			Expect(fast.quantile(0.5)).To(BeNumerically("<=", time.Millisecond))
			Expect(fast.quantile(0.99)).To(BeNumerically("<=", 10*time.Millisecond))
			Expect(fast.quantile(1)).To(BeNumerically("<=", 20*time.Millisecond))
			closed(p)
		})
	})

	It("spreads a pull of slow messages over all workers", func() {
		bubble(func() {
			p := workpool.New(workpool.Config{Workers: 20})
			all := &probe{}
			start := time.Now()
			for range 125 {
				submit(p, p.Lane("x"), 32, func(int) { all.run(5 * time.Millisecond) })
			}
			for all.count() < 4000 || p.Busy() > 0 {
				time.Sleep(time.Millisecond)
			}
			// Twenty workers could do it in one second.
			Expect(time.Since(start)).To(BeNumerically("<=", 1020*time.Millisecond))
			closed(p)
		})
	})

	It("hands a pull that turns out slow on to all idle workers, message by message", func() {
		bubble(func() {
			p := workpool.New(workpool.Config{Workers: 20})
			lane := p.Lane("x")
			for range 10 {
				submit(p, lane, 32, func(int) { time.Sleep(10 * time.Microsecond) })
			}
			rest(time.Second)
			all, start := &probe{}, time.Now()
			submit(p, lane, 32, func(int) { all.run(5 * time.Millisecond) })
			for all.count() < 32 || p.Busy() > 0 {
				time.Sleep(100 * time.Microsecond)
			}
			// Two looks of the watch and two rounds of handlers.
			Expect(time.Since(start)).To(BeNumerically("<=", 12500*time.Microsecond))
			closed(p)
		})
	})

	It("does not tick while it is idle, nor while handlers are stuck with nothing behind them", func() {
		bubble(func() {
			p := workpool.New(workpool.Config{Workers: 4})
			submit(p, p.Lane("x"), 3, func(int) { time.Sleep(100_000 * time.Hour) })
			rest(time.Second)
			Expect(p.Busy()).To(Equal(3))
			submit(p, p.Lane("x"), 32, func(int) {})
			// A tick each millisecond would make this take years.
			time.Sleep(1_000_000 * time.Hour)
			Expect(p.Busy()).To(BeZero())
			closed(p)
		})
	})
})

var _ = Describe("The number of workers", Label("A19"), func() {
	It("of one means one handler at a time over all topics and queues", func() {
		bubble(func() {
			p := workpool.New(workpool.Config{Workers: 1})
			lanes := []*workpool.Lane{p.Lane("x"), p.Lane("y"), p.Lane("z")}
			all := &probe{}
			for k := range 24 {
				submit(p, lanes[k%3], 32, func(i int) { all.run(time.Duration(i%3) * time.Millisecond) })
			}
			rest(time.Minute)
			Expect(all.count()).To(Equal(24 * 32))
			Expect(all.most()).To(Equal(1))
			closed(p)
		})
	})

	DescribeTable("of 64 means 60 to 64 handlers at a time while there is a backlog",
		func(topics ...string) {
			bubble(func() {
				p := workpool.New(workpool.Config{Workers: 64})
				for _, t := range topics {
					p.Lane(t)
				}
				goroutines := runtime.NumGoroutine()
				all, start := &probe{}, time.Now()
				for range 8 * 40 {
					submit(p, p.Lane("x"), 32, func(int) { all.run(10 * time.Millisecond) })
				}
				time.Sleep(time.Second)
				Expect(runtime.NumGoroutine()).To(BeNumerically("<=", goroutines+64+50))
				Expect(float64(all.worked()) / float64(time.Since(start))).To(BeNumerically("~", 62, 2))
				Expect(all.most()).To(BeNumerically("<=", 64))
				closed(p)
			})
		},
		Entry("with one topic", "x"),
		Entry("with one topic and its retry topic", "x", "%RETRY%g"),
	)

	It("is never exceeded while it changes", func() {
		bubble(func() {
			p := workpool.New(workpool.Config{Workers: 16})
			all := &probe{}
			for range 20 {
				submit(p, p.Lane("x"), 32, func(int) { all.run(time.Millisecond) })
			}
			time.Sleep(5 * time.Millisecond)
			p.SetWorkers(4)
			rest(3 * time.Millisecond)
			Expect(all.most()).To(Equal(16))
			rest(time.Second)
			Expect(all.most()).To(Equal(4))
			Expect(all.count()).To(Equal(640))
			closed(p)
		})
	})
})

// throughput feeds a lane with pulls of 32 from a backlog of 256 for d, and gives the number of messages run.
func throughput(p *workpool.Pool, lane *workpool.Lane, handler, d time.Duration) int {
	GinkgoHelper()
	all, given := &probe{}, 0
	for end := time.Now().Add(d); time.Now().Before(end); {
		for want := all.count() + 256; given < want; given += 32 {
			submit(p, lane, 32, func(int) { all.run(handler) })
		}
		time.Sleep(time.Millisecond)
	}
	return all.count()
}

var _ = Describe("Topics that share a pool", Label("A16"), func() {
	const retry = "%RETRY%g"

	block := func(p *workpool.Pool, lane *workpool.Lane, until chan struct{}) {
		for range 8 {
			submit(p, lane, 32, func(int) { <-until })
		}
	}

	solo := func(handler time.Duration) (n int) {
		p := workpool.New(workpool.Config{})
		p.Lane("x")
		p.Lane(retry)
		n = throughput(p, p.Lane("y"), handler, 3*time.Second)
		closed(p)
		return n
	}

	DescribeTable("keep their throughput when every handler of another one blocks from the start",
		func(handler time.Duration, least float64) {
			bubble(func() {
				alone := solo(handler)
				p, until := workpool.New(workpool.Config{}), make(chan struct{})
				x, y := p.Lane("x"), p.Lane("y")
				p.Lane(retry)
				block(p, x, until)
				synctest.Wait()
				Expect(p.Busy()).To(Equal(6), "a third of 20: a lane that never completed anything may not borrow")
				Expect(throughput(p, y, handler, 3*time.Second)).To(BeNumerically(">=", least*float64(alone)))
				retried := &probe{}
				submit(p, p.Lane(retry), 32, func(int) { retried.run(0) })
				time.Sleep(10 * time.Millisecond)
				Expect(retried.count()).To(Equal(32))
				close(until)
				closed(p)
			})
		},
		Entry("with handlers that take no time", time.Duration(0), 0.9),
		// Nineteen workers alone, thirteen beside the blocked ones: what is left of a bounded pool.
		Entry("with handlers that take 5 ms, as far as workers go round", 5*time.Millisecond, 13.0/19*0.97),
	)

	It("keep the workers that they used when another one hangs after having worked", func() {
		bubble(func() {
			p, until := workpool.New(workpool.Config{}), make(chan struct{})
			x, y := p.Lane("x"), p.Lane("y")
			p.Lane(retry)
			throughput(p, x, time.Millisecond, time.Second)
			steady := func(d time.Duration) int { // five at a time, once a second
				all := &probe{}
				for end := time.Now().Add(d); time.Now().Before(end); rest(time.Second) {
					for range 5 {
						submit(p, y, 1, func(int) { all.run(500 * time.Millisecond) })
					}
				}
				Expect(all.running).To(BeZero())
				return all.count()
			}
			before := steady(time.Minute)
			block(p, x, until)
			synctest.Wait()
			Expect(p.Busy()).To(Equal(14), "20 without the five of y and one for the retry topic")
			start := time.Now()
			Expect(steady(time.Minute)).To(Equal(before))
			Expect(time.Since(start)).To(Equal(time.Minute))
			close(until)
			closed(p)
		})
	})

	It("leave at least one worker to each topic, however long that was idle", func() {
		bubble(func() {
			p, until := workpool.New(workpool.Config{Workers: 6}), make(chan struct{})
			x := p.Lane("x")
			p.Lane("y")
			p.Lane("z")
			throughput(p, x, time.Millisecond, time.Second)
			block(p, x, until)
			time.Sleep(time.Hour)
			Expect(p.Busy()).To(Equal(4))
			for _, name := range []string{"y", "z"} {
				Expect(throughput(p, p.Lane(name), time.Microsecond, time.Second)).To(BeNumerically(">", 1000))
			}
			close(until)
			closed(p)
		})
	})

	DescribeTable("share the workers evenly also when handlers of one take much longer",
		func(workers, least int) {
			bubble(func() {
				p := workpool.New(workpool.Config{Workers: workers})
				x, y, slow := p.Lane("x"), p.Lane("y"), &probe{}
				for range 100 {
					submit(p, x, 32, func(int) { slow.run(100 * time.Millisecond) })
				}
				rest(time.Second)
				Expect(throughput(p, y, time.Millisecond, 2*time.Second)).To(BeNumerically(">=", least))
				closed(p)
			})
		},
		// Half of the workers for each; the slow lane gives the others up within 100 ms.
		Entry("with room to keep workers free", 12, 6*1850),
		Entry("with one worker for each", 2, 1850),
	)

	It("share the workers evenly when all have a backlog, and one after the other gets the freed ones", func() {
		bubble(func() {
			p := workpool.New(workpool.Config{Workers: 12})
			probes := map[string]*probe{"x": {}, "y": {}, "z": {}}
			for _, name := range []string{"x", "y", "z"} {
				p.Lane(name)
			}
			for _, name := range []string{"x", "y", "z"} {
				for range 100 {
					submit(p, p.Lane(name), 32, func(int) { probes[name].run(10 * time.Millisecond) })
				}
				time.Sleep(100 * time.Millisecond)
			}
			counts := map[string]int{}
			for name, all := range probes {
				counts[name] = all.count()
			}
			time.Sleep(time.Second)
			for name, all := range probes {
				Expect(all.count()-counts[name]).To(BeNumerically("~", 400, 8), name)
			}
			closed(p)
		})
	})
})
