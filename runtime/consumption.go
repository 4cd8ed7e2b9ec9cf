package troupe

import (
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// consumption is what the configurations of all kinds of groups have in common, with the defaults in place.
type consumption struct {
	workers, pullBatch, maxCached int
	maxCachedBytes                int64
	longPoll, revokeGrace         time.Duration
	from                          ConsumeFrom
	at                            time.Time
	strictLast                    bool
}

// Java's limit for the answer of a pull, which brokers of this protocol version ignore (pullBatchSizeInBytes).
const pullBatchBytes = 256 << 10

// Brokers look after held pulls every 5 s, so an answer may come that much later than LongPoll says; the rest is margin.
const pullMargin = 15 * time.Second

// check adds what is wrong; at names a field.
func (c consumption) check(at func(field string) string, f *faults) {
	f.number(at("Workers"), c.workers, 1, maxWorkers)
	f.number(at("PullBatch"), c.pullBatch, 1, 1024)
	f.number(at("MaxCached"), c.maxCached, 1, 65535)
	f.number(at("MaxCachedBytes"), int(c.maxCachedBytes), 1<<20, 1<<30)
	f.duration(at("RevokeGrace"), c.revokeGrace, 0, time.Hour)
	f.duration(at("LongPoll"), c.longPoll, 10*time.Millisecond, time.Minute)
	if c.from < LastOffset || c.from > AtTime {
		f.add(at("ConsumeFrom"), c.from, "must be LastOffset, FirstOffset or AtTime")
	}
	if c.from == AtTime && c.at.IsZero() {
		f.add(at("ConsumeTime"), c.at, "must be set for AtTime")
	}
	if c.strictLast && c.from != LastOffset {
		f.add(at("StrictLast"), c.strictLast, "goes with LastOffset only")
	}
}

const maxWorkers = 1000

// spec begins the specification of a group.
func (c consumption) spec(group string) *actors.GroupSpec {
	return &actors.GroupSpec{
		Name: group, Workers: c.workers, PullBatch: int32(c.pullBatch), PullBytes: pullBatchBytes,
		Suspend: c.longPoll, PullTimeout: c.longPoll + pullMargin,
		Limits:      actors.Limits{Messages: int64(c.maxCached), Bytes: c.maxCachedBytes},
		Start:       actors.StartRule{From: consumeFrom(c.from), At: c.at, StrictLast: c.strictLast},
		RevokeGrace: c.revokeGrace,
	}
}

func consumeFrom(c ConsumeFrom) messages.ConsumeFrom {
	switch c {
	case FirstOffset:
		return messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET
	case AtTime:
		return messages.ConsumeFrom_CONSUME_FROM_TIMESTAMP
	default:
		return messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET
	}
}
