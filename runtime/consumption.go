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
	strictLast, unseenFromFirst   bool
	maxPerTopic                   int
	maxBytesPerTopic              int64
	pullInterval                  time.Duration
	sendSubscription              bool
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
	if c.maxPerTopic != 0 {
		f.number(at("MaxCachedPerTopic"), c.maxPerTopic, 1, 6_553_500)
	}
	if c.maxBytesPerTopic != 0 {
		f.number(at("MaxCachedBytesPerTopic"), int(c.maxBytesPerTopic), 1<<20, 100<<30)
	}
	f.duration(at("PullInterval"), c.pullInterval, 0, 65535*time.Millisecond)
	f.duration(at("RevokeGrace"), c.revokeGrace, 0, time.Hour)
	f.duration(at("LongPoll"), c.longPoll, 10*time.Millisecond, time.Minute)
	if c.from < LastOffset || c.from > AtTime {
		f.add(at("ConsumeFrom"), c.from, "must be LastOffset, FirstOffset or AtTime")
	}
	if c.from != AtTime && !c.at.IsZero() {
		f.add(at("ConsumeTime"), c.at, "goes with AtTime only")
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
		Limits:      actors.Limits{Messages: int64(c.maxCached), Bytes: c.maxCachedBytes, TopicMessages: int64(c.maxPerTopic), TopicBytes: c.maxBytesPerTopic},
		Start:       actors.StartRule{From: consumeFrom(c.from), At: consumeTime(c.from, c.at), StrictLast: c.strictLast, UnseenFromFirst: c.unseenFromFirst},
		RevokeGrace: c.revokeGrace, PullInterval: c.pullInterval, CarrySubscription: c.sendSubscription,
	}
}

// defaultConsumeAge is how far back AtTime goes by default.
const defaultConsumeAge = 30 * time.Minute

func consumeTime(from ConsumeFrom, at time.Time) time.Time {
	if from == AtTime && at.IsZero() {
		return time.Now().Add(-defaultConsumeAge)
	}
	return at
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
