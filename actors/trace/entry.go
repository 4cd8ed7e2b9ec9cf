package trace

import "strings"

// Limits of one trace message: Java's of the body, and what leaves room for the other properties beside KEYS, which may have
// 32,767 bytes together (protocol.md 4.3, 5.15).
const (
	MaxBody = 128_000
	MaxKeys = 30_000
)

// Entry is what one call adds to the queue before or after it: whole records, and by what they can be found.
type Entry struct {
	Text []byte
	// Keys are message ids and keys.
	Keys     []string
	keyBytes int
}

// Before makes the entries of a call that begins: one, unless the limits of a trace message ask for more.
func (c *Call) Before(subjects []Subject) []Entry {
	return entries(subjects, func(text []byte, s *Subject) []byte { return c.appendBefore(text, s) })
}

// After makes the entries of a call that ended.
func (c *Call) After(subjects []Subject, o Outcome) []Entry {
	return entries(subjects, func(text []byte, s *Subject) []byte { return c.appendAfter(text, s, o) })
}

func entries(subjects []Subject, record func([]byte, *Subject) []byte) (out []Entry) {
	var e Entry
	for i := range subjects {
		end := len(e.Text)
		text := record(e.Text, &subjects[i])
		keys, size := subjects[i].index()
		if end > 0 && (len(text) > MaxBody || e.keyBytes+size > MaxKeys) {
			e.Text = text[:end:end]
			out = append(out, e)
			e, text = Entry{}, append([]byte(nil), text[end:]...)
		}
		e.Text, e.Keys, e.keyBytes = text, append(e.Keys, keys...), e.keyBytes+size
	}
	if len(e.Text) > 0 {
		out = append(out, e)
	}
	return out
}

// index gives what a message is found by; keys that no property could hold beside the id are left out.
func (s *Subject) index() (keys []string, size int) {
	keys, size = append(keys, s.ID), len(s.ID)+1
	if size+len(s.Keys) < MaxKeys {
		for key := range strings.FieldsFuncSeq(s.Keys, func(r rune) bool { return r == ' ' }) {
			keys, size = append(keys, key), size+len(key)+1
		}
	}
	return keys, size
}

// Size is how many bytes the entry holds, roughly.
func (e *Entry) Size() int { return len(e.Text) + e.keyBytes }
