package conformance

import (
	"context"
	"fmt"
	"sync"
	"time"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// delivery is one call of a handler.
type delivery struct {
	body, topic, tag string
	keys             []string
	times            int32
	queue            int32
	offset           int64
	member           string
	at               time.Time
}

// recorder notes deliveries; it is a Handler's memory and an Observer.
type recorder struct {
	mu         sync.Mutex
	deliveries []delivery
	succeeded  map[string]int
	events     []*troupe.Event
}

func newRecorder() *recorder { return &recorder{succeeded: make(map[string]int)} }

// handler notes each delivery, then asks verdict (nil: success).
func (r *recorder) handler(member string, verdict func(ctx context.Context, m *troupe.Message) error) troupe.Handler {
	return func(ctx context.Context, m *troupe.Message) error {
		r.mu.Lock()
		r.deliveries = append(r.deliveries, delivery{
			body: string(m.GetBody()), topic: m.GetTopic(), tag: m.Tag(), keys: m.Keys(), times: m.GetReconsumeTimes(), queue: m.GetQueueId(), offset: m.GetQueueOffset(),
			member: member, at: time.Now(),
		})
		r.mu.Unlock()
		var err error
		if verdict != nil {
			err = verdict(ctx, m)
		}
		if err == nil {
			r.mu.Lock()
			r.succeeded[string(m.GetBody())]++
			r.mu.Unlock()
		}
		return err
	}
}

// Observe notes an event.
func (r *recorder) Observe(e *troupe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) all() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivery(nil), r.deliveries...)
}

func (r *recorder) count() int { return len(r.all()) }

// distinct is how many bodies succeeded at least once.
func (r *recorder) distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.succeeded)
}

// repeated is how many successes there were beyond the first of each body.
func (r *recorder) repeated() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, k := range r.succeeded {
		n += k - 1
	}
	return n
}

// redelivered lists the places whose message was delivered more than once without having been handed back.
func (r *recorder) redelivered() (out []string) {
	type place struct {
		topic  string
		queue  int32
		offset int64
	}
	calls := make(map[place]int)
	for _, d := range r.all() {
		if d.times > 0 {
			continue
		}
		p := place{d.topic, d.queue, d.offset}
		if calls[p]++; calls[p] == 2 {
			out = append(out, fmt.Sprintf("%s %d/%d", p.topic, p.queue, p.offset))
		}
	}
	return out
}

func (r *recorder) seen(match func(*troupe.Event) bool) []*troupe.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*troupe.Event
	for _, e := range r.events {
		if match(e) {
			out = append(out, e)
		}
	}
	return out
}
