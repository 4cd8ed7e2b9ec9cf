package actors

import (
	"context"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// What the OffsetPersister does about queues that a group has never seen (pains A03): begun by the rule for new groups they
// may begin behind messages that nobody will get.

// consumedBefore tells whether the group stood in the topic before this client came. It blocks.
func (a *OffsetPersister) consumedBefore(ctx context.Context, topic string) (bool, error) {
	return a.table.history.of(topic).ask(ctx, a.home, a.queuesOf(topic))
}

func (a *OffsetPersister) queuesOf(topic string) []messages.QueueKey {
	route, err := a.env.Directory.Route(topic)
	if err != nil {
		return nil
	}
	return SubscribeQueues(route)
}

// lookAtSkipped is the timer after which the queues of a topic are looked at that were begun by the rule.
type lookAtSkipped struct{ topic string }

// Queues of one topic are assigned in one go: so long after the first one they are looked at together.
const skippedTogether = 2 * time.Second

// skipping notes a queue that was begun by a rule that may pass messages over.
func (a *OffsetPersister) skipping(c *kit.Context, m *messages.StartLocated) {
	if m.GetFailure() != nil || m.GetOrigin() != "last" && m.GetOrigin() != "timestamp" {
		return
	}
	topic := m.GetQueue().GetTopic()
	if a.table.ruled[topic] == nil {
		c.After(skippedTogether, &lookAtSkipped{topic})
	}
	a.table.ruled[topic] = append(a.table.ruled[topic], m)
}

// look finds out which of a topic's noted queues skip messages, when none is being located any more.
func (a *OffsetPersister) look(c *kit.Context, topic string) {
	for _, open := range a.table.locating {
		if open.GetQueue().GetTopic() == topic {
			c.After(skippedTogether, &lookAtSkipped{topic})
			return
		}
	}
	begun := a.table.ruled[topic]
	delete(a.table.ruled, topic)
	if known, decided := a.table.history.of(topic).answer(); decided && !known {
		return
	}
	c.Go(lookTimeout, func(ctx context.Context) kit.Message {
		return &messages.SkippedLookedAt{Topic: topic, Queues: a.passedOver(ctx, topic, begun)}
	})
}

// passedOver finds those queues of an existing group that were begun behind messages. It blocks. What cannot be found out is
// left out: a warning is not worth insisting.
func (a *OffsetPersister) passedOver(ctx context.Context, topic string, begun []*messages.StartLocated) (out []*messages.Queue) {
	_ = contained(func() error {
		if known, err := a.consumedBefore(ctx, topic); err != nil || !known {
			return err
		}
		for _, b := range begun {
			var first int64
			_, err := a.env.atMember(ctx, b.GetQueue(), offsetTimeout, func(ctx context.Context, addr string) (err error) {
				first, err = a.env.Link.MinOffset(ctx, addr, b.GetQueue())
				return err
			})
			if err == nil && first < b.GetOffset() {
				out = append(out, b.GetQueue())
			}
		}
		return nil
	})
	return out
}

func (a *OffsetPersister) skipped(m *messages.SkippedLookedAt) {
	if len(m.GetQueues()) == 0 {
		return
	}
	var queues []string
	for _, q := range m.GetQueues() {
		queues = append(queues, q.Key().String())
	}
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_QUEUES_SKIPPED, Group: a.group, Topic: m.GetTopic(), Count: int64(len(queues)),
		Text: named(queues),
	})
}
