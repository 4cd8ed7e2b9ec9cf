package actors

import (
	"context"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// PollDesk is the place in the tree where a pull group and its program meet. The program takes messages from the group's poll
// buffer itself, as workers do from their pool; the desk tells it which queues it has.
//
//	Owns        what the program was told and is to be told of its queues
//	Parent      ConsumerGroup
//	In          assignmentChanged, listenerTold
//	Out         calls of PollSpec.OnAssignment; after each, its queues may be polled
//	States      idle, telling
//	Invariants  one call at a time; of a topic that changes again meanwhile only the youngest state is told
//	Restart     what was not told yet is told with the next change
//	Source      MessageQueueListener, TopicMessageQueueChangeListener (protocol.md 5.13, 5.14)
type PollDesk struct {
	env   *Env
	group *groupContext

	telling bool
	waiting []*assignmentChanged
}

// assignmentChanged says which queues a topic has and which of them are this member's.
type assignmentChanged struct {
	topic     string
	all, mine []messages.QueueKey
}

// listenerTold says that a call has come back.
type listenerTold struct {
	*assignmentChanged
	err error
}

// Receive handles one message.
func (a *PollDesk) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *assignmentChanged:
		a.changed(c, m)
	case *listenerTold:
		a.told(c, m)
	}
}

func (a *PollDesk) changed(c *kit.Context, m *assignmentChanged) {
	if a.group.spec.Poll.OnAssignment == nil {
		return
	}
	for i, other := range a.waiting {
		if other.topic == m.topic {
			a.waiting[i] = m
			return
		}
	}
	a.waiting = append(a.waiting, m)
	a.tell(c)
}

func (a *PollDesk) tell(c *kit.Context) {
	if a.telling || len(a.waiting) == 0 {
		return
	}
	next := a.waiting[0]
	a.waiting, a.telling = a.waiting[1:], true
	listener := a.group.spec.Poll.OnAssignment
	c.Go(0, func(context.Context) kit.Message {
		return &listenerTold{assignmentChanged: next, err: contained(func() error {
			listener(next.topic, queuesOf(next.all), queuesOf(next.mine))
			return nil
		})}
	})
}

func (a *PollDesk) told(c *kit.Context, m *listenerTold) {
	a.telling = false
	a.group.told(m.mine)
	if m.err != nil {
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_HANDLER_PANICKED, Group: a.group.spec.Name, Topic: m.topic, Text: "OnAssignment",
			Failure: messages.FailureOf(m.err),
		})
	}
	a.tell(c)
}

func queuesOf(keys []messages.QueueKey) []*messages.Queue {
	out := make([]*messages.Queue, 0, len(keys))
	for _, key := range keys {
		out = append(out, key.Queue())
	}
	return out
}
