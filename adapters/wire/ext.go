package wire

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
)

// maxExtFields bounds the ext fields of a command from the network; real ones have up to twenty.
const maxExtFields = 4096

var errExtFields = fmt.Errorf("more than %d ext fields", maxExtFields)

// Ext is the ext fields of a command: text by name. It is either built with the Set methods or refers to the undecoded bytes of
// a frame, which are then scanned at each read without allocating; the first Set takes them apart. If a frame repeats a name
// the last one counts. The zero Ext is empty. An Ext is not safe for writing while others read.
type Ext struct {
	raw    []byte // the JSON object or the binary entries, checked by DecodeCommand
	binary bool
	fields []extField
}

// extField is one field of an Ext being built; a number stays a number until it is written.
type extField struct {
	key, text string
	number    int64
	numeric   bool
}

func (f *extField) value() string {
	if f.numeric {
		return strconv.FormatInt(f.number, 10)
	}
	return f.text
}

// FieldError says that an ext field is missing or malformed.
type FieldError struct {
	Field string
	// Value as it stood in the header; empty if the field is missing.
	Value string
	// Missing tells that there was no such field.
	Missing bool
}

// Error names the field.
func (e *FieldError) Error() string {
	if e.Missing {
		return fmt.Sprintf("field %s is missing", e.Field)
	}
	return fmt.Sprintf("field %s has the malformed value %q", e.Field, e.Value)
}

// Set stores a field, replacing one of the same name.
func (e *Ext) Set(key, value string) { e.put(extField{key: key, text: value}) }

// SetInt stores a decimal number.
func (e *Ext) SetInt(key string, v int64) { e.put(extField{key: key, number: v, numeric: true}) }

// SetBool stores "true" or "false".
func (e *Ext) SetBool(key string, v bool) { e.Set(key, strconv.FormatBool(v)) }

// Delete removes a field; nothing happens if there is none.
func (e *Ext) Delete(key string) {
	e.takeApart()
	for i := range e.fields {
		if e.fields[i].key == key {
			e.fields = append(e.fields[:i], e.fields[i+1:]...)
			return
		}
	}
}

func (e *Ext) put(f extField) {
	e.takeApart()
	for i := range e.fields {
		if e.fields[i].key == f.key {
			e.fields[i] = f
			return
		}
	}
	if e.fields == nil {
		e.fields = spareFields.Get().(*[fewFields]extField)[:0]
	}
	e.fields = append(e.fields, f)
}

// fewFields is room for the fields of every request on a hot path, signed ones too.
const fewFields = 16

var spareFields = sync.Pool{New: func() any { return new([fewFields]extField) }}

// Release empties an Ext that is not needed any more and lets the memory of its fields be used again. No copy of the Ext may be
// used afterwards.
func (e *Ext) Release() {
	if cap(e.fields) == fewFields {
		fields := (*[fewFields]extField)(e.fields[:fewFields])
		clear(fields[:])
		spareFields.Put(fields)
	}
	*e = Ext{}
}

// takeApart turns raw bytes into fields, so that they can be changed.
func (e *Ext) takeApart() {
	if e.raw == nil {
		return
	}
	old := Ext{raw: e.raw, binary: e.binary}
	*e = Ext{}
	for k, v := range old.All() {
		e.put(extField{key: k, text: v})
	}
}

// Get gives a field's text and whether it is there.
func (e *Ext) Get(key string) (string, bool) {
	if e.raw == nil {
		for i := range e.fields {
			if e.fields[i].key == key {
				return e.fields[i].value(), true
			}
		}
		return "", false
	}
	t, ok := e.find(key)
	return t.String(), ok
}

// Text gives a field's text; empty if it is missing.
func (e *Ext) Text(key string) string {
	v, _ := e.Get(key)
	return v
}

