package allocation

import "github.com/troupe-mq/troupe/messages"

// Averagely gives each member one contiguous stretch of the sorted queues; the first members get one queue more if the
// division leaves a remainder. It gives what org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely
// gives: nil for a caller that is not a member, an empty share for members beyond the number of queues.
func Averagely(me string, members []string, queues []messages.QueueKey) []messages.QueueKey {
	place, count, sorted := ranked(me, members, queues)
	if place < 0 {
		return nil
	}
	share, rest := len(sorted)/count, len(sorted)%count
	from := place*share + min(place, rest)
	if place < rest {
		share++
	}
	return sorted[from : from+share : from+share]
}
