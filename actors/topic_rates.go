package actors

import (
	"sync"
	"time"

	"github.com/troupe-mq/troupe/actors/meter"
	"github.com/troupe-mq/troupe/messages"
)

// topicRates is how fast a group's member is in one topic, as Java's ConsumerStatsManager counts it (protocol.md 5.15). The
// time that handlers take is measured by the WorkerPool. Safe for concurrent use; nothing is noted message by message.
type topicRates struct {
	made time.Time

	mu                        sync.Mutex
	pulls, pulled             *meter.Window
	succeeded, failed, hourly *meter.Window
}

func newTopicRates() *topicRates {
	r := &topicRates{
		made: time.Now(), pulls: meter.New(time.Minute), pulled: meter.New(time.Minute),
		succeeded: meter.New(time.Minute), failed: meter.New(time.Minute), hourly: meter.New(time.Hour),
	}
	for _, w := range []*meter.Window{r.pulls, r.pulled, r.succeeded, r.failed} {
		w.Start(0)
	}
	return r
}

// tookPull notes a pull that brought messages.
func (r *topicRates) tookPull(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pulls.Add(time.Since(r.made), 1, d.Seconds())
}

// gotMessages notes what a pull brought.
func (r *topicRates) gotMessages(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pulled.Add(time.Since(r.made), int64(n), 0)
}

// settledWell notes messages that were handled with success.
func (r *topicRates) settledWell(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.succeeded.Add(time.Since(r.made), n, 0)
}

// failedOnce notes a failed attempt.
func (r *topicRates) failedOnce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Since(r.made)
	r.failed.Add(now, 1, 0)
	r.hourly.Add(now, 1, 0)
}

// facts gives what is known of the last minute; handler is the mean time of a handler call.
func (r *topicRates) facts(topic string, handler time.Duration) *messages.TopicRates {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Since(r.made)
	hour, _ := r.hourly.Sum(now)
	return &messages.TopicRates{
		Topic: topic, PulledPerSecond: r.pulled.PerSecond(now), PullMillis: r.pulls.Mean(now) * 1000,
		SucceededPerSecond: r.succeeded.PerSecond(now), FailedPerSecond: r.failed.PerSecond(now),
		ConsumeMillis: handler.Seconds() * 1000, FailedLastHour: hour,
	}
}
