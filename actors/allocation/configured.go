package allocation

import (
	"slices"
	"strings"

	"github.com/troupe-mq/troupe/messages"
)

// Configured gives this member the queues of a fixed list, whoever else is in the group: the lists of all members together
// must hold each queue once.
//
// It gives those of the queues given by org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig that the
// topic has. Java hands out the list as it is, also for other topics, so that retried messages reach nobody unless the list
// holds the queue of the group's retry topic; here a retry topic of which the list has no queue is divided averagely.
type Configured struct {
	Queues []messages.QueueKey
}

// The retry topic of a group begins with this.
const retryPrefix = "%RETRY%"

// Name is CONFIG.
func (Configured) Name() string { return "CONFIG" }

// Allocate gives the listed queues that exist, in the order of the list; it never fails.
func (s Configured) Allocate(me string, members []string, queues []messages.QueueKey) ([]messages.QueueKey, error) {
	if len(queues) == 0 {
		return nil, nil
	}
	topic := queues[0].Topic
	listed := slices.ContainsFunc(s.Queues, func(q messages.QueueKey) bool { return q.Topic == topic })
	if !listed && strings.HasPrefix(topic, retryPrefix) {
		return Averagely(me, members, queues), nil
	}
	var mine []messages.QueueKey
	for _, q := range s.Queues {
		if slices.Contains(queues, q) {
			mine = append(mine, q)
		}
	}
	return mine, nil
}
