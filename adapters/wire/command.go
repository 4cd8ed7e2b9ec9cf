package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxFrame is the largest frame, with its 4-byte length, that RocketMQ's decoder takes (com.rocketmq.remoting.frameMaxLength).
const MaxFrame = 16777216

// SerializeType is the encoding of a command's header.
type SerializeType uint8

const (
	// JSON headers are what every peer understands.
	JSON SerializeType = 0
	// ROCKETMQ is the binary header; it carries only 16 bits of the code.
	ROCKETMQ SerializeType = 1
)

const (
	flagResponse int32 = 1
	flagOneWay   int32 = 2
)

// Command is one remoting command, request or response: header decoded, ext fields lazily read, body a sub-slice of the frame.
type Command struct {
	// Code is a RequestCode or a ResponseCode.
	Code     int32
	Language Language
	// Version is an ordinal of MQVersion, see V5_3_3.
	Version int32
	// Opaque matches a response to its request.
	Opaque int32
	// Flag: bit 0 response, bit 1 one-way.
	Flag   int32
	Remark string
	Ext    Ext
	// Body of a decoded command is a sub-slice of the frame, without spare capacity; nil if there is none.
	Body []byte
	// Serialize is the encoding the command came in, or is to be written in.
	Serialize SerializeType
}

// NewRequest gives a request in this library's language and version; remoting fills opaque and flag.
func NewRequest(code RequestCode) *Command {
	return &Command{Code: int32(code), Language: Go, Version: V5_3_3}
}

// NewResponse gives a response in this library's language and version; remoting fills opaque.
func NewResponse(code ResponseCode, remark string) *Command {
	return &Command{Code: int32(code), Language: Go, Version: V5_3_3, Flag: flagResponse, Remark: remark}
}

// IsResponse tells whether flag bit 0 is set.
func (c *Command) IsResponse() bool { return c.Flag&flagResponse != 0 }

// IsOneWay tells whether flag bit 1 is set: nobody waits for an answer.
func (c *Command) IsOneWay() bool { return c.Flag&flagOneWay != 0 }

// MarkResponse sets flag bit 0.
func (c *Command) MarkResponse() { c.Flag |= flagResponse }

// MarkOneWay sets flag bit 1.
func (c *Command) MarkOneWay() { c.Flag |= flagOneWay }

// ErrFrameTooLarge says that a command does not fit into MaxFrame.
var ErrFrameTooLarge = errors.New("frame exceeds 16 MiB")

// DecodeCommand decodes a frame without its 4-byte length into c. The command refers to the frame, which must not change
// afterwards. After an error c is not to be used.
func DecodeCommand(frame []byte, c *Command) error {
	*c = Command{}
	if len(frame) > MaxFrame-4 {
		return ErrFrameTooLarge
	}
	if len(frame) < 4 {
		return fmt.Errorf("frame of %d bytes has no header length", len(frame))
	}
	word := binary.BigEndian.Uint32(frame)
	n := int(word & 0xFFFFFF)
	if n > len(frame)-4 {
		return fmt.Errorf("header of %d bytes in a frame of %d", n, len(frame))
	}
	c.Serialize = SerializeType(word >> 24)
	header := frame[4 : 4+n : 4+n]
	var err error
	switch c.Serialize {
	case JSON:
		err = c.decodeJSON(header)
	case ROCKETMQ:
		err = c.decodeBinary(header)
	default:
		return fmt.Errorf("unknown serialize type %d", c.Serialize)
	}
	if err != nil {
		return err
	}
	if 4+n < len(frame) {
		c.Body = frame[4+n : len(frame) : len(frame)]
	}
	return nil
}

// AppendFrame appends the encoded command with its 4-byte length. On an error dst is returned as it was.
func (c *Command) AppendFrame(dst []byte) ([]byte, error) {
	start := len(dst)
	out := append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	var err error
	switch c.Serialize {
	case JSON:
		out = c.appendJSON(out)
	case ROCKETMQ:
		out, err = c.appendBinary(out)
	default:
		err = fmt.Errorf("unknown serialize type %d", c.Serialize)
	}
	if err != nil {
		return dst, err
	}
	n := len(out) - start - 8
	if n > 0xFFFFFF || n+len(c.Body)+8 > MaxFrame {
		return dst, ErrFrameTooLarge
	}
	binary.BigEndian.PutUint32(out[start:], uint32(4+n+len(c.Body)))
	binary.BigEndian.PutUint32(out[start+4:], uint32(c.Serialize)<<24|uint32(n))
	return append(out, c.Body...), nil
}

// internRemark spares the allocation for the remarks that come with nearly every answer.
func internRemark(t jsonText) string {
	if t.escaped {
		return t.String()
	}
	switch string(t.b) {
	case "FOUND":
		return "FOUND"
	case "OFFSET_OVERFLOW_ONE":
		return "OFFSET_OVERFLOW_ONE"
	case "NO_MATCHED_MESSAGE":
		return "NO_MATCHED_MESSAGE"
	case "not set any response code":
		return "not set any response code"
	}
	return string(t.b)
}
