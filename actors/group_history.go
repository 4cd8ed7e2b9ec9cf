package actors

import (
	"context"
	"errors"
	"sync"

	"github.com/troupe-mq/troupe/messages"
)

// groupHistory knows whether a group has consumed a topic before this client came: then a queue without an offset is one that
// the group has not seen yet, and not the first of a new group (pains A03). It is asked outside of the OffsetPersister's turn
// and remembers each answer, so that one member asks once for a topic. Safe for concurrent use.
type groupHistory struct {
	mu     sync.Mutex
	topics map[string]*topicHistory
}

type topicHistory struct {
	// turn is held by who asks the cluster.
	turn chan struct{}

	mu sync.Mutex
	// ruled are the queues that this client began as if they were new: what is stored for them later proves nothing.
	ruled   map[messages.QueueKey]bool
	decided bool
	known   bool
}

func newGroupHistory() *groupHistory { return &groupHistory{topics: make(map[string]*topicHistory)} }

func (h *groupHistory) of(topic string) *topicHistory {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[topic]
	if t == nil {
		t = &topicHistory{turn: make(chan struct{}, 1), ruled: make(map[messages.QueueKey]bool)}
		h.topics[topic] = t
	}
	return t
}

// stored notes that a queue begins at a stored offset. 0 says nothing: brokers give it for groups that they do not know, too
// (protocol.md 7.5).
func (t *topicHistory) stored(key messages.QueueKey, offset int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case offset == 0:
		t.ruled[key] = true
	case !t.ruled[key] && !t.decided:
		t.decided, t.known = true, true
	}
}

// begin notes that a queue begins by the rule.
func (t *topicHistory) begin(key messages.QueueKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ruled[key] = true
}

func (t *topicHistory) answer() (known, decided bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known, t.decided
}

func (t *topicHistory) decide(known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.decided, t.known = true, known
}

func (t *topicHistory) proves(key messages.QueueKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.ruled[key]
}

// ask finds out whether the group has an offset on any of the queues. A question that fails leaves it open, unless another
// queue has one.
func (t *topicHistory) ask(ctx context.Context, home offsetHome, queues []messages.QueueKey) (known bool, err error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if known, decided := t.answer(); decided {
		return known, nil
	}
	for _, key := range queues {
		if !t.proves(key) {
			continue
		}
		offset, failure := home.committed(ctx, key.Queue())
		switch {
		case failure == nil && offset > 0:
			t.decide(true)
			return true, nil
		case failure != nil && !errors.Is(failure, messages.ErrNoOffset):
			err = failure
		}
	}
	if err != nil {
		return false, err
	}
	t.decide(false)
	return false, nil
}
