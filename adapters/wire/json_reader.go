package wire

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep JSON from the network may nest.
const maxDepth = 64

var (
	errJSONEnd   = errors.New("json: unexpected end")
	errJSONDepth = errors.New("json: nested too deep")
)

// jsonReader walks JSON as RocketMQ's Java side writes it: besides standard JSON, object keys may be raw numbers, raw words or
// whole objects ({{"queueId":0}:5}), and strings may use single quotes. It allocates nothing; the first error sticks.
type jsonReader struct {
	b     []byte
	i     int
	depth int
	err   error
}

// jsonText is a scalar or key as it stands in the input: for a string what is between the quotes.
type jsonText struct {
	b       []byte
	escaped bool // contains a backslash
	quoted  bool
}

// null tells whether the value is the word null.
func (t jsonText) null() bool { return !t.quoted && string(t.b) == "null" }

// String resolves escapes.
func (t jsonText) String() string {
	if t.escaped {
		return string(unescape(t.b))
	}
	return string(t.b)
}

// is compares with a name, without allocating when there are no escapes.
func (t jsonText) is(name string) bool {
	if t.escaped {
		return string(unescape(t.b)) == name
	}
	return string(t.b) == name
}

func (r *jsonReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *jsonReader) unexpected(want string) {
	if r.i >= len(r.b) {
		r.fail(errJSONEnd)
		return
	}
	r.fail(fmt.Errorf("json: unexpected %q at %d, want %s", r.b[r.i], r.i, want))
}

// peek skips white space and shows the next byte; 0 at the end or after an error.
func (r *jsonReader) peek() byte {
	if r.err != nil {
		return 0
	}
	for r.i < len(r.b) {
		switch c := r.b[r.i]; c {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return c
		}
	}
	return 0
}

// end demands that only white space is left.
func (r *jsonReader) end() {
	if r.peek() != 0 || r.err == nil && r.i < len(r.b) {
		r.unexpected("end")
	}
}

// quotedText reads a string in double or single quotes.
func (r *jsonReader) quotedText() jsonText {
	q := r.b[r.i]
	r.i++
	start, escaped := r.i, false
	for r.i < len(r.b) {
		switch c := r.b[r.i]; c {
		case q:
			t := jsonText{b: r.b[start:r.i:r.i], escaped: escaped, quoted: true}
			r.i++
			return t
		case '\\':
			escaped = true
			r.i++
		}
		r.i++
	}
	r.i = len(r.b)
	r.fail(errJSONEnd)
	return jsonText{}
}

// bareText reads a number or a word.
func (r *jsonReader) bareText() jsonText {
	start := r.i
	for r.i < len(r.b) && isBare(r.b[r.i]) {
		r.i++
	}
	if r.i == start {
		r.unexpected("a value")
	}
	return jsonText{b: r.b[start:r.i:r.i]}
}

func isBare(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		c == '-' || c == '+' || c == '.' || c == '_' || c == '$' || c == '%' || c >= utf8.RuneSelf
}

// value reads any value: scalars as their text, objects and arrays as their raw text.
func (r *jsonReader) value() jsonText {
	switch r.peek() {
	case '"', '\'':
		return r.quotedText()
	case '{':
		start := r.i
		r.object(func(jsonText) { r.value() })
		return jsonText{b: r.b[start:r.i:r.i]}
	case '[':
		start := r.i
		r.array(func() { r.value() })
		return jsonText{b: r.b[start:r.i:r.i]}
	}
	if r.err != nil {
		return jsonText{}
	}
	return r.bareText()
}

// object reads an object and calls field after each key; field must read the value. A null counts as an empty object.
func (r *jsonReader) object(field func(key jsonText)) {
	if !r.open('{', "an object") {
		return
	}
	defer func() { r.depth-- }()
	for {
		switch r.peek() {
		case 0:
			r.fail(errJSONEnd)
			return
		case '}':
			r.i++
			return
		case ',':
			r.i++
			continue
		}
		key := r.value()
		if r.peek() != ':' {
			r.unexpected("a colon")
			return
		}
		r.i++
		field(key)
		if c := r.peek(); c != ',' && c != '}' {
			r.unexpected("a comma")
			return
		}
	}
}

// array reads an array and calls item before each element; item must read it. A null counts as an empty array.
func (r *jsonReader) array(item func()) {
	if !r.open('[', "an array") {
		return
	}
	defer func() { r.depth-- }()
	for {
		switch r.peek() {
		case 0:
			r.fail(errJSONEnd)
			return
		case ']':
			r.i++
			return
		case ',':
			r.i++
			continue
		}
		item()
		if c := r.peek(); c != ',' && c != ']' {
			r.unexpected("a comma")
			return
		}
	}
}

// open steps into an object or array; false for null and for errors.
func (r *jsonReader) open(brace byte, want string) bool {
	c := r.peek()
	if c == 'n' {
		if t := r.bareText(); !t.null() {
			r.fail(fmt.Errorf("json: unexpected %q, want %s", t.b, want))
		}
		return false
	}
	if c != brace {
		r.unexpected(want)
		return false
	}
	if r.depth >= maxDepth {
		r.fail(errJSONDepth)
		return false
	}
	r.depth++
	r.i++
	return true
}

// unescape resolves the escapes of JSON and those Java's encoder adds (\xHH, \v, octal digits, \').
func unescape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] != '\\' || i+1 >= len(b) {
			out = append(out, b[i])
			i++
			continue
		}
		c := b[i+1]
		i += 2
		switch c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f', 'F':
			out = append(out, '\f')
		case 'v':
			out = append(out, '\v')
		case '0', '1', '2', '3', '4', '5', '6', '7':
			out = append(out, c-'0')
		case 'x':
			if v, ok := hexDigits(b, i, 2); ok {
				out = utf8.AppendRune(out, v)
				i += 2
			} else {
				out = append(out, 'x')
			}
		case 'u':
			v, ok := hexDigits(b, i, 4)
			if !ok {
				out = append(out, 'u')
				continue
			}
			i += 4
			if utf16.IsSurrogate(v) && i+1 < len(b) && b[i] == '\\' && b[i+1] == 'u' {
				if low, ok := hexDigits(b, i+2, 4); ok {
					if p := utf16.DecodeRune(v, low); p != utf8.RuneError {
						v = p
						i += 6
					}
				}
			}
			out = utf8.AppendRune(out, v)
		default:
			out = append(out, c)
		}
	}
	return out
}

func hexDigits(b []byte, i, n int) (rune, bool) {
	if i+n > len(b) {
		return 0, false
	}
	var v rune
	for _, c := range b[i : i+n] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
