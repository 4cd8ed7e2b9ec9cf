package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/troupe-mq/troupe/messages"
)

// Magic numbers of stored records.
const (
	// MagicV1 marks a record whose topic length has one byte.
	MagicV1 uint32 = 0xDAA320A7
	// MagicV2 marks a record whose topic length has two bytes, used only for topics longer than 127 bytes.
	MagicV2 uint32 = 0xDAA320AB
	// MagicBlank marks the filler at the end of a commit-log file.
	MagicBlank uint32 = 0xCBD43194
)

// Bits of a message's sysFlag (MessageSysFlag).
const (
	// FlagCompressed: the body is compressed.
	FlagCompressed int32 = 0x1
	// FlagMultiTags: the tag text holds several tags.
	FlagMultiTags int32 = 0x2
	// FlagTransactionPrepared: a half message.
	FlagTransactionPrepared int32 = 0x4
	// FlagTransactionCommit: the committed copy of a half message.
	FlagTransactionCommit int32 = 0x8
	// FlagTransactionRollback: a rolled back message; also the mask of the transaction bits.
	FlagTransactionRollback int32 = 0xC
	// FlagBornHostV6: the producer's address has 16 bytes.
	FlagBornHostV6 int32 = 0x10
	// FlagStoreHostV6: the broker's address has 16 bytes.
	FlagStoreHostV6 int32 = 0x20
	// FlagNeedUnwrap: the body holds an inner message.
	FlagNeedUnwrap int32 = 0x40
	// FlagInnerBatch: the body is a list of messages.
	FlagInnerBatch int32 = 0x80
	// FlagCompressionMask: the three bits that tell the compression.
	FlagCompressionMask int32 = 0x700
)

// Positions of fields in a stored record, so that a store can patch them in place. All numbers are big-endian. From the store
// timestamp on, positions move by 12 for each address of 16 bytes: see StoreTimestampPos.
const (
	RecordSizePos            = 0
	RecordMagicPos           = 4
	RecordBodyCRCPos         = 8
	RecordQueueIDPos         = 12
	RecordFlagPos            = 16
	RecordQueueOffsetPos     = 20
	RecordCommitLogOffsetPos = 28
	RecordSysFlagPos         = 36
	RecordBornTimestampPos   = 40
	RecordBornHostPos        = 48
)

// minRecord is the size of a record with empty body, topic and properties and addresses of 4 bytes.
const minRecord = 91

// StoreTimestampPos gives the position of the store timestamp in a record with the given sysFlag; the store host follows it.
func StoreTimestampPos(sysFlag int32) int {
	return RecordBornHostPos + hostSize(sysFlag, FlagBornHostV6)
}

func hostSize(sysFlag, bit int32) int {
	if sysFlag&bit != 0 {
		return 20
	}
	return 8
}

// BodyCRC gives the checksum a broker notes of a stored body: CRC-32 (IEEE) with the highest bit cleared.
func BodyCRC(body []byte) uint32 { return crc32.ChecksumIEEE(body) & 0x7FFFFFFF }

// AppendMessage appends a stored record of the message: all numbers as they stand in it, the checksum too, and the body as it
// is, compressed or not, as SysFlag tells. The address bits of SysFlag follow the lengths of the addresses; an empty address
// is written as 0.0.0.0:0. On an error dst is returned as it was.
func AppendMessage(dst []byte, m *messages.Message) ([]byte, error) {
	if n := len(m.Topic); n > math.MaxInt16 {
		return dst, fmt.Errorf("topic of %d bytes", n)
	}
	if n := len(m.RawProperties); n > math.MaxInt16 {
		return dst, fmt.Errorf("properties of %d bytes", n)
	}
	born, err := recordHost(m.BornHost)
	if err != nil {
		return dst, fmt.Errorf("born host: %w", err)
	}
	store, err := recordHost(m.StoreHost)
	if err != nil {
		return dst, fmt.Errorf("store host: %w", err)
	}
	flag := m.SysFlag &^ (FlagBornHostV6 | FlagStoreHostV6)
	if len(born) == 20 {
		flag |= FlagBornHostV6
	}
	if len(store) == 20 {
		flag |= FlagStoreHostV6
	}
	magic := MagicV1
	size := minRecord - 16 + len(born) + len(store) + len(m.Body) + len(m.Topic) + len(m.RawProperties)
	if len(m.Topic) > math.MaxInt8 {
		magic = MagicV2
		size++
	}
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(size))
	dst = be.AppendUint32(dst, magic)
	dst = be.AppendUint32(dst, m.BodyCrc)
	dst = be.AppendUint32(dst, uint32(m.QueueId))
	dst = be.AppendUint32(dst, uint32(m.Flag))
	dst = be.AppendUint64(dst, uint64(m.QueueOffset))
	dst = be.AppendUint64(dst, uint64(m.CommitLogOffset))
	dst = be.AppendUint32(dst, uint32(flag))
	dst = be.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = append(dst, born...)
	dst = be.AppendUint64(dst, uint64(m.StoreTimestamp))
	dst = append(dst, store...)
	dst = be.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(m.PreparedTransactionOffset))
	dst = be.AppendUint32(dst, uint32(len(m.Body)))
	dst = append(dst, m.Body...)
	if magic == MagicV2 {
		dst = be.AppendUint16(dst, uint16(len(m.Topic)))
	} else {
		dst = append(dst, byte(len(m.Topic)))
	}
	dst = append(dst, m.Topic...)
	dst = be.AppendUint16(dst, uint16(len(m.RawProperties)))
	return append(dst, m.RawProperties...), nil
}

var noHost [8]byte

func recordHost(host []byte) ([]byte, error) {
	switch len(host) {
	case 0:
		return noHost[:], nil
	case 8, 20:
		return host, nil
	}
	return nil, fmt.Errorf("address of %d bytes", len(host))
}

// CountRecords counts the records in the body of a pull's answer by walking over their sizes, up to the first size that
// cannot be right.
func CountRecords(records []byte) int {
	n := 0
	for len(records) >= minRecord {
		size := int64(binary.BigEndian.Uint32(records))
		if size < minRecord || size > int64(len(records)) {
			break
		}
		records = records[size:]
		n++
	}
	return n
}
