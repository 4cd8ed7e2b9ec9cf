package workpool

import (
	"time"

	"github.com/troupe-mq/troupe/actors/meter"
)

// memory is how long a lane's use of workers is remembered for what the others leave it: between one and two of these.
const memory = 10 * time.Second

// smoothing is the number of messages over which the mean handler time of a lane is taken.
const smoothing = 64

// Lane is a topic's place in a pool: groups of one lane wait in order, lanes share the workers (see the package comment).
// Made by Pool.Lane; all fields belong to the pool and are guarded by its lock.
type Lane struct {
	name    string
	waiting pieces
	running int
	dropped bool
	// completed is the number of messages run, up to the number of workers: what the lane may borrow.
	completed int
	// peak and peakBefore are the most workers used at once, in the present and the previous stretch of memory.
	peak, peakBefore int
	peakSince        time.Duration
	// mean handler time; zero if unknown.
	mean time.Duration
	// served is the pool's turn in which the lane last got a worker.
	served uint64
	// recent is what was run in the last minute, and how long that took.
	recent *meter.Window
}

// Name is the lane's name.
func (l *Lane) Name() string { return l.name }

// begin notes that one more worker is in the lane.
func (l *Lane) begin(now time.Duration) {
	l.running++
	l.remember(now)
	l.peak = max(l.peak, l.running)
}

// end notes that a worker has left after n messages that took d.
func (l *Lane) end(now time.Duration, n int, d time.Duration, slowAfter time.Duration, workers int) {
	l.remember(now)
	l.running--
	l.completed = min(l.completed+n, workers)
	if n > 0 {
		l.recent.Add(now, int64(n), d.Seconds())
		// One handler in a hundred that sleeps must not make the others look slow, so what a message can add is limited.
		sample := min(d/time.Duration(n), 4*slowAfter)
		if l.mean == 0 {
			l.mean = max(sample, 1)
			return
		}
		l.mean = max(l.mean+(sample-l.mean)*time.Duration(n)/time.Duration(n+smoothing-1), 1)
	}
}

func (l *Lane) remember(now time.Duration) {
	switch age := now - l.peakSince; {
	case age >= 2*memory:
		l.peak, l.peakBefore, l.peakSince = l.running, l.running, now
	case age >= memory:
		l.peak, l.peakBefore, l.peakSince = l.running, l.peak, now
	}
}

// kept is the number of workers that the other lanes leave free for this one, beyond those it has.
func (l *Lane) kept(now time.Duration, share int) int {
	l.remember(now)
	return max(0, min(share, max(1, l.peak, l.peakBefore))-l.running)
}

// chunk is the number of messages that a worker takes at once: what keeps it busy for about slowAfter.
func (l *Lane) chunk(p *piece, slowAfter time.Duration) int {
	left := p.to - p.from
	if p.single {
		return 1
	}
	if l.mean == 0 {
		return left
	}
	return min(left, max(1, int(slowAfter/l.mean)))
}
