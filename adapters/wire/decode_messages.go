package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/troupe-mq/troupe/messages"
)

// DefaultMaxBody is the largest size a decompressed body may have, if DecodeOptions does not say otherwise.
const DefaultMaxBody = 32 << 20

// RetryTopicPrefix begins the topic a group's retried messages are in.
const RetryTopicPrefix = "%RETRY%"

// DecodeOptions tells what is known about the records before they are read.
type DecodeOptions struct {
	// Topic of the queue that was pulled; messages share this string if their topic is the same. If it begins with
	// %RETRY%, the original topic is restored from the property RETRY_TOPIC.
	Topic string
	// Broker is the name put into every message.
	Broker string
	// QueueID is put into every message, unless OwnQueueID is set.
	QueueID int32
	// OwnQueueID keeps each record's own queue id, for records of several queues (QUERY_MESSAGE, VIEW_MESSAGE_BY_ID).
	OwnQueueID bool
	// VerifyCRC counts a record as corrupt if its body does not match the checksum; one that notes none passes.
	VerifyCRC bool
	// KeepCompressed leaves compressed bodies and inner batches as they are stored.
	KeepCompressed bool
	// MaxBody limits a decompressed body, in bytes; 0 is DefaultMaxBody.
	MaxBody int
}

// Corrupt is a record that could not be decoded.
type Corrupt struct {
	// QueueOffset of the record; -1 if it could not be read.
	QueueOffset int64
	// Position in the records and size, in bytes.
	Position, Size int
	// Err tells what is wrong.
	Err error
}

// DecodeMessages decodes the body of a pull's answer, stored records back to back, and appends the messages to slab, which
// grows at most once unless there are inner batches. Bodies, properties and addresses are sub-slices of records without
// spare capacity, except for decompressed bodies. A slab may be used again: every field is overwritten.
//
// Records that are corrupt are left out and reported. If even the size of a record cannot be right, the rest is reported as
// one corrupt record and as an error; what was decoded before it is still returned.
func DecodeMessages(slab []messages.Message, records []byte, o *DecodeOptions) ([]messages.Message, []Corrupt, error) {
	d := slabDecoder{DecodeOptions: *o, slab: slab, retry: strings.HasPrefix(o.Topic, RetryTopicPrefix)}
	defer d.close()
	d.grow(CountRecords(records))
	for at := 0; at < len(records); {
		rest := records[at:]
		size := int64(0)
		if len(rest) >= 4 {
			size = int64(binary.BigEndian.Uint32(rest))
		}
		if size > int64(len(rest)) || size < minRecord {
			if size >= 8 && size <= int64(len(rest)) && binary.BigEndian.Uint32(rest[4:]) == MagicBlank {
				at += int(size)
				continue
			}
			err := fmt.Errorf("records: a record at %d claims %d bytes, %d are left", at, size, len(rest))
			d.corrupt = append(d.corrupt, Corrupt{QueueOffset: -1, Position: at, Size: len(rest), Err: err})
			return d.slab, d.corrupt, err
		}
		n := len(d.slab)
		if offset, err := d.record(rest[:size:size]); err != nil {
			d.slab = d.slab[:n]
			d.corrupt = append(d.corrupt, Corrupt{QueueOffset: offset, Position: at, Size: int(size), Err: err})
		}
		at += int(size)
	}
	return d.slab, d.corrupt, nil
}

// slabDecoder is the state of one DecodeMessages.
type slabDecoder struct {
	DecodeOptions
	slab     []messages.Message
	corrupt  []Corrupt
	retry    bool
	original string // topic the last retried or foreign message came from
	inflate  *inflater
}

func (d *slabDecoder) close() {
	if d.inflate != nil {
		d.inflate.close()
	}
}

// grow makes room for n more messages.
func (d *slabDecoder) grow(n int) {
	if cap(d.slab)-len(d.slab) >= n {
		return
	}
	slab := make([]messages.Message, len(d.slab), len(d.slab)+n)
	copy(slab, d.slab)
	d.slab = slab
}

