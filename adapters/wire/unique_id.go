package wire

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
)

// UniqueIDs makes the ids that producers give their messages (property UNIQ_KEY): address, process, instance, milliseconds
// since the first of the month in local time, counter; upper case hexadecimal of 32 characters, 56 for an IPv6 address
// (MessageClientIDSetter). It is safe for concurrent use; two instances of one process must differ in instance.
type UniqueIDs struct {
	prefix  []byte
	now     func() time.Time
	counter atomic.Uint32
}

// NewUniqueIDs gives a maker of ids. Of pid the low 16 bits count; instance takes the place of Java's class-loader hash. A nil
// now is time.Now.
func NewUniqueIDs(ip netip.Addr, pid int, instance uint32, now func() time.Time) *UniqueIDs {
	if now == nil {
		now = time.Now
	}
	prefix := ip.Unmap().AsSlice()
	if len(prefix) == 0 {
		prefix = make([]byte, 4)
	}
	prefix = binary.BigEndian.AppendUint16(prefix, uint16(pid))
	return &UniqueIDs{prefix: binary.BigEndian.AppendUint32(prefix, instance), now: now}
}

// Next gives an id that this maker has not given within the last 65536 of the same millisecond.
func (u *UniqueIDs) Next() string {
	now := u.now()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location())
	var raw [28]byte
	b := append(raw[:0], u.prefix...)
	b = binary.BigEndian.AppendUint32(b, uint32(now.Sub(first).Milliseconds()))
	b = binary.BigEndian.AppendUint16(b, uint16(u.counter.Add(1)))
	return strings.ToUpper(hex.EncodeToString(b))
}
