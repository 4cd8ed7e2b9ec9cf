package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// caller is a program that polls.
type caller struct {
	*bench
	rt    *troupe.Runtime
	group *troupe.PullGroup
}

// caller starts a member that subscribes to the bench's topic, unless it is told otherwise.
func (b *bench) caller(ctx context.Context, cfg troupe.PullConfig, declare ...func(*troupe.PullGroup)) *caller {
	GinkgoHelper()
	return b.observed(ctx, cfg, nil, declare...)
}

func (b *bench) observed(ctx context.Context, cfg troupe.PullConfig, o troupe.Observer, declare ...func(*troupe.PullGroup)) *caller {
	GinkgoHelper()
	c := &caller{bench: b}
	if o == nil {
		c.rt = b.runtime()
	} else {
		c.rt = b.runtime(troupe.WithObserver(o))
	}
	c.group = c.rt.Pull(b.group, cfg)
	if len(declare) == 0 {
		Expect(c.group.Subscribe(b.topic, troupe.AllTags())).To(Succeed())
	}
	for _, d := range declare {
		d(c.group)
	}
	started(ctx, c.rt)
	// A shutdown would wait for what a spec has polled and left.
	DeferCleanup(func(ctx SpecContext) { _ = c.group.CommitAll(ctx) }, NodeTimeout(30*time.Second))
	return c
}

// next polls once, for something that is there.
func (c *caller) next(ctx context.Context) troupe.Batch {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	batch, err := c.group.Poll(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(batch.Messages).NotTo(BeEmpty())
	return batch
}

// until polls n messages and gives the bodies; each batch is handed to done.
func (c *caller) until(ctx context.Context, n int, done func(troupe.Batch)) (bodies []string) {
	GinkgoHelper()
	for len(bodies) < n {
		batch := c.next(ctx)
		for _, m := range batch.Messages {
			bodies = append(bodies, string(m.GetBody()))
		}
		if done != nil {
			done(batch)
		}
	}
	return bodies
}

// untilWithin polls n messages, for which there may be much time.
func (c *caller) untilWithin(ctx context.Context, n int, patience time.Duration) (bodies []string) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for len(bodies) < n {
		batch, err := c.group.Poll(ctx)
		Expect(err).NotTo(HaveOccurred(), "after %d messages", len(bodies))
		for _, m := range batch.Messages {
			bodies = append(bodies, string(m.GetBody()))
		}
	}
	return bodies
}

// nothing polls for a while and expects that there is nothing.
func (c *caller) nothing(ctx context.Context) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, 700*time.Millisecond)
	defer cancel()
	batch, err := c.group.Poll(ctx)
	Expect(err).To(MatchError(context.DeadlineExceeded), "%v", batch)
}

// queue waits until the member has all queues of the topic, and gives one.
func (c *caller) queue(ctx context.Context, id int32) *troupe.Queue {
	GinkgoHelper()
	Eventually(c.group.Assignment).WithContext(ctx).WithTimeout(20 * time.Second).Should(HaveLen(c.queues))
	i := slices.IndexFunc(c.group.Assignment(), func(q *troupe.Queue) bool { return q.GetId() == id })
	q := c.group.Assignment()[i]
	Eventually(func() error { _, err := c.group.Position(q); return err }).WithContext(ctx).WithTimeout(20 * time.Second).Should(Succeed())
	return q
}

// stored is what the broker has for the group.
func (c *caller) stored(ctx context.Context) int64 {
	GinkgoHelper()
	sum, err := c.committed(ctx, c.link(), c.bench.group)
	Expect(err).NotTo(HaveOccurred())
	return sum
}

func offsets(batch troupe.Batch) (out []int64) {
	for _, m := range batch.Messages {
		out = append(out, m.GetQueueOffset())
	}
	return out
}

func numbers(first, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(first+i))
	}
	return out
}

