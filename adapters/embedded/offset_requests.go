package embedded

import (
	"fmt"
	"strings"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// queryOffset answers QUERY_CONSUMER_OFFSET (14). Without a stored offset the answer depends on the topic's youth: while it
// has its first message, 0; protocol.md 7.5, observed.md 8.
func (i *incarnation) queryOffset(cmd *wire.Command) *wire.Command {
	var h wire.QueryOffsetHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	if o, ok := i.b.offsets.query(groupQueue{h.Group, h.Topic, h.QueueID}); ok {
		return offsetAnswer(o)
	}
	zero := h.SetZeroIfNotFound && !i.b.cfg.LastMeansLast
	if lo, hi := i.b.store.queue(h.Topic, h.QueueID).bounds(); zero && lo <= 0 && hi > 0 {
		return offsetAnswer(0)
	}
	return refuse(wire.QueryNotFound, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")
}

// updateOffset answers UPDATE_CONSUMER_OFFSET (15): whatever is sent is stored, also from clients that are not
// registered (any more).
func (i *incarnation) updateOffset(cmd *wire.Command) *wire.Command {
	var h wire.UpdateOffsetHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.InvalidParameter, err.Error())
	}
	if i.b.groups.get(h.Group) == nil {
		return refuse(wire.SubscriptionGroupNotExist, fmt.Sprintf("Group %s not exist!", h.Group))
	}
	if i.b.topics.get(h.Topic) == nil {
		return refuse(wire.TopicNotExist, fmt.Sprintf("Topic %s not exist!", h.Topic))
	}
	if !i.b.offsets.commit(groupQueue{h.Group, h.Topic, h.QueueID}, h.CommitOffset) {
		return refuse(wire.Success, "Offset has been previously reset")
	}
	return accept()
}

// queueOffset answers GET_MAX_OFFSET (30) and GET_MIN_OFFSET (31).
func (i *incarnation) queueOffset(cmd *wire.Command, which func(queueIndex) int64) *wire.Command {
	var h wire.QueueHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	return offsetAnswer(which(i.b.store.queue(h.Topic, h.QueueID)))
}

// searchOffset answers SEARCH_OFFSET_BY_TIMESTAMP (29).
func (i *incarnation) searchOffset(cmd *wire.Command) *wire.Command {
	var h wire.SearchOffsetHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	return offsetAnswer(offsetByTime(i.b.store, h.Topic, h.QueueID, h.Timestamp, strings.EqualFold(h.Boundary, "upper")))
}

// earliestTime answers GET_EARLIEST_MSG_STORETIME (32).
func (i *incarnation) earliestTime(cmd *wire.Command) *wire.Command {
	var h wire.QueueHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	lo, _ := i.b.store.queue(h.Topic, h.QueueID).bounds()
	answer := accept()
	answer.Ext.SetInt("timestamp", storeTimeAt(i.b.store, h.Topic, h.QueueID, lo))
	return answer
}

func offsetAnswer(offset int64) *wire.Command {
	answer := accept()
	answer.Ext.SetInt("offset", offset)
	return answer
}
