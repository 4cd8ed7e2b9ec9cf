package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression is how a body is compressed: bits 8 to 10 of sysFlag.
type Compression uint8

const (
	// LegacyZlib is what brokers and clients before 5.0 write: a zlib stream.
	LegacyZlib Compression = 0
	// LZ4 is the LZ4 frame format.
	LZ4 Compression = 1
	// Zstd is a zstd frame.
	Zstd Compression = 2
	// Zlib is a zlib stream.
	Zlib Compression = 3
)

// CompressionOf reads the compression out of a sysFlag; it says nothing if FlagCompressed is not set.
func CompressionOf(sysFlag int32) Compression { return Compression(sysFlag & FlagCompressionMask >> 8) }

// SysFlag gives the bits that mark a body of this compression.
func (c Compression) SysFlag() int32 { return FlagCompressed | int32(c)<<8 }

// ErrBodyTooLarge says that a body would exceed its limit when decompressed.
var ErrBodyTooLarge = errors.New("decompressed body exceeds the limit")

// Compress packs a body for storing.
func Compress(c Compression, body []byte) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch c {
	case LegacyZlib, Zlib:
		w, err = zlib.NewWriterLevel(&out, 5) // the level of Apache's producer
	case LZ4:
		w = lz4.NewWriter(&out)
	case Zstd:
		w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	default:
		err = fmt.Errorf("unknown compression %d", c)
	}
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Decompress unpacks a stored body that must not exceed limit bytes.
func Decompress(c Compression, body []byte, limit int) ([]byte, error) {
	f := inflater{limit: limit}
	defer f.close()
	return f.inflate(c, body)
}

// inflater unpacks the bodies of one pull.
type inflater struct {
	limit int
	src   bytes.Reader
	zstd  *zstd.Decoder // owns channels, thus is not kept beyond the pull: it might cross a virtual-time bubble
}

// zstdWindow is the largest window that zstd's levels use without being told to; a small body may come with it too.
const zstdWindow = 8 << 20

var (
	zlibReaders sync.Pool // of io.ReadCloser that are zlib.Resetter
	lz4Readers  = sync.Pool{New: func() any { return lz4.NewReader(nil) }}
)

func (f *inflater) close() {
	if f.zstd != nil {
		f.zstd.Close()
	}
}

func (f *inflater) inflate(c Compression, body []byte) ([]byte, error) {
	f.src.Reset(body)
	out, err := f.read(c, len(body))
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = ErrBodyTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("decompress %d bytes (%d): %w", len(body), c, err)
	}
	return out, nil
}

func (f *inflater) read(c Compression, size int) ([]byte, error) {
	switch c {
	case LegacyZlib, Zlib:
		r, ok := zlibReaders.Get().(io.ReadCloser)
		var err error
		if ok {
			err = r.(zlib.Resetter).Reset(&f.src, nil)
		} else {
			r, err = zlib.NewReader(&f.src)
		}
		if err != nil {
			return nil, err
		}
		defer zlibReaders.Put(r)
		return readBounded(r, size, f.limit)
	case LZ4:
		r := lz4Readers.Get().(*lz4.Reader)
		defer lz4Readers.Put(r)
		r.Reset(&f.src)
		return readBounded(r, size, f.limit)
	case Zstd:
		if f.zstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(uint64(max(f.limit, zstdWindow))))
			if err != nil {
				return nil, err
			}
			f.zstd = d
		}
		if err := f.zstd.Reset(&f.src); err != nil {
			return nil, err
		}
		return readBounded(f.zstd, size, f.limit)
	}
	return nil, fmt.Errorf("unknown compression %d", c)
}

// readBounded reads to the end, but fails beyond limit bytes.
func readBounded(r io.Reader, size, limit int) ([]byte, error) {
	out := make([]byte, 0, min(4*size+64, limit+1))
	for {
		if len(out) == cap(out) {
			if len(out) > limit {
				return nil, ErrBodyTooLarge
			}
			grown := make([]byte, len(out), min(2*cap(out)+64, limit+1))
			copy(grown, out)
			out = grown
		}
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		if err == io.EOF {
			if len(out) > limit {
				return nil, ErrBodyTooLarge
			}
			return out[:len(out):len(out)], nil
		}
		if err != nil {
			return nil, err
		}
	}
}
