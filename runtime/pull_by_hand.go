package troupe

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// PullStatus is what a broker says to a Pull.
type PullStatus = messages.PullStatus

// The four statuses (protocol.md 2.3).
const (
	// Found: there are messages.
	Found = messages.PullStatus_PULL_STATUS_FOUND
	// NoNewMessage: there is nothing at the offset yet; pull again there.
	NoNewMessage = messages.PullStatus_PULL_STATUS_NO_NEW_MSG
	// NoMatchedMessage: the filter wants nothing of what is there; go on at NextOffset.
	NoMatchedMessage = messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG
	// OffsetIllegal: the queue does not have the offset; NextOffset is one that it has.
	OffsetIllegal = messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL
)

// PullResult is the answer to a Pull.
type PullResult struct {
	Status PullStatus
	// Messages are there if the status is Found; none if the filter, by its tags, wants none of them.
	Messages []*Message
	// NextOffset is where to pull next; MinOffset and MaxOffset are the queue's bounds.
	NextOffset, MinOffset, MaxOffset int64
}

// CommittedFrom says where FetchCommitted looks (ReadOffsetType).
type CommittedFrom int

const (
	// MemoryThenStore takes what is committed here, and asks the store if nothing is.
	MemoryThenStore CommittedFrom = iota
	// FromMemory takes what is committed here, stored or not.
	FromMemory
	// FromStore asks the cluster, or the group's own Offsets.
	FromStore
)

// Queues asks for the queues of a topic, in order (fetchSubscribeMessageQueues). Error: ErrNoRoute.
func (g *PullGroup) Queues(ctx context.Context, topic string) ([]*Queue, error) {
	door, err := g.door()
	if err != nil {
		return nil, err
	}
	return door.Queues(ctx, topic)
}

// Pull asks a queue once for up to max messages, from 1 to 1024, from an offset on, and takes the answer whatever it is
// (DefaultMQPullConsumer.pull). Nothing has to be assigned, and nothing is committed.
// Errors: *BrokerError, *NetworkError, ErrNoRoute, *ConfigError, ctx's.
func (g *PullGroup) Pull(ctx context.Context, q *Queue, filter Filter, offset int64, max int) (PullResult, error) {
	return g.pull(ctx, q, filter, offset, max, 0, g.config.PullTimeout)
}

// PullBlock is Pull, but the broker holds it for up to PullConfig.LongPoll when there is nothing new (pullBlockIfNotFound).
func (g *PullGroup) PullBlock(ctx context.Context, q *Queue, filter Filter, offset int64, max int) (PullResult, error) {
	return g.pull(ctx, q, filter, offset, max, g.config.LongPoll, g.config.LongPoll+pullMargin)
}

func (g *PullGroup) pull(
	ctx context.Context, q *Queue, filter Filter, offset int64, max int, suspend, timeout time.Duration,
) (PullResult, error) {
	door, err := g.door()
	if err != nil {
		return PullResult{}, err
	}
	if filter.fault != "" || max < 1 || max > 1024 || offset < 0 {
		var f faults
		g.group.checkSubscription(&topicHandler{topic: q.GetTopic(), filter: filter}, &f)
		f.number("pull: max", max, 1, 1024)
		f.offset("pull: offset", offset)
		return PullResult{}, f.err()
	}
	reply, ms, err := door.Pull(ctx, actors.HandPull{
		Queue: q, Subscription: filter.subscription(q.GetTopic(), 0), Offset: offset, Max: int32(max), Suspend: suspend, Timeout: timeout,
	})
	if err != nil {
		return PullResult{}, fmt.Errorf("pull %s at %d: %w", q.Text(), offset, err)
	}
	return PullResult{
		Status: reply.GetStatus(), Messages: ms, NextOffset: reply.GetNextOffset(), MinOffset: reply.GetMinOffset(), MaxOffset: reply.GetMaxOffset(),
	}, nil
}

// MinOffset asks for the offset of a queue's oldest message (minOffset).
func (g *PullGroup) MinOffset(ctx context.Context, q *Queue) (int64, error) {
	door, err := g.door()
	if err != nil {
		return 0, err
	}
	return door.MinOffset(ctx, q)
}

// MaxOffset asks for the offset that a queue's next message will have (maxOffset).
func (g *PullGroup) MaxOffset(ctx context.Context, q *Queue) (int64, error) {
	door, err := g.door()
	if err != nil {
		return 0, err
	}
	return door.MaxOffset(ctx, q)
}

// OffsetAt asks for the offset of the first message that was stored at or after a time; brokers of 4.x give the one nearest in time
// (searchOffset, offsetForTimestamp).
func (g *PullGroup) OffsetAt(ctx context.Context, q *Queue, at time.Time) (int64, error) {
	door, err := g.door()
	if err != nil {
		return 0, err
	}
	return door.OffsetAt(ctx, q, at)
}

// UpdateCommitted commits an offset of a queue, whichever it is. It is stored with Config.OffsetPersistInterval, by
// StoreCommitted and at the shutdown (updateConsumeOffset; Java stores it for topics only that are registered). On an assigned queue it
// stays until something polled is finished. Errors: ErrNoRoute, *ConfigError.
func (g *PullGroup) UpdateCommitted(ctx context.Context, q *Queue, offset int64) error {
	door, err := g.door()
	if err != nil {
		return err
	}
	var f faults
	f.offset("committed offset", offset)
	if err := f.err(); err != nil {
		return err
	}
	return door.Note(ctx, q, offset)
}

// StoreCommitted stores now what is committed of queues, and returns when that was acknowledged. Error: ErrNotAssigned for a queue of which
// nothing was committed here.
func (g *PullGroup) StoreCommitted(ctx context.Context, queues ...*Queue) error {
	door, err := g.door()
	if err != nil {
		return err
	}
	keys := make([]messages.QueueKey, 0, len(queues))
	for _, q := range queues {
		keys = append(keys, q.Key())
	}
	return door.Store(ctx, keys...)
}

// FetchCommitted gives where the group stands on a queue (fetchConsumeOffset, committed). Error: ErrNoOffset if it stands nowhere.
func (g *PullGroup) FetchCommitted(ctx context.Context, q *Queue, from CommittedFrom) (int64, error) {
	door, err := g.door()
	if err != nil {
		return 0, err
	}
	if from != FromStore {
		if at, ok := door.Noted(q.Key()); ok {
			return at, nil
		}
		if from == FromMemory {
			return 0, ErrNoOffset
		}
	}
	return door.Committed(ctx, q)
}

// View finds a message by its offset id, with a topic also by its unique id, see Admin.Message (viewMessage). Errors: ErrNoMessage,
// *ConfigError.
func (g *PullGroup) View(ctx context.Context, id, topic string) (*Message, error) {
	client := g.group.runtime.running()
	if client == nil {
		return nil, g.group.runtime.whyNotRunning()
	}
	admin, err := adminOf(client.Env().Link)
	if err != nil {
		return nil, err
	}
	return admin.Message(ctx, id, topic)
}

// SendBack hands a message back and returns when a broker has taken it: it comes again in %RETRY%group, not before delay, by the broker's
// schedule if that is 0; a negative delay, or MaxRetries retries, put it into %DLQ%group (sendMessageBack). A pull group does not
// subscribe to its retry topic by itself.
func (g *PullGroup) SendBack(ctx context.Context, m *Message, delay time.Duration) error {
	door, err := g.door()
	if err != nil {
		return err
	}
	return door.SendBack(ctx, m, delay)
}
