package messages

import (
	"bytes"
	"encoding/binary"
	"iter"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const (
	nameEnd  = '\x01' // ends a property's name
	valueEnd = '\x02' // ends a property's value
)

// Property gives a property's value; empty if the message has none of that name. It scans the property text and allocates
// only the result.
func (m *Message) Property(name string) string {
	return string(findProperty(m.GetRawProperties(), name))
}

// findProperty gives the bytes of a value, of the last entry if a name is repeated, as a Java map would keep it.
func findProperty(text []byte, name string) []byte {
	var found []byte
	for len(text) > 0 {
		var entry []byte
		entry, text = cutEntry(text)
		if len(entry) > len(name)+1 && entry[len(name)] == nameEnd && string(entry[:len(name)]) == name &&
			len(name) > 0 && strings.IndexByte(name, nameEnd) < 0 {
			found = entry[len(name)+1:]
		}
	}
	return found
}

func cutEntry(text []byte) (entry, rest []byte) {
	if i := bytes.IndexByte(text, valueEnd); i >= 0 {
		return text[:i], text[i+1:]
	}
	return text, nil
}

// Properties gives all properties in the order they stand. Entries without name or value are left out, as Java leaves them
// out; if a name is repeated all its entries come and the last one counts, so that maps.Collect gives what Java sees.
func (m *Message) Properties() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for text := m.GetRawProperties(); len(text) > 0; {
			var entry []byte
			entry, text = cutEntry(text)
			if i := bytes.IndexByte(entry, nameEnd); i > 0 && i < len(entry)-1 {
				if !yield(string(entry[:i]), string(entry[i+1:])) {
					return
				}
			}
		}
	}
}

// Tag gives the message's tag; empty if it has none.
func (m *Message) Tag() string { return m.Property(PropertyTags) }

// Keys gives the message's keys; empty if it has none.
func (m *Message) Keys() []string {
	return strings.FieldsFunc(m.Property(PropertyKeys), func(r rune) bool { return r == ' ' })
}

// RetryTopic gives the original topic that a message in a retry or dead-letter topic carries; empty for all others.
func (m *Message) RetryTopic() string { return m.Property(PropertyRetryTopic) }

// RetryTopicBytes is RetryTopic as a sub-slice of the properties, for decoders.
func (m *Message) RetryTopicBytes() []byte {
	return findProperty(m.GetRawProperties(), PropertyRetryTopic)
}

// DelayLevel gives the delay level the message was sent with; 0 if none. It stays on the delivered message.
func (m *Message) DelayLevel() int {
	n, err := strconv.Atoi(m.Property(PropertyDelay))
	if err != nil {
		return 0
	}
	return n
}

// MessageID gives the producer's unique id, which stays the same over retries, or the offset id if the producer gave none.
func (m *Message) MessageID() string {
	if id := findProperty(m.GetRawProperties(), PropertyUniqueKey); len(id) > 0 {
		return string(id)
	}
	return m.OffsetID()
}

const upperHex = "0123456789ABCDEF"

// OffsetID gives the id that tells where the message is stored: address of the broker and commit-log offset in upper case
// hexadecimal, 32 characters (56 for IPv6). It is empty for a message that was not received.
func (m *Message) OffsetID() string {
	host := m.GetStoreHost()
	if len(host) != 8 && len(host) != 20 {
		return ""
	}
	var raw [28]byte
	n := copy(raw[:], host)
	binary.BigEndian.PutUint64(raw[n:], uint64(m.GetCommitLogOffset()))
	var text [56]byte
	for i, c := range raw[:n+8] {
		text[2*i], text[2*i+1] = upperHex[c>>4], upperHex[c&15]
	}
	return string(text[:2*(n+8)])
}

// BornAddr gives the producer's address as the broker saw it; the zero AddrPort if unknown.
func (m *Message) BornAddr() netip.AddrPort { return hostAddr(m.GetBornHost()) }

// StoreAddr gives the address of the broker that stored the message; the zero AddrPort if unknown.
func (m *Message) StoreAddr() netip.AddrPort { return hostAddr(m.GetStoreHost()) }

func hostAddr(b []byte) netip.AddrPort {
	if len(b) != 8 && len(b) != 20 {
		return netip.AddrPort{}
	}
	ip, _ := netip.AddrFromSlice(b[:len(b)-4]) // 4 or 16 bytes always are an address
	return netip.AddrPortFrom(ip, uint16(binary.BigEndian.Uint32(b[len(b)-4:])))
}

// HostBytes gives an address in the form of the fields born_host and store_host.
func HostBytes(a netip.AddrPort) []byte {
	ip := a.Addr().Unmap().AsSlice()
	return binary.BigEndian.AppendUint32(ip, uint32(a.Port()))
}

// BornTime gives the producer's time of sending; the zero time if unknown.
func (m *Message) BornTime() time.Time { return milliTime(m.GetBornTimestamp()) }

// StoreTime gives the broker's time of storing; the zero time if unknown.
func (m *Message) StoreTime() time.Time { return milliTime(m.GetStoreTimestamp()) }

func milliTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Clone gives a deep copy, which stays valid however the original's memory is used again.
func (m *Message) Clone() *Message {
	if m == nil {
		return nil
	}
	return &Message{
		Topic:                     strings.Clone(m.Topic),
		Body:                      bytes.Clone(m.Body),
		RawProperties:             bytes.Clone(m.RawProperties),
		Broker:                    m.Broker,
		QueueId:                   m.QueueId,
		QueueOffset:               m.QueueOffset,
		CommitLogOffset:           m.CommitLogOffset,
		Flag:                      m.Flag,
		SysFlag:                   m.SysFlag,
		BornTimestamp:             m.BornTimestamp,
		StoreTimestamp:            m.StoreTimestamp,
		BornHost:                  bytes.Clone(m.BornHost),
		StoreHost:                 bytes.Clone(m.StoreHost),
		ReconsumeTimes:            m.ReconsumeTimes,
		PreparedTransactionOffset: m.PreparedTransactionOffset,
		BodyCrc:                   m.BodyCrc,
	}
}
