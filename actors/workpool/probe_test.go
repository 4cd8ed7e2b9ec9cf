package workpool_test

import (
	"context"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/workpool"
)

// probe is a handler that notes who ran when.
type probe struct {
	mu           sync.Mutex
	runs         int
	running, max int
	busy         time.Duration
	waits        []time.Duration
}

// rest lets time pass until everybody else waits, so that what they noted may be read.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// run is a handler that takes d.
func (p *probe) run(d time.Duration) {
	start := p.begin()
	if d > 0 {
		time.Sleep(d)
	}
	p.end(start)
}

func (p *probe) begin() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	p.running++
	p.max = max(p.max, p.running)
	return time.Now()
}

func (p *probe) end(start time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.busy += time.Since(start)
}

func (p *probe) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

// most is the number of handlers that ran at once since it was last asked.
func (p *probe) most() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	most := p.max
	p.max = p.running
	return most
}

// worked is the time spent in handlers that have ended.
func (p *probe) worked() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy
}

func (p *probe) waited(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = append(p.waits, d)
}

// quantile of the waits.
func (p *probe) quantile(q float64) time.Duration {
	slices.Sort(p.waits)
	return p.waits[min(len(p.waits)-1, int(q*float64(len(p.waits))))]
}

func submit(p *workpool.Pool, lane *workpool.Lane, n int, run func(i int)) *workpool.Group {
	GinkgoHelper()
	g := &workpool.Group{Lane: lane, Len: n, Run: func(_ context.Context, i int) { run(i) }}
	Expect(p.Submit(g)).To(Succeed())
	return g
}

func closed(p *workpool.Pool) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	Expect(p.Close(ctx)).To(Succeed())
}
