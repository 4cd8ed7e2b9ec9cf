package embedded

import (
	"strconv"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// delayProgress is up to where each delay level has been delivered; a real broker keeps it in delayOffset.json.
type delayProgress struct {
	mu   sync.Mutex
	next []int64
}

func newDelayProgress(levels int) *delayProgress { return &delayProgress{next: make([]int64, levels)} }

func (d *delayProgress) get(queue int) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next[queue]
}

func (d *delayProgress) set(queue int, offset int64) {
	d.mu.Lock()
	d.next[queue] = offset
	d.mu.Unlock()
}

// deliverDelayed stores messages of the schedule topic under their real topics when their time has come. A level's
// messages are due in the order they were stored, so the first of each level is all that must be watched.
func (i *incarnation) deliverDelayed() {
	defer i.wg.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := time.Hour
		for queue := range i.b.cfg.DelayLevels {
			if left, waiting := i.deliverLevel(queue); waiting {
				wait = min(wait, left)
			}
		}
		timer.Reset(max(wait, time.Millisecond))
		select {
		case <-i.ctx.Done():
			return
		case <-i.wake:
		case <-timer.C:
		}
	}
}

// deliverLevel delivers what is due of one level and tells how long its next message still has.
func (i *incarnation) deliverLevel(queue int) (left time.Duration, waiting bool) {
	ix := i.b.store.queue(scheduleTopic, int32(queue))
	for i.ctx.Err() == nil {
		at := i.b.delays.get(queue)
		lo, hi := ix.bounds()
		if at < lo {
			at = lo
		}
		if at >= hi {
			return 0, false
		}
		batch := ix.entries(make([]entry, 0, 64), at)
		for _, e := range batch {
			now := time.Now()
			due := time.UnixMilli(e.tags)
			// A clock that was set back must not delay a message beyond its level.
			if limit := now.Add(i.b.cfg.DelayLevels[queue]); due.After(limit) {
				due = limit
			}
			if due.After(now) {
				return due.Sub(now), true
			}
			i.deliver(e)
			at++
			i.b.delays.set(queue, at)
		}
	}
	return 0, false
}

// deliver stores one delayed message under its real topic. A record that cannot be read, or that has no topic to go to,
// is passed over: there is nobody to tell. So is a half message: transactions cannot be delayed, and a real broker drops them
// here, too.
func (i *incarnation) deliver(e entry) {
	record, ok := i.b.store.record(e.physical, e.size)
	if !ok {
		return
	}
	m, err := decodeRecord(record)
	if err != nil {
		return
	}
	topic := m.Property(messages.PropertyRealTopic)
	queue, err := strconv.Atoi(m.Property(messages.PropertyRealQueueID))
	if err != nil || topic == "" || topic == halfTopic || i.b.topics.get(topic) == nil {
		return
	}
	if d, err := i.b.draftOf(m, topic, int32(queue), 0); err == nil {
		_, _ = i.b.put([]draft{d}) // fails only when the store is closed, and then all ends
	}
}
