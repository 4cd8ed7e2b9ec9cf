package rocketmq

import (
	"context"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// Lock asks for the locks of queues (LOCK_BATCH_MQ, 41).
func (l *link) Lock(ctx context.Context, address, group string, queues []*messages.Queue) ([]*messages.Queue, error) {
	cmd := newRequest(wire.LockBatchMQ, nil, lockRequest(group, l.clientID, queues).Encode())
	t := target{address: address}
	answer, err := l.ask(ctx, l.timeouts.lock, t, cmd)
	if err != nil {
		return nil, err
	}
	granted, err := wire.DecodeLockResponse(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	out := make([]*messages.Queue, 0, len(granted.Queues))
	for _, q := range granted.Queues {
		out = append(out, &messages.Queue{Topic: q.Topic, Broker: q.Broker, Id: q.QueueID})
	}
	return out, nil
}

// Unlock gives the locks of queues back (UNLOCK_BATCH_MQ, 42).
func (l *link) Unlock(ctx context.Context, address, group, client string, queues []*messages.Queue) error {
	cmd := newRequest(wire.UnlockBatchMQ, nil, lockRequest(group, client, queues).Encode())
	_, err := l.ask(ctx, l.timeouts.lock, target{address: address}, cmd)
	return err
}

func lockRequest(group, client string, queues []*messages.Queue) *wire.LockRequest {
	body := &wire.LockRequest{Group: group, ClientID: client}
	for _, q := range queues {
		body.Queues = append(body.Queues, wire.MessageQueue{Topic: q.GetTopic(), Broker: q.GetBroker(), QueueID: q.GetId()})
	}
	return body
}
