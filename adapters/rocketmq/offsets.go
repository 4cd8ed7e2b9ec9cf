package rocketmq

import (
	"context"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// Committed reads the group's offset (QUERY_CONSUMER_OFFSET, 14); messages.ErrNoOffset only if the broker says QUERY_NOT_FOUND.
func (l *link) Committed(ctx context.Context, address, group string, q *messages.Queue) (int64, error) {
	cmd := newRequest(wire.QueryConsumerOffset, &wire.QueryOffsetHeader{
		Group: group, Topic: q.GetTopic(), QueueID: q.GetId(), Broker: q.GetBroker(), SetZeroIfNotFound: true,
	}, nil)
	t := atQueue(address, q)
	answer, err := l.call(ctx, l.timeouts.committed, address, cmd)
	if err != nil {
		return 0, err
	}
	switch wire.ResponseCode(answer.Code) {
	case wire.Success:
		return offsetOf(cmd, answer, t)
	case wire.QueryNotFound:
		return 0, messages.ErrNoOffset
	default:
		return 0, refusal(cmd, answer, t)
	}
}

// offsetOf reads the answer to a question for an offset.
func offsetOf(cmd, answer *wire.Command, t target) (int64, error) {
	var h wire.OffsetResponseHeader
	if err := h.ReadFrom(&answer.Ext); err != nil {
		return 0, malformed(cmd, t, err)
	}
	return h.Offset, nil
}

// updateOffset makes the request that stores an offset (UPDATE_CONSUMER_OFFSET, 15).
func updateOffset(group string, q *messages.Queue, offset int64) *wire.Command {
	return newRequest(wire.UpdateConsumerOffset, &wire.UpdateOffsetHeader{
		Group: group, Topic: q.GetTopic(), QueueID: q.GetId(), CommitOffset: offset, Broker: q.GetBroker(),
	}, nil)
}

// Commit stores the group's offset (15) and waits for the acknowledgement.
func (l *link) Commit(ctx context.Context, address, group string, q *messages.Queue, offset int64) error {
	_, err := l.ask(ctx, l.timeouts.commit, atQueue(address, q), updateOffset(group, q, offset))
	return err
}

// CommitOneWay stores the group's offset (15) without waiting for an answer.
func (l *link) CommitOneWay(ctx context.Context, address, group string, q *messages.Queue, offset int64) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeouts.commit)
	defer cancel()
	cmd := updateOffset(group, q, offset)
	return l.client.OneWay(ctx, l.via(address, cmd), cmd)
}

// MinOffset is the lowest offset a queue still has (GET_MIN_OFFSET, 31).
func (l *link) MinOffset(ctx context.Context, address string, q *messages.Queue) (int64, error) {
	return l.bound(ctx, address, q, newRequest(wire.GetMinOffset, &wire.QueueHeader{
		Topic: q.GetTopic(), QueueID: q.GetId(), Broker: q.GetBroker(),
	}, nil))
}

// MaxOffset is the offset a queue's next message will get (GET_MAX_OFFSET, 30).
func (l *link) MaxOffset(ctx context.Context, address string, q *messages.Queue) (int64, error) {
	return l.bound(ctx, address, q, newRequest(wire.GetMaxOffset, &wire.MaxOffsetHeader{
		Topic: q.GetTopic(), QueueID: q.GetId(), Broker: q.GetBroker(), Committed: true,
	}, nil))
}

// OffsetAt is the first offset stored at or after a time (SEARCH_OFFSET_BY_TIMESTAMP, 29).
func (l *link) OffsetAt(ctx context.Context, address string, q *messages.Queue, at time.Time) (int64, error) {
	return l.bound(ctx, address, q, newRequest(wire.SearchOffsetByTimestamp, &wire.SearchOffsetHeader{
		Topic: q.GetTopic(), QueueID: q.GetId(), Timestamp: at.UnixMilli(), Boundary: "LOWER", Broker: q.GetBroker(),
	}, nil))
}

func (l *link) bound(ctx context.Context, address string, q *messages.Queue, cmd *wire.Command) (int64, error) {
	t := atQueue(address, q)
	answer, err := l.ask(ctx, l.timeouts.bounds, t, cmd)
	if err != nil {
		return 0, err
	}
	return offsetOf(cmd, answer, t)
}