// record decodes one record of exactly the given bytes. The returned offset belongs to the error.
func (d *slabDecoder) record(b []byte) (int64, error) {
	be := binary.BigEndian
	magic := be.Uint32(b[RecordMagicPos:])
	if magic != MagicV1 && magic != MagicV2 {
		if magic == MagicBlank {
			return 0, nil
		}
		return -1, fmt.Errorf("magic %#08x", magic)
	}
	offset := int64(be.Uint64(b[RecordQueueOffsetPos:]))
	if offset < 0 {
		return -1, fmt.Errorf("queue offset %d", offset)
	}
	sysFlag := int32(be.Uint32(b[RecordSysFlagPos:]))
	p := RecordBornHostPos + hostSize(sysFlag, FlagBornHostV6)
	q := p + 8 + hostSize(sysFlag, FlagStoreHostV6)
	if q+16 > len(b) {
		return offset, errRecordEnd
	}
	fixed := b[q : q+16]
	bodyAt := q + 16
	bodyLen := int(int32(be.Uint32(fixed[12:])))
	if bodyLen < 0 || bodyLen > len(b)-bodyAt {
		return offset, fmt.Errorf("body of %d bytes in a record of %d", bodyLen, len(b))
	}
	bodyEnd := bodyAt + bodyLen
	topicAt, topicLen := bodyEnd+1, 0
	if magic == MagicV2 {
		topicAt++
		if topicAt > len(b) {
			return offset, errRecordEnd
		}
		topicLen = int(int16(be.Uint16(b[bodyEnd:])))
	} else {
		if topicAt > len(b) {
			return offset, errRecordEnd
		}
		topicLen = int(int8(b[bodyEnd]))
	}
	if topicLen < 0 || topicLen > len(b)-topicAt-2 {
		return offset, fmt.Errorf("topic of %d bytes in a record of %d", topicLen, len(b))
	}
	topicEnd := topicAt + topicLen
	propLen := int(int16(be.Uint16(b[topicEnd:])))
	propAt := topicEnd + 2
	if propLen < 0 || propLen > len(b)-propAt {
		return offset, fmt.Errorf("properties of %d bytes in a record of %d", propLen, len(b))
	}
	if len(d.slab) == cap(d.slab) {
		d.grow(max(1, len(d.slab)/4)) // inner batches have used up the room
	}
	i := len(d.slab)
	d.slab = d.slab[:i+1]
	m := &d.slab[i]
	m.Body = b[bodyAt:bodyEnd:bodyEnd]
	m.RawProperties = b[propAt : propAt+propLen : propAt+propLen]
	m.Broker = d.Broker
	m.QueueId = d.QueueID
	if d.OwnQueueID {
		m.QueueId = int32(be.Uint32(b[RecordQueueIDPos:]))
	}
	m.QueueOffset = offset
	m.CommitLogOffset = int64(be.Uint64(b[RecordCommitLogOffsetPos:]))
	m.Flag = int32(be.Uint32(b[RecordFlagPos:]))
	m.SysFlag = sysFlag
	m.BornTimestamp = int64(be.Uint64(b[RecordBornTimestampPos:]))
	m.BornHost = b[RecordBornHostPos:p:p]
	m.StoreTimestamp = int64(be.Uint64(b[p:]))
	m.StoreHost = b[p+8 : q : q]
	m.ReconsumeTimes = int32(be.Uint32(fixed))
	m.PreparedTransactionOffset = int64(be.Uint64(fixed[4:]))
	m.BodyCrc = be.Uint32(b[RecordBodyCRCPos:])
	m.Topic = d.topic(b[topicAt:topicEnd], m)
	if d.VerifyCRC && m.BodyCrc != 0 && BodyCRC(m.Body) != m.BodyCrc {
		return offset, fmt.Errorf("body checksum %d, noted %d", BodyCRC(m.Body), m.BodyCrc)
	}
	if sysFlag&(FlagCompressed|FlagInnerBatch) != 0 && !d.KeepCompressed {
		return offset, d.unpack(i)
	}
	return offset, nil
}

var errRecordEnd = errors.New("record ends within a field")

// topic gives the message's topic, sharing strings where it can.
func (d *slabDecoder) topic(b []byte, m *messages.Message) string {
	if string(b) != d.Topic {
		return d.share(b)
	}
	if d.retry {
		if t := m.RetryTopicBytes(); len(t) > 0 {
			return d.share(t)
		}
	}
	return d.Topic
}

func (d *slabDecoder) share(b []byte) string {
	if string(b) != d.original {
		d.original = string(b)
	}
	return d.original
}

// unpack decompresses the body of message i and takes an inner batch apart.
func (d *slabDecoder) unpack(i int) error {
	m := &d.slab[i]
	if m.SysFlag&FlagCompressed != 0 && len(m.Body) > 0 {
		if d.inflate == nil {
			limit := d.MaxBody
			if limit <= 0 || limit > math.MaxInt32 {
				limit = DefaultMaxBody
			}
			d.inflate = &inflater{limit: limit}
		}
		body, err := d.inflate.inflate(CompressionOf(m.SysFlag), m.Body)
		if err != nil {
			return err
		}
		m.Body = body
	}
	m.SysFlag &^= FlagCompressed
	if m.SysFlag&FlagInnerBatch == 0 {
		return nil
	}
	m.SysFlag &^= FlagInnerBatch | FlagNeedUnwrap
	return d.unwrap(i)
}

// unwrap replaces message i, the last one, by the messages of its inner batch: they count their queue offsets from the
// wrapper's and inherit all but body, flag and properties.
func (d *slabDecoder) unwrap(i int) error {
	list := d.slab[i].Body
	n, err := CountBatch(list)
	if err != nil {
		return fmt.Errorf("inner batch: %w", err)
	}
	if n == 0 {
		d.slab = d.slab[:i]
		return nil
	}
	d.grow(n - 1)
	d.slab = d.slab[:i+n]
	w := &d.slab[i]
	k := 0
	for part := range Batch(list) {
		m := &d.slab[i+k]
		if k > 0 {
			m.Topic, m.Broker, m.QueueId = w.Topic, w.Broker, w.QueueId
			m.QueueOffset, m.CommitLogOffset = w.QueueOffset+int64(k), w.CommitLogOffset
			m.SysFlag, m.BornTimestamp, m.StoreTimestamp = w.SysFlag, w.BornTimestamp, w.StoreTimestamp
			m.BornHost, m.StoreHost, m.ReconsumeTimes = w.BornHost, w.StoreHost, w.ReconsumeTimes
			m.PreparedTransactionOffset = w.PreparedTransactionOffset
		}
		m.Flag, m.Body, m.RawProperties, m.BodyCrc = part.Flag, part.Body, part.Properties, 0
		k++
	}
	return nil
}
