package remoting

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/troupe-mq/troupe/adapters/wire"
)

const (
	// readBuffer is how much one read system call may bring.
	readBuffer = 64 << 10
	// smallFrame is the largest frame that is cut out of the read buffer, which spares clearing its memory first.
	smallFrame = readBuffer / 2
	// trustedFrame is the largest frame for which memory is taken before its bytes are there.
	trustedFrame = 256 << 10
)

// frameReader cuts a stream into frames, each in memory of its own.
type frameReader struct {
	r      *bufio.Reader
	length [4]byte
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, readBuffer)}
}

// next gives the next frame without its length. A stream that ends between frames gives io.EOF.
func (f *frameReader) next() ([]byte, error) {
	if _, err := io.ReadFull(f.r, f.length[:]); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(f.length[:])))
	if n < 4 || n > wire.MaxFrame-4 {
		return nil, &undecodableError{fmt.Errorf("length %d is outside 4 … %d", n, wire.MaxFrame-4)}
	}
	if n <= smallFrame {
		return f.cut(n)
	}
	frame := make([]byte, min(n, trustedFrame))
	if err := f.fill(frame); err != nil {
		return nil, err
	}
	for have := len(frame); have < n; have = len(frame) {
		more := make([]byte, min(n, 2*have))
		copy(more, frame)
		if err := f.fill(more[have:]); err != nil {
			return nil, err
		}
		frame = more
	}
	return frame, nil
}

// cut copies a frame out of the read buffer once it is there as a whole.
func (f *frameReader) cut(n int) ([]byte, error) {
	b, err := f.r.Peek(n)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	frame := append([]byte(nil), b...)
	_, err = f.r.Discard(n)
	return frame[:n:n], err
}

func (f *frameReader) fill(b []byte) error {
	_, err := io.ReadFull(f.r, b)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
