package wire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// CommitLogOffset reads the place in the commit log from an offset message id: hexadecimal of address, port and offset, 32
// characters, or 56 with an IPv6 address (MessageDecoder.decodeMessageId).
func CommitLogOffset(id string) (int64, error) {
	if len(id) != 32 && len(id) != 56 {
		return 0, fmt.Errorf("message id %q: not an offset id", id)
	}
	raw, err := hex.DecodeString(id[len(id)-16:])
	if err != nil {
		return 0, fmt.Errorf("message id %q: %w", id, err)
	}
	return int64(binary.BigEndian.Uint64(raw)), nil
}
