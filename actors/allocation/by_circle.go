package allocation

import "github.com/troupe-mq/troupe/messages"

// ByCircle deals the sorted queues out like cards: the member at place i gets queues i, i+m, i+2m …. It gives what
// org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle gives; nil for a caller that is not
// a member.
func ByCircle(me string, members []string, queues []messages.QueueKey) []messages.QueueKey {
	place, count, sorted := ranked(me, members, queues)
	if place < 0 {
		return nil
	}
	mine := make([]messages.QueueKey, 0, len(sorted)/count+1)
	for i := place; i < len(sorted); i += count {
		mine = append(mine, sorted[i])
	}
	return mine
}
