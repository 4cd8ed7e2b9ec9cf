package pollbuffer

import "github.com/troupe-mq/troupe/messages"

// Handed is one pull that a caller has got. It is unfinished until the caller says otherwise. It does not keep the messages.
type Handed struct {
	line        *Line
	first, next int64

	// state and abandoned are guarded by the buffer's lock.
	state handedState
	// abandoned says that the caller has left without finishing it.
	abandoned bool
}

type handedState int

const (
	open handedState = iota
	finished
	outdated
	revoked
)

// Queue is the one that it was pulled from.
func (h *Handed) Queue() *messages.Queue { return h.line.queue }

// First is the offset from which it was pulled.
func (h *Handed) First() int64 { return h.first }

// Next is the offset behind it.
func (h *Handed) Next() int64 { return h.next }

// Finish says that the caller is done with it: it may be committed as soon as everything before it is finished. Finishing twice
// is no error. Errors: ErrRevoked, ErrOutdated; then nothing of it is committed.
func (h *Handed) Finish() error {
	b := h.line.buffer
	b.mu.Lock()
	leaving := h.finish()
	err := h.fault()
	b.mu.Unlock()
	if leaving {
		h.line.settled()
	}
	return err
}

// Fault says why it cannot be finished any more; nil if it can be, or is.
func (h *Handed) Fault() error {
	h.line.buffer.mu.Lock()
	defer h.line.buffer.mu.Unlock()
	return h.fault()
}

func (h *Handed) fault() error {
	switch h.state {
	case outdated:
		return ErrOutdated
	case revoked:
		return ErrRevoked
	default:
		return nil
	}
}

// finish does it with the lock held; leaving says that the queue's owner may wait for it.
func (h *Handed) finish() (leaving bool) {
	if h.state != open {
		return false
	}
	h.become(finished)
	h.line.held = -1
	h.line.note()
	return h.line.leaving
}

// become ends the open state; with the lock held.
func (h *Handed) become(s handedState) {
	if h.state == open {
		h.state = s
		h.line.unfinished.Add(-1)
	}
}
