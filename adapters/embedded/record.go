package embedded

import (
	"encoding/binary"
	"errors"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// errRecord says that bytes are not one stored record.
var errRecord = errors.New("not a stored record")

// decodeRecord reads a stored record as it stands: a compressed body stays compressed. What it gives shares nothing with
// the record that the broker could change. Source: protocol.md 4.1.
func decodeRecord(rec []byte) (*messages.Message, error) {
	r := cursor{b: rec}
	if int(r.uint32()) != len(rec) {
		return nil, errRecord
	}
	magic := r.uint32()
	m := &messages.Message{}
	m.BodyCrc = r.uint32()
	m.QueueId = int32(r.uint32())
	m.Flag = int32(r.uint32())
	m.QueueOffset = int64(r.uint64())
	m.CommitLogOffset = int64(r.uint64())
	m.SysFlag = int32(r.uint32())
	m.BornTimestamp = int64(r.uint64())
	m.BornHost = r.bytes(hostLength(m.SysFlag, wire.FlagBornHostV6))
	m.StoreTimestamp = int64(r.uint64())
	m.StoreHost = r.bytes(hostLength(m.SysFlag, wire.FlagStoreHostV6))
	m.ReconsumeTimes = int32(r.uint32())
	m.PreparedTransactionOffset = int64(r.uint64())
	m.Body = r.bytes(int(int32(r.uint32())))
	switch magic {
	case wire.MagicV1:
		m.Topic = string(r.bytes(int(int8(r.uint8()))))
	case wire.MagicV2:
		m.Topic = string(r.bytes(int(int16(r.uint16()))))
	default:
		return nil, errRecord
	}
	m.RawProperties = r.bytes(int(int16(r.uint16())))
	if r.failed || len(r.b) != 0 {
		return nil, errRecord
	}
	return m, nil
}

func hostLength(sysFlag, v6 int32) int {
	if sysFlag&v6 != 0 {
		return 20
	}
	return 8
}

// cursor reads big-endian fields; what it gives has no spare capacity.
type cursor struct {
	b      []byte
	failed bool
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.failed = true
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) uint8() uint8 {
	if v := c.bytes(1); v != nil {
		return v[0]
	}
	return 0
}

func (c *cursor) uint16() uint16 {
	if v := c.bytes(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if v := c.bytes(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (c *cursor) uint64() uint64 {
	if v := c.bytes(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}
