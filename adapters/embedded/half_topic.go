package embedded

import (
	"strconv"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// Where a broker keeps transactions. Half messages wait in the half topic; for each that was committed or rolled back a
// record in the topic of operations says so. Those that nobody decides upon end in the third.
const (
	halfTopic      = "RMQ_SYS_TRANS_HALF_TOPIC"
	opTopic        = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
	uncheckedTopic = "TRANS_CHECK_MAX_TIME_TOPIC"
)

// transactionGroup is the consumer group whose offsets tell how far half messages and operations have been dealt with.
const transactionGroup = "CID_RMQ_SYS_TRANS"

// endedTag marks an operation: the half messages whose offsets its body names have come to their end.
const endedTag = "d"

// isHalf tells whether a producer's message is half of a transaction. One that comes again after a failure is not, although
// consumers before 4.6.1 leave the mark on it.
func isHalf(m *messages.Message, level int) bool {
	return strings.EqualFold(m.Property(messages.PropertyTransactionPrepared), "true") && !(m.ReconsumeTimes > 0 && level > 0)
}

// prepare turns a message into a half message, which remembers where it belongs, and gives the queue where it waits.
func prepare(m *messages.Message, place queueID) queueID {
	if id := m.Property(messages.PropertyUniqueKey); id != "" {
		m.SetProperty(messages.PropertyTransactionID, id)
	}
	m.SetProperty(messages.PropertyRealTopic, place.topic)
	m.SetProperty(messages.PropertyRealQueueID, strconv.Itoa(int(place.id)))
	m.SysFlag &^= wire.FlagTransactionRollback // the mask of all states
	return queueID{halfTopic, 0}
}

// realPlace is where a half message belongs; false if it does not say.
func realPlace(m *messages.Message) (queueID, bool) {
	queue, err := strconv.Atoi(m.Property(messages.PropertyRealQueueID))
	topic := m.Property(messages.PropertyRealTopic)
	return queueID{topic, int32(queue)}, err == nil && topic != ""
}

// ended encodes the operation that a half message has come to its end. Its body is the message's offset in the half topic:
// brokers of 4.x write it like that; those of 5.x write several, each with a comma behind it, and understand both.
func (b *Broker) ended(offset int64) (draft, error) {
	m := &messages.Message{Body: strconv.AppendInt(nil, offset, 10), BornTimestamp: time.Now().UnixMilli(), BornHost: b.host()}
	m.SetProperty(messages.PropertyWait, "true")
	m.SetProperty(messages.PropertyTags, endedTag)
	return b.draftOf(m, opTopic, 0, 0)
}

// endedOffsets reads the offsets of half messages that an operation names. What is no number is passed over.
func endedOffsets(m *messages.Message) (offsets []int64) {
	if m.Tag() != endedTag {
		return nil
	}
	for text := range strings.SplitSeq(string(m.Body), ",") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			offsets = append(offsets, n)
		}
	}
	return offsets
}
