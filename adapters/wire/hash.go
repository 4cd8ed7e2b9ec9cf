package wire

import "unicode/utf8"

// HashCode is Java's String.hashCode: h = 31·h + c over the UTF-16 code units, wrapping at 32 bits.
func HashCode(s string) int32 {
	var h uint32
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			h = 31*h + uint32(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + uint32(0xD800+r>>10)
			r = 0xDC00 + r&0x3FF
		}
		h = 31*h + uint32(r)
	}
	return int32(h)
}

// TagCode is what a consume queue notes of a message's tag: its Java hash code, 0 without a tag.
func TagCode(tag string) int64 { return int64(HashCode(tag)) }