// Int gives a field as a number. The error is a *FieldError that names the missing or malformed field.
func (e *Ext) Int(key string) (int64, error) {
	if e.raw == nil {
		for i := range e.fields {
			if f := &e.fields[i]; f.key == key {
				if f.numeric {
					return f.number, nil
				}
				if v, ok := parseInt([]byte(f.text)); ok {
					return v, nil
				}
				return 0, &FieldError{Field: key, Value: f.text}
			}
		}
		return 0, &FieldError{Field: key, Missing: true}
	}
	t, ok := e.find(key)
	if !ok {
		return 0, &FieldError{Field: key, Missing: true}
	}
	if v, ok := parseInt(t.b); ok {
		return v, nil
	}
	return 0, &FieldError{Field: key, Value: t.String()}
}

// IntOr gives a field as a number, def if it is missing or malformed.
func (e *Ext) IntOr(key string, def int64) int64 {
	if v, err := e.Int(key); err == nil {
		return v
	}
	return def
}

// Bool tells whether a field says "true", in any case, as Java parses it.
func (e *Ext) Bool(key string) bool {
	if e.raw == nil {
		return strings.EqualFold(e.Text(key), "true")
	}
	t, _ := e.find(key)
	return equalFold(t.b, "true")
}

// Has tells whether a field is there.
func (e *Ext) Has(key string) bool {
	if e.raw == nil {
		_, ok := e.Get(key)
		return ok
	}
	_, ok := e.find(key)
	return ok
}

// All gives the fields in the order they stand; a name that a frame repeats comes repeatedly, the last one counting.
func (e *Ext) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if e.raw == nil {
			for i := range e.fields {
				if !yield(e.fields[i].key, e.fields[i].value()) {
					return
				}
			}
			return
		}
		for s := e.scan(); s.next(); {
			if !yield(s.key.String(), s.value.String()) {
				return
			}
		}
	}
}

// Len counts the fields.
func (e *Ext) Len() int {
	if e.raw == nil {
		return len(e.fields)
	}
	n := 0
	for s := e.scan(); s.next(); {
		n++
	}
	return n
}

// find looks a field up in the raw bytes.
func (e *Ext) find(key string) (found jsonText, ok bool) {
	for s := e.scan(); s.next(); {
		if s.key.is(key) {
			found, ok = s.value, true
		}
	}
	return found, ok
}

// extScan walks the raw bytes of an Ext field by field.
type extScan struct {
	r          jsonReader
	binary     bool
	key, value jsonText
}

func (e *Ext) scan() extScan {
	s := extScan{r: jsonReader{b: e.raw}, binary: e.binary}
	if !s.binary {
		s.r.i = 1 // behind the brace, whose presence DecodeCommand has checked
	}
	return s
}

// next steps to the next field that is not null.
func (s *extScan) next() bool {
	if s.binary {
		return s.nextBinary()
	}
	for {
		switch s.r.peek() {
		case 0, '}':
			return false
		case ',':
			s.r.i++
			continue
		}
		s.key = s.r.value()
		if s.r.peek() != ':' {
			return false
		}
		s.r.i++
		s.value = s.r.value()
		if s.r.err != nil {
			return false
		}
		if !s.value.null() {
			return true
		}
	}
}

func (s *extScan) nextBinary() bool {
	b := s.r.b[s.r.i:]
	if len(b) < 2 {
		return false
	}
	k := int(binary.BigEndian.Uint16(b))
	if len(b) < 6+k {
		return false
	}
	v := int(binary.BigEndian.Uint32(b[2+k:]))
	if v < 0 || v > len(b)-6-k {
		return false
	}
	s.key = jsonText{b: b[2 : 2+k], quoted: true}
	s.value = jsonText{b: b[6+k : 6+k+v], quoted: true}
	s.r.i += 6 + k + v
	return true
}

// parseInt reads a decimal number as Java's Long.parseLong does.
func parseInt(b []byte) (int64, bool) {
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	if neg {
		return -int64(v), v <= 1<<63
	}
	return int64(v), v < 1<<63
}

func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}
