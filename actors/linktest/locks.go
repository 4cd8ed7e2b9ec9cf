package linktest

import (
	"context"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// lockLife is how long a broker keeps a lock that is not renewed.
const lockLife = time.Minute

type lockKey struct {
	group string
	queue messages.QueueKey
}

type heldLock struct {
	client string
	at     time.Time
}

// LockFor gives a lock of a group to a client, as if it had asked for it now; "" takes it away.
func (c *Cluster) LockFor(group, client string, keys ...messages.QueueKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		delete(c.locks, lockKey{group, key})
		if client != "" {
			c.locks[lockKey{group, key}] = heldLock{client: client, at: time.Now()}
		}
	}
}

// LockHolder is the client that holds the lock of a queue; "" if nobody does.
func (c *Cluster) LockHolder(group string, key messages.QueueKey) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lockHolder(lockKey{group, key})
}

func (c *Cluster) lockHolder(key lockKey) string {
	if l, ok := c.locks[key]; ok && time.Since(l.at) <= lockLife {
		return l.client
	}
	return ""
}

func (l *link) Lock(ctx context.Context, address, group string, queues []*messages.Queue) ([]*messages.Queue, error) {
	v, err := l.call(ctx, Call{Op: Lock, Address: address, Group: group, Request: keysOf(queues)}, func() (any, error) {
		granted := []*messages.Queue{}
		for _, q := range queues {
			key := lockKey{group, q.Key()}
			if holder := l.cluster.lockHolder(key); holder == "" || holder == l.config.ClientID {
				l.cluster.locks[key] = heldLock{client: l.config.ClientID, at: time.Now()}
				granted = append(granted, q)
			}
		}
		return granted, nil
	})
	granted, _ := v.([]*messages.Queue)
	return granted, err
}

func (l *link) Unlock(ctx context.Context, address, group, client string, queues []*messages.Queue) error {
	_, err := l.call(ctx, Call{Op: Unlock, Address: address, Group: group, Request: keysOf(queues)}, func() (any, error) {
		for _, q := range queues {
			if key := (lockKey{group, q.Key()}); l.cluster.lockHolder(key) == client {
				delete(l.cluster.locks, key)
			}
		}
		return nil, nil
	})
	return err
}

func keysOf(queues []*messages.Queue) (keys []messages.QueueKey) {
	for _, q := range queues {
		keys = append(keys, q.Key())
	}
	return keys
}
