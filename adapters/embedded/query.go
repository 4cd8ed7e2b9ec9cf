package embedded

import (
	"fmt"
	"slices"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// uniqueKeyQueries is how many messages a query by unique id gives at the most, whatever it asks for (protocol.md 2.2).
const uniqueKeyQueries = 32

// queryMessage answers QUERY_MESSAGE (12): the records with a key, youngest first, in the time asked for. The memory store has no
// index: each message of the topic is looked at.
func (i *incarnation) queryMessage(cmd *wire.Command) *wire.Command {
	var h wire.QueryMessageHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	most := int(h.MaxMessages)
	if h.Unique {
		most = uniqueKeyQueries
	}
	type hit struct {
		at     int64
		record []byte
	}
	var hits []hit
	for _, id := range i.b.store.queues(h.Topic) {
		for record := range i.recordsOf(h.Topic, id) {
			at := storeTimeOf(record)
			if at >= h.Begin && at <= h.End && hasKey(record, h.Key, h.Unique) {
				hits = append(hits, hit{at, record})
			}
		}
	}
	if len(hits) == 0 {
		return refuse(wire.QueryNotFound, fmt.Sprintf("can not find message, maybe time range not correct; topic %s, key %s", h.Topic, h.Key))
	}
	slices.SortStableFunc(hits, func(x, y hit) int { return int(y.at - x.at) })
	var body []byte
	for _, found := range hits[:min(len(hits), most)] {
		body = append(body, found.record...)
	}
	answer := acceptBody(body)
	_, end := i.b.store.bounds()
	(&wire.QueryMessageResponseHeader{LastUpdateTime: hits[0].at, LastUpdateOffset: end}).AppendTo(&answer.Ext)
	return answer
}

// recordsOf goes through a queue, oldest first.
func (i *incarnation) recordsOf(topic string, id int32) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		ix := i.b.store.queue(topic, id)
		from, end := ix.bounds()
		batch := make([]entry, 0, scanEntries)
		for from < end {
			batch = ix.entries(batch[:0], from)
			if len(batch) == 0 {
				return // trimmed underneath us
			}
			for _, e := range batch {
				if record, ok := i.b.store.record(e.physical, e.size); ok && !yield(record) {
					return
				}
			}
			from += int64(len(batch))
		}
	}
}

// hasKey tells whether a stored message has a key, or a unique id.
func hasKey(record []byte, key string, unique bool) bool {
	slab, _, err := wire.DecodeMessages(nil, record, &wire.DecodeOptions{KeepCompressed: true})
	if err != nil || len(slab) == 0 {
		return false
	}
	if unique {
		return slab[0].Property(messages.PropertyUniqueKey) == key
	}
	return slices.Contains(slab[0].Keys(), key) || slab[0].Property(messages.PropertyUniqueKey) == key
}
