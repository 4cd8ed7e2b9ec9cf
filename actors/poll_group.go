package actors

import (
	"context"
	"errors"
	"slices"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/pollbuffer"
	"github.com/troupe-mq/troupe/messages"
)

// PollGroup is the door between a program and one of its pull groups. Its methods may be called from any goroutine.
type PollGroup struct {
	client *Client
	group  *groupContext
}

// PollGroup gives the door to a pull group; nil if there is none of that name.
func (cl *Client) PollGroup(name string) *PollGroup { return cl.doors[name] }

// Take gives the next pull, and waits for it. Errors: ctx's, ErrPolling, ErrClosed.
func (p *PollGroup) Take(ctx context.Context) (*pollbuffer.Handed, []*messages.Message, error) {
	return p.group.polls.Take(ctx)
}

// Leave says that the program will not come back for what it got last.
func (p *PollGroup) Leave() { p.group.polls.Leave() }

// Assigned gives the queues that are this member's, in order.
func (p *PollGroup) Assigned() (keys []messages.QueueKey) {
	for _, q := range p.queues() {
		switch q.status.phase.get() {
		case phaseDraining, phasePersisting, phaseUnlocking, phaseRevoked:
		default:
			keys = append(keys, q.key)
		}
	}
	return keys
}

func (p *PollGroup) queues() []*assignment {
	p.group.status.mu.Lock()
	defer p.group.status.mu.Unlock()
	return slices.Clone(p.group.status.queues)
}

// line gives a queue's line; nil if there is none at present.
func (p *PollGroup) line(key messages.QueueKey) *pollbuffer.Line {
	for _, q := range p.queues() {
		if q.key == key {
			return q.polls.Load()
		}
	}
	return nil
}

// Position is the offset at which the next Take from a queue continues. Error: ErrNotAssigned, also before the queue has its start.
func (p *PollGroup) Position(key messages.QueueKey) (int64, error) {
	l := p.line(key)
	if l == nil {
		return 0, ErrNotAssigned
	}
	return l.Position(), nil
}

// Pause keeps queues, or all if none is given, from being pulled and polled, at once; Pause(false, …) undoes it.
func (p *PollGroup) Pause(paused bool, queues ...*messages.Queue) {
	var m kit.Message = &messages.ResumeQueues{Queues: queues}
	if paused {
		m = &messages.PauseQueues{Queues: queues}
	}
	for _, q := range p.queues() {
		if len(queues) == 0 || slices.ContainsFunc(queues, func(o *messages.Queue) bool { return o.Key() == q.key }) {
			q.pause(paused)
		}
	}
	p.client.Tell(p.group.spec.Name, m)
}

// FinishAll finishes everything that was handed out and gives the queues.
func (p *PollGroup) FinishAll() (keys []messages.QueueKey) {
	for _, q := range p.queues() {
		if l := q.polls.Load(); l != nil {
			l.FinishAll()
			keys = append(keys, q.key)
		}
	}
	return keys
}

// Store stores now what is committed of queues, and returns when that is acknowledged. The errors are joined; a queue that is
// neither assigned nor committed by hand is ErrNotAssigned.
func (p *PollGroup) Store(ctx context.Context, keys ...messages.QueueKey) error {
	return p.ask(ctx, len(keys), func(i int, done func(error)) kit.Message { return &storeOffset{key: keys[i], done: done} })
}

// Seek puts an assigned queue at an offset: nothing of what was pulled before is given any more, once it returns. Without store what is
// committed stays until something behind the offset is finished.
func (p *PollGroup) Seek(ctx context.Context, key messages.QueueKey, offset int64, store bool) error {
	return p.place(ctx, key, placement{offset: offset, insist: store, hold: !store})
}

// Rewind puts a queue back at the beginning of a batch. What was handed out of it before that can still be finished.
func (p *PollGroup) Rewind(ctx context.Context, h *pollbuffer.Handed) error {
	if err := h.Fault(); err != nil {
		return err
	}
	return p.place(ctx, h.Queue().Key(), placement{offset: h.First(), hold: true, earlier: true})
}

func (p *PollGroup) place(ctx context.Context, key messages.QueueKey, at placement) error {
	at.kind = messages.EventKind_EVENT_KIND_OFFSET_SOUGHT
	return p.ask(ctx, 1, func(_ int, done func(error)) kit.Message {
		at.done = done
		return &seekQueue{key: key, placement: at}
	})
}

// ask tells the group's actor n messages and waits until each was answered. Errors: what was answered, joined; ctx's; ErrClosed.
func (p *PollGroup) ask(ctx context.Context, n int, message func(i int, done func(error)) kit.Message) error {
	answers := make(chan error, n)
	for i := range n {
		p.client.Tell(p.group.spec.Name, message(i, func(err error) { answers <- err }))
	}
	var errs []error
	for range n {
		select {
		case err := <-answers:
			errs = append(errs, err)
		case <-ctx.Done():
			return errors.Join(append(errs, ctx.Err())...)
		case <-p.client.gone:
			return errors.Join(append(errs, ErrClosed)...)
		}
	}
	return errors.Join(errs...)
}
