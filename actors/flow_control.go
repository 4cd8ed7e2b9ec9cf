package actors

import (
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// A queue whose pulls were not held back for so long goes on; sooner is the same episode.
const flowSettles = time.Second

// flowControl is the time in which the pulls of a queue are held back for lack of room. A queue at its limits is held back before
// nearly every pull: that is one episode, told when it begins and when it has ended. The Puller's alone; it survives its restarts.
type flowControl struct {
	// since is when the episode began, zero if there is none; resumed is when the last pull was let go.
	since, resumed time.Time
	// waits says that a pull is held back now; held counts those that were.
	waits bool
	held  int64
}

// lacksRoom tells causes that are flow control from those that are trouble or orders.
func lacksRoom(cause string) bool {
	switch cause {
	case waitMessages, waitBytes, waitSpan, waitMemory, waitPolls:
		return true
	}
	return false
}

// hold notes that a pull is held back, and tells whether an episode begins with it.
func (f *flowControl) hold(now time.Time) (begins bool) {
	f.waits = true
	f.held++
	if !f.since.IsZero() {
		return false
	}
	f.since, f.held = now, 1
	return true
}

// resume notes that a pull goes out.
func (f *flowControl) resume(now time.Time) {
	if f.waits {
		f.waits, f.resumed = false, now
	}
}

// open tells whether an episode has begun and its end was not told.
func (f *flowControl) open() bool { return !f.since.IsZero() }

// settlesIn is how long the queue has to go on until the episode has ended.
func (f *flowControl) settlesIn(now time.Time) time.Duration {
	return f.resumed.Add(flowSettles).Sub(now)
}

// end ends the episode and gives what there is to tell of it.
func (f *flowControl) end() *messages.Event {
	e := &messages.Event{
		Kind: messages.EventKind_EVENT_KIND_PULL_RESUMED, Count: f.held, DelayMillis: f.resumed.Sub(f.since).Milliseconds(),
	}
	*f = flowControl{}
	return e
}
