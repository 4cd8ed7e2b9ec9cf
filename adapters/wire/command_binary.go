package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// binaryFixed is the size of a binary header without remark and ext fields.
const binaryFixed = 21

// decodeBinary reads a ROCKETMQ header (RocketMQSerializable).
func (c *Command) decodeBinary(h []byte) error {
	if len(h) < binaryFixed {
		return fmt.Errorf("binary header of %d bytes", len(h))
	}
	c.Code = int32(int16(binary.BigEndian.Uint16(h)))
	c.Language = Language(h[2])
	c.Version = int32(int16(binary.BigEndian.Uint16(h[3:])))
	c.Opaque = int32(binary.BigEndian.Uint32(h[5:]))
	c.Flag = int32(binary.BigEndian.Uint32(h[9:]))
	n := int64(binary.BigEndian.Uint32(h[13:]))
	rest := h[17:]
	if n > int64(len(rest)-4) {
		return fmt.Errorf("binary header: remark of %d bytes exceeds the header", n)
	}
	c.Remark = internRemark(jsonText{b: rest[:n]})
	rest = rest[n:]
	n = int64(binary.BigEndian.Uint32(rest))
	rest = rest[4:]
	if n > int64(len(rest)) {
		return fmt.Errorf("binary header: ext fields of %d bytes exceed the header", n)
	}
	if n == 0 {
		return nil
	}
	c.Ext = Ext{raw: rest[:n:n], binary: true}
	s := c.Ext.scan()
	fields := 0
	for s.next() {
		fields++
	}
	if fields > maxExtFields {
		return errExtFields
	}
	if int64(s.r.i) != n {
		return fmt.Errorf("binary header: malformed ext field at %d", s.r.i)
	}
	return nil
}

// appendBinary writes a ROCKETMQ header. Codes beyond 16 bits and ext keys beyond 65535 bytes cannot be written.
func (c *Command) appendBinary(dst []byte) ([]byte, error) {
	if c.Code < math.MinInt16 || c.Code > math.MaxInt16 {
		return dst, fmt.Errorf("code %d does not fit into a binary header", c.Code)
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Code))
	dst = append(dst, byte(c.Language))
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Opaque))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Flag))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(c.Remark)))
	dst = append(dst, c.Remark...)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst, err := c.Ext.appendBinary(dst)
	if err != nil {
		return dst, err
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst, nil
}

func (e *Ext) appendBinary(dst []byte) ([]byte, error) {
	if e.raw != nil && e.binary {
		return append(dst, e.raw...), nil
	}
	for k, v := range e.rawFields() {
		if len(k) > math.MaxInt16 {
			return dst, fmt.Errorf("ext key of %d bytes", len(k))
		}
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(k)))
		dst = append(dst, k...)
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		if v.numeric {
			dst = strconv.AppendInt(dst, v.number, 10)
		} else {
			dst = append(dst, v.text...)
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}

// rawFields gives the fields without turning numbers into text.
func (e *Ext) rawFields() func(yield func(string, *extField) bool) {
	return func(yield func(string, *extField) bool) {
		if e.raw != nil {
			for k, v := range e.All() {
				if !yield(k, &extField{text: v}) {
					return
				}
			}
			return
		}
		for i := range e.fields {
			if !yield(e.fields[i].key, &e.fields[i]) {
				return
			}
		}
	}
}
