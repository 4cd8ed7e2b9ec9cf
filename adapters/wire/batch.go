package wire

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"github.com/troupe-mq/troupe/messages"
)

// batchFixed is the size of a batch part with empty body and properties.
const batchFixed = 22

// BatchPart is one message of a send batch or an inner batch.
type BatchPart struct {
	Flag             int32
	Body, Properties []byte
}

// AppendBatch appends one message to the body of SEND_BATCH_MESSAGE (320).
func AppendBatch(dst []byte, p BatchPart) ([]byte, error) {
	if n := len(p.Properties); n > math.MaxInt16 {
		return dst, fmt.Errorf("properties of %d bytes", n)
	}
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(batchFixed+len(p.Body)+len(p.Properties)))
	dst = be.AppendUint64(dst, 0) // magic and checksum, which nobody reads
	dst = be.AppendUint32(dst, uint32(p.Flag))
	dst = be.AppendUint32(dst, uint32(len(p.Body)))
	dst = append(dst, p.Body...)
	dst = be.AppendUint16(dst, uint16(len(p.Properties)))
	return append(dst, p.Properties...), nil
}

// CountBatch counts the messages of a batch and checks that they can be taken apart.
func CountBatch(list []byte) (int, error) {
	n := 0
	for at := 0; at < len(list); n++ {
		_, size, err := cutBatch(list[at:])
		if err != nil {
			return n, fmt.Errorf("batch part at %d: %w", at, err)
		}
		at += size
	}
	return n, nil
}

// Batch gives the messages of a batch, as sub-slices of it, up to the first that cannot be read; see CountBatch.
func Batch(list []byte) iter.Seq[BatchPart] {
	return func(yield func(BatchPart) bool) {
		for len(list) > 0 {
			p, size, err := cutBatch(list)
			if err != nil || !yield(p) {
				return
			}
			list = list[size:]
		}
	}
}

// DecodeBatch takes the body of SEND_BATCH_MESSAGE apart into messages of flag, body and properties.
func DecodeBatch(list []byte) ([]messages.Message, error) {
	n, err := CountBatch(list)
	if err != nil {
		return nil, err
	}
	out := make([]messages.Message, n)
	i := 0
	for p := range Batch(list) {
		out[i].Flag, out[i].Body, out[i].RawProperties = p.Flag, p.Body, p.Properties
		i++
	}
	return out, nil
}

func cutBatch(b []byte) (BatchPart, int, error) {
	be := binary.BigEndian
	if len(b) < batchFixed {
		return BatchPart{}, 0, fmt.Errorf("%d bytes", len(b))
	}
	size := int64(be.Uint32(b))
	if size < batchFixed || size > int64(len(b)) {
		return BatchPart{}, 0, fmt.Errorf("claims %d bytes, %d are left", size, len(b))
	}
	b = b[:size:size]
	body := int64(be.Uint32(b[16:]))
	if body > size-batchFixed {
		return BatchPart{}, 0, fmt.Errorf("body of %d bytes in %d", body, size)
	}
	at := 20 + body
	props := int64(be.Uint16(b[at:]))
	if props > size-at-2 {
		return BatchPart{}, 0, fmt.Errorf("properties of %d bytes in %d", props, size)
	}
	return BatchPart{
		Flag:       int32(be.Uint32(b[12:])),
		Body:       b[20:at:at],
		Properties: b[at+2 : at+2+props : at+2+props],
	}, int(size), nil
}