// Polling specifies what a pull group does that polls, on any cluster.
func Polling(cluster func(ctx context.Context) Cluster) {
	first := troupe.PullConfig{ConsumeFrom: troupe.FirstOffset}
	manual := troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, ManualCommit: true}

	It("gets every message once, each queue's in order, and goes on there after a restart", Label("A50"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		b.publish(ctx, p, 200)
		c := b.caller(ctx, first)
		last := make(map[int32]int64)
		bodies := c.until(ctx, 200, func(batch troupe.Batch) {
			for _, m := range batch.Messages {
				Expect(m.GetQueueId()).To(Equal(batch.Queue.GetId()))
				Expect(m.GetQueueOffset()).To(Equal(last[m.GetQueueId()]))
				last[m.GetQueueId()]++
			}
		})
		Expect(bodies).To(ConsistOf(numbers(0, 200)))
		c.nothing(ctx)
		Eventually(func() int64 { return c.stored(ctx) }, within).Should(Equal(int64(200)), "stored without any Commit")
		Expect(c.rt.Shutdown(ctx)).To(Succeed())

		c = b.caller(ctx, first)
		c.nothing(ctx)
		b.publish(ctx, p, 8)
		c.until(ctx, 8, nil)
		Expect(c.group.CommitAll(ctx)).To(Succeed())
		Expect(c.stored(ctx)).To(Equal(int64(208)))
		Expect(c.rt.Shutdown(ctx)).To(Succeed())
	}, SpecTimeout(time.Minute))

	It("takes the queues in turn", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 4*60)
		c := b.caller(ctx, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, PullBatch: 20, MaxCached: 60})
		Eventually(func() int64 { return c.rt.Topology().GetGroups()[0].GetPolls().GetMessages() }, within).Should(Equal(int64(240)))
		var turns []int32
		for range 8 {
			turns = append(turns, c.next(ctx).Queue.GetId())
		}
		Expect(turns[:4]).To(ConsistOf(int32(0), int32(1), int32(2), int32(3)))
		Expect(turns[4:]).To(Equal(turns[:4]))
	}, SpecTimeout(time.Minute))

	It("commits what is finished only, whatever was polled", Label("A50"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 100)
		c := b.caller(ctx, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, ManualCommit: true, PullBatch: 10})
		var batches []troupe.Batch
		c.until(ctx, 100, func(batch troupe.Batch) { batches = append(batches, batch) })
		Expect(batches).To(HaveLen(10))
		Consistently(func() int64 { return c.stored(ctx) }, "600ms").Should(BeZero(), "nothing is finished")

		Expect(batches[1].Done()).To(Succeed())
		Expect(c.group.Commit(ctx, batches[2])).To(Succeed())
		Expect(c.stored(ctx)).To(BeZero(), "the first batch holds the offset back")
		Expect(c.group.Commit(ctx, batches[0])).To(Succeed())
		Expect(c.stored(ctx)).To(Equal(int64(30)))
		Expect(c.group.Commit(ctx, batches[0])).To(Succeed(), "twice")
		Expect(c.group.CommitAll(ctx)).To(Succeed())
		Expect(c.stored(ctx)).To(Equal(int64(100)))
	}, SpecTimeout(time.Minute))

	It("delivers what was not committed again after a restart", Label("A50"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 60)
		r := newRecorder()
		cfg := troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, ManualCommit: true, PullBatch: 20, RevokeGrace: 200 * time.Millisecond}
		c := b.observed(ctx, cfg, r)
		Expect(c.group.Commit(ctx, c.next(ctx))).To(Succeed())
		open := c.next(ctx)
		Expect(c.rt.Shutdown(ctx)).To(Succeed())
		Expect(open.Done()).To(MatchError(troupe.ErrQueueRevoked))
		Expect(r.seen(func(e *troupe.Event) bool { return e.GetKind() == messages.EventKind_EVENT_KIND_BATCHES_UNFINISHED })).To(
			ConsistOf(HaveField("Count", int64(1))))
		Expect(b.caller(ctx, cfg).until(ctx, 40, nil)).To(Equal(numbers(20, 40)))
	}, SpecTimeout(time.Minute))

	It("goes where Seek puts it, with nothing from before", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 100)
		c := b.caller(ctx, first)
		q := c.queue(ctx, 0)
		c.next(ctx)
		Expect(c.group.Seek(ctx, q, 90)).To(Succeed())
		Expect(c.group.Position(q)).To(Equal(int64(90)))
		Expect(c.until(ctx, 10, nil)).To(Equal(numbers(90, 10)))
		Expect(c.group.Seek(ctx, q, 5)).To(Succeed())
		Eventually(func() int64 { return c.stored(ctx) }, within).Should(Equal(int64(5)), "a group that commits by itself commits the Seek")
		Expect(c.until(ctx, 95, nil)).To(Equal(numbers(5, 95)))
		Expect(c.group.SeekToBegin(ctx)).To(Succeed())
		Expect(c.until(ctx, 100, nil)).To(Equal(numbers(0, 100)))
		Expect(c.group.SeekToEnd(ctx, q)).To(Succeed())
		c.nothing(ctx)
		Eventually(func() int64 { return c.stored(ctx) }, within).Should(Equal(int64(100)))

		err := c.group.Seek(ctx, q, 101)
		var beyond *troupe.SeekError
		Expect(errors.As(err, &beyond)).To(BeTrue())
		Expect([]int64{beyond.Min, beyond.Max}).To(Equal([]int64{0, 100}))
		Expect(err).To(MatchError(ContainSubstring("to 101: must be from 0 to 100")))
		Expect(c.group.Seek(ctx, q, -1)).To(MatchError(ContainSubstring("must be from 0 to 100")))
		Expect(c.group.Position(q)).To(Equal(int64(100)))
		Expect(c.group.Seek(ctx, &troupe.Queue{Topic: b.topic, Broker: q.GetBroker(), Id: 7}, 0)).NotTo(Succeed())
		Expect(c.group.Lag(ctx, q)).To(BeZero())
	}, SpecTimeout(time.Minute))

	It("seeks to a time", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		b.publish(ctx, p, 10)
		// Brokers of 4.x give the message that is nearest in time, later ones the first that is not older.
		between := time.Now().Add(time.Second)
		Eventually(func() bool { return time.Now().After(between.Add(200 * time.Millisecond)) }, "5s").Should(BeTrue())
		b.publish(ctx, p, 5)
		c := b.caller(ctx, first)
		q := c.queue(ctx, 0)
		Expect(c.group.OffsetAt(ctx, q, between)).To(Equal(int64(10)))
		Expect(c.group.SeekToTime(ctx, between)).To(Succeed())
		Expect(offsets(c.next(ctx))).To(Equal([]int64{10, 11, 12, 13, 14}))
	}, SpecTimeout(time.Minute))

	It("leaves what is committed alone when a program that commits itself only moves where it reads", Label("A50"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 100)
		c := b.caller(ctx, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, ManualCommit: true, PullBatch: 10})
		q := c.queue(ctx, 0)
		before := c.next(ctx)
		Expect(c.group.Commit(ctx, before)).To(Succeed())
		stale := c.next(ctx)
		Expect(c.group.Seek(ctx, q, 50)).To(Succeed())
		Expect(stale.Done()).To(MatchError(troupe.ErrBatchOutdated))
		Consistently(func() int64 { return c.stored(ctx) }, "600ms").Should(Equal(int64(10)))
		after := c.next(ctx)
		Expect(offsets(after)[0]).To(Equal(int64(50)))
		Expect(c.stored(ctx)).To(Equal(int64(10)))
		Expect(c.group.Commit(ctx, after)).To(Succeed())
		Expect(c.stored(ctx)).To(Equal(int64(60)))
		Expect(c.group.Seek(ctx, q, 20)).To(Succeed())
		Expect(c.group.CommitAll(ctx)).To(Succeed())
		Expect(c.stored(ctx)).To(Equal(int64(20)), "CommitAll commits a Seek, also backwards")
	}, SpecTimeout(time.Minute))

	It("polls a batch again that was rewound, and lets the one before it be finished", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 40)
		c := b.caller(ctx, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, ManualCommit: true, PullBatch: 10})
		one, two, three := c.next(ctx), c.next(ctx), c.next(ctx)
		Expect(c.group.Rewind(ctx, two)).To(Succeed())
		Expect(two.Done()).To(MatchError(troupe.ErrBatchOutdated))
		Expect(three.Done()).To(MatchError(troupe.ErrBatchOutdated))
		Expect(c.group.Commit(ctx, one)).To(Succeed())
		Expect(c.stored(ctx)).To(Equal(int64(10)))
		again := c.next(ctx)
		Expect(offsets(again)).To(Equal(offsets(two)))
		Expect(c.group.Rewind(ctx, two)).To(MatchError(troupe.ErrBatchOutdated))
		Expect(c.group.Commit(ctx, again)).To(Succeed())
		Expect(c.stored(ctx)).To(Equal(int64(20)))
	}, SpecTimeout(time.Minute))

	It("polls nothing of a queue that is paused, and loses nothing of it", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		p := b.publisher(ctx, troupe.PublisherConfig{})
		b.publish(ctx, p, 40)
		c := b.caller(ctx, first)
		q := c.queue(ctx, 1)
		Eventually(func() int64 { return c.rt.Topology().GetGroups()[0].GetPolls().GetMessages() }, within).Should(Equal(int64(40)))
		c.group.Pause(q)
		b.publish(ctx, p, 40)
		c.until(ctx, 40, func(batch troupe.Batch) { Expect(batch.Queue.GetId()).To(Equal(int32(0))) })
		c.nothing(ctx)
		c.group.Resume(q)
		c.until(ctx, 40, func(batch troupe.Batch) { Expect(batch.Queue.GetId()).To(Equal(int32(1))) })
	}, SpecTimeout(time.Minute))

	It("commits stretches that its filter leaves out", Label("A04"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		tags := []string{"Aa", "BB", "other", "other"}
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 80, func(i int, m *troupe.Message) { m.WithTag(tags[i%4]) })
		c := b.caller(ctx, manual, func(g *troupe.PullGroup) { Expect(g.Subscribe(b.topic, troupe.Tags("Aa"))).To(Succeed()) })
		c.until(ctx, 20, func(batch troupe.Batch) {
			for _, m := range batch.Messages {
				Expect(m.Tag()).To(Equal("Aa"))
			}
			Expect(batch.Done()).To(Succeed())
		})
		Eventually(func() int64 { return c.stored(ctx) }, within).Should(Equal(int64(80)))
	}, SpecTimeout(time.Minute))

	It("consumes the queues that it was assigned, and no others, whoever else is there", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 3)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 30)
		c := b.caller(ctx, manual, func(*troupe.PullGroup) {})
		all, err := c.group.Queues(ctx, b.topic)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.rt.Shutdown(ctx)).To(Succeed())
		c = b.caller(ctx, manual, func(g *troupe.PullGroup) {
			Expect(g.Assign(troupe.AllTags(), all[0], all[2])).To(Succeed())
			Expect(g.Subscribe(b.topic, troupe.AllTags())).To(MatchError(troupe.ErrAssigned))
			Expect(g.Listen(b.topic)).To(MatchError(troupe.ErrAssigned))
		})
		_, err = c.rt.Pull("late", manual).Poll(ctx)
		Expect(err).To(MatchError(troupe.ErrStarted), "declared too late")
		Expect(c.group.Assignment()).To(HaveLen(2))
		c.until(ctx, 20, func(batch troupe.Batch) {
			Expect(batch.Queue.GetId()).NotTo(Equal(int32(1)))
			Expect(batch.Done()).To(Succeed())
		})
		Expect(b.caller(ctx, manual, func(g *troupe.PullGroup) {
			Expect(g.Assign(troupe.AllTags(), all[0])).To(Succeed())
		}).group.Assignment()).To(HaveLen(1), "another member with a queue that this one has, too")
		Expect(c.group.Assign(troupe.AllTags(), all[1], all[2])).To(Succeed())
		Eventually(func() []*troupe.Queue { return c.group.Assignment() }, within).Should(ConsistOf(
			HaveField("Id", int32(1)), HaveField("Id", int32(2))))
		c.until(ctx, 10, func(batch troupe.Batch) {
			Expect(batch.Queue.GetId()).To(Equal(int32(1)))
			Expect(batch.Done()).To(Succeed())
		})
		Expect(c.group.Assign(troupe.AllTags())).To(Succeed())
		Eventually(c.group.Assignment, within).Should(BeEmpty())
		both := b.caller(ctx, manual)
		Expect(both.group.Assign(troupe.AllTags(), all[0])).To(MatchError(troupe.ErrSubscribed))
	}, SpecTimeout(time.Minute))

	It("gives a queue up when what was polled of it is finished, and delivers it once", Label("A50"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 40)
		one := b.caller(ctx, manual)
		batches := []troupe.Batch{one.next(ctx), one.next(ctx)}
		Expect(one.until(ctx, 0, nil)).To(BeEmpty())
		two := b.caller(ctx, manual)
		Eventually(func() []string { return phases(one.rt, "draining") }, within).Should(HaveLen(1))
		Expect(one.group.Commit(ctx, batches...)).To(Succeed())
		Expect(b.committed(ctx, b.link(), b.group)).To(Equal(int64(40)))
		Eventually(two.group.Assignment, within).Should(HaveLen(1))
		two.nothing(ctx)
	}, SpecTimeout(time.Minute))

	It("commits nothing of a batch whose queue went away before it was finished", Label("A50"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 40)
		cfg := manual
		cfg.RevokeGrace = 300 * time.Millisecond
		one := b.caller(ctx, cfg)
		batches := map[int32]troupe.Batch{}
		one.until(ctx, 40, func(batch troupe.Batch) { batches[batch.Queue.GetId()] = batch })
		two := b.caller(ctx, cfg)
		again := two.next(ctx)
		gone := batches[again.Queue.GetId()]
		Expect(offsets(again)).To(Equal(offsets(gone)))
		Expect(one.group.Commit(ctx, gone)).To(MatchError(troupe.ErrQueueRevoked))
		Expect(one.group.Rewind(ctx, gone)).To(MatchError(troupe.ErrQueueRevoked))
		Expect(two.stored(ctx)).To(BeZero())
		Expect(two.group.Commit(ctx, again)).To(Succeed())
		Expect(two.stored(ctx)).To(Equal(int64(20)))
	}, SpecTimeout(time.Minute))

	It("lets OnRevoke finish what must not come twice", Label("A50"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 40)
		var mu sync.Mutex
		polled := map[int32]troupe.Batch{}
		var one *caller
		cfg := manual
		cfg.OnRevoke = func(ctx context.Context, q *troupe.Queue) {
			defer GinkgoRecover()
			mu.Lock()
			defer mu.Unlock()
			Expect(one.group.Commit(ctx, polled[q.GetId()])).To(Succeed())
		}
		one = b.caller(ctx, cfg)
		one.until(ctx, 40, func(batch troupe.Batch) {
			mu.Lock()
			defer mu.Unlock()
			polled[batch.Queue.GetId()] = batch
		})
		two := b.caller(ctx, manual)
		Eventually(two.group.Assignment, within).Should(HaveLen(1))
		Eventually(func() int64 { return two.stored(ctx) }, within).Should(Equal(int64(20)))
		two.nothing(ctx)
		Expect(one.rt.Shutdown(ctx)).To(Succeed())
		Expect(two.stored(ctx)).To(Equal(int64(40)))
	}, SpecTimeout(time.Minute))

	It("says when it cannot be polled", Label("A49", "A32"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		rt := b.runtime()
		g := rt.Pull(b.group, first)
		_, err := g.Poll(ctx)
		Expect(err).To(MatchError(troupe.ErrNotStarted))
		started(ctx, rt)
		_, err = g.Poll(ctx)
		Expect(err).To(MatchError(troupe.ErrNotSubscribed))
		Expect(g.Subscribe(b.topic, troupe.AllTags())).To(Succeed(), "while running")
		waiting, failed := make(chan error, 1), make(chan error, 1)
		go func() { _, err := g.Poll(ctx); waiting <- err }()
		Eventually(func() int32 { return rt.Topology().GetGroups()[0].GetPolls().GetWaiting() }, within).Should(Equal(int32(1)))
		go func() { _, err := g.Poll(ctx); failed <- err }()
		Eventually(failed, within).Should(Receive(MatchError(troupe.ErrPolling)))
		Expect(rt.Shutdown(ctx)).To(Succeed())
		Eventually(waiting, within).Should(Receive(MatchError(troupe.ErrClosed)))
		_, err = g.Poll(ctx)
		Expect(err).To(MatchError(troupe.ErrClosed))
		Expect(g.CommitAll(ctx)).To(MatchError(troupe.ErrClosed))
		Expect(g.Subscribe(b.topic, troupe.AllTags())).To(MatchError(troupe.ErrClosed))
	}, SpecTimeout(time.Minute))

	It("loops over batches until its context ends, and leaves a batch alone whose loop was left", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 40)
		cfg := troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, PullBatch: 10}
		c := b.caller(ctx, cfg)
		n := 0
		for batch, err := range c.group.Batches(ctx) {
			Expect(err).NotTo(HaveOccurred())
			if n += len(batch.Messages); n >= 30 {
				break
			}
		}
		begun := time.Now()
		Expect(c.rt.Shutdown(ctx)).To(Succeed())
		Expect(time.Since(begun)).To(BeNumerically("<", 4*time.Second), "nobody waits for a caller who has left")
		c = b.caller(ctx, cfg)
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		var bodies []string
		for batch, err := range c.group.Batches(short) {
			Expect(err).NotTo(HaveOccurred())
			for _, m := range batch.Messages {
				bodies = append(bodies, string(m.GetBody()))
			}
			if len(bodies) == 20 {
				cancel()
			}
		}
		Expect(bodies).To(Equal(numbers(20, 20)))
	}, SpecTimeout(time.Minute))

	It("is polled by many at once when it commits manually", func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 400)
		c := b.caller(ctx, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, ManualCommit: true, PullBatch: 8})
		r := newRecorder()
		polling, stop := context.WithCancel(ctx)
		defer stop()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				for batch, err := range c.group.Batches(polling) {
					if err != nil {
						return
					}
					for _, m := range batch.Messages {
						_ = r.handler("", nil)(ctx, m)
					}
					_ = batch.Done()
				}
			})
		}
		Eventually(r.distinct, within).Should(Equal(400))
		stop()
		all.Wait()
		Expect(r.count()).To(Equal(400))
		Expect(c.rt.Shutdown(ctx)).To(Succeed())
		Expect(b.committed(ctx, b.link(), b.group)).To(Equal(int64(400)))
	}, SpecTimeout(time.Minute))

	It("lets the program put each queue at an offset of its own before anything of it is polled", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 4)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 80)
		var mu sync.Mutex
		var c *caller
		sought := map[int32]int{}
		cfg := manual
		cfg.OnAssignment = func(_ string, _, mine []*troupe.Queue) {
			defer GinkgoRecover()
			mu.Lock()
			defer mu.Unlock()
			for _, q := range mine {
				if sought[q.GetId()]++; sought[q.GetId()] == 1 {
					Expect(c.group.Seek(ctx, q, 15)).To(Succeed())
				}
			}
		}
		c = &caller{bench: b, rt: b.runtime()}
		c.group = c.rt.Pull(b.group, cfg)
		Expect(c.group.Subscribe(b.topic, troupe.AllTags())).To(Succeed())
		started(ctx, c.rt)
		c.until(ctx, 20, func(batch troupe.Batch) {
			Expect(batch.Messages[0].GetQueueOffset()).To(BeNumerically(">=", 15))
			Expect(batch.Done()).To(Succeed())
		})
		c.nothing(ctx)
	}, SpecTimeout(time.Minute))

	It("polls queues that came while it was there from their beginning", Label("A03"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 2)
		c := b.caller(ctx, troupe.PullConfig{ConsumeFrom: troupe.LastOffset, StrictLast: true})
		c.queue(ctx, 1)
		Expect(b.CreateTopic(ctx, b.topic, 4)).To(Succeed())
		next := 0
		p := b.publisher(ctx, troupe.PublisherConfig{Select: func(_ *troupe.Message, queues []*troupe.Queue) int {
			next++
			return 2 + next%(len(queues)-2)
		}})
		b.publish(ctx, p, 20)
		bodies := c.untilWithin(ctx, 20, time.Minute)
		Expect(bodies).To(ConsistOf(numbers(0, 20)))
	}, SpecTimeout(2*time.Minute))

	It("starts before its topic exists, and polls it as soon as it does", Label("A35"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		late := unique("late")
		c := b.caller(ctx, first, func(g *troupe.PullGroup) {
			Expect(g.Subscribe(b.topic, troupe.AllTags())).To(Succeed())
			Expect(g.Subscribe(late, troupe.AllTags())).To(Succeed())
		})
		p := b.publisher(ctx, troupe.PublisherConfig{})
		b.publish(ctx, p, 1)
		Expect(c.next(ctx).Queue.GetTopic()).To(Equal(b.topic), "the other topic holds nothing up")
		Expect(b.CreateTopic(ctx, late, 1)).To(Succeed())
		_, err := p.Send(ctx, troupe.NewMessage(late, []byte("late")))
		Expect(err).NotTo(HaveOccurred())
		Expect(c.untilWithin(ctx, 1, time.Minute)).To(Equal([]string{"late"}))
	}, SpecTimeout(2*time.Minute))

	It("stands beside others in one program, and is there again after a shutdown", Label("A34"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 1)
		b.publish(ctx, b.publisher(ctx, troupe.PublisherConfig{}), 20)
		for round := range 3 {
			rt := b.runtime()
			groups := make([]*troupe.PullGroup, 3)
			for i := range groups {
				groups[i] = rt.Pull(fmt.Sprint(b.group, "-", round, "-", i), first)
				Expect(groups[i].Subscribe(b.topic, troupe.AllTags())).To(Succeed())
			}
			started(ctx, rt)
			for _, g := range groups {
				c := &caller{bench: b, rt: rt, group: g}
				Expect(c.until(ctx, 20, nil)).To(Equal(numbers(0, 20)))
				Expect(g.CommitAll(ctx)).To(Succeed())
			}
			Expect(rt.Shutdown(ctx)).To(Succeed())
		}
	}, SpecTimeout(time.Minute))

	It("tells which queues it has, whenever that changes", Label("A49"), func(ctx SpecContext) {
		b := newBench(ctx, cluster(ctx), 3)
		type told struct{ all, mine int }
		heard := make(chan told, 100)
		cfg := first
		cfg.OnAssignment = func(topic string, all, mine []*troupe.Queue) {
			if topic == b.topic {
				heard <- told{len(all), len(mine)}
			}
		}
		b.caller(ctx, cfg)
		Eventually(heard, within).Should(Receive(Equal(told{3, 3})))
		two := b.caller(ctx, first)
		Eventually(heard, within).Should(Receive(WithTransform(func(t told) bool { return t.all == 3 && t.mine < 3 && t.mine > 0 }, BeTrue())))
		Expect(two.rt.Shutdown(ctx)).To(Succeed())
		Eventually(heard, within).Should(Receive(Equal(told{3, 3})))
		Expect(b.CreateTopic(ctx, b.topic, 5)).To(Succeed())
		Eventually(heard, "40s").Should(Receive(Equal(told{5, 5})))
	}, SpecTimeout(2*time.Minute))
}

// phases gives the topic queues of a member that are in a phase.
func phases(rt *troupe.Runtime, phase string) (out []string) {
	for _, g := range rt.Topology().GetGroups() {
		for _, q := range g.GetQueues() {
			if q.GetPhase() == phase {
				out = append(out, q.GetQueue().Text())
			}
		}
	}
	return out
}
