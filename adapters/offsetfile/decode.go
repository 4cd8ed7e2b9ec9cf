package offsetfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// decode reads what encode or a Java client has written. It takes any white space, any order, unknown fields, and keys that are
// objects or texts of objects. Offsets below 0 stand for "none".
func decode(text []byte) (map[troupe.QueueKey]int64, error) {
	r := &reader{text: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))}
	if r.ended() {
		return nil, errors.New("is empty")
	}
	offsets := make(map[troupe.QueueKey]int64)
	err := r.object(func() error {
		name, err := r.name()
		if err != nil {
			return err
		}
		if name != "offsetTable" {
			return r.skip(0)
		}
		return r.table(offsets)
	})
	if err == nil && !r.ended() {
		err = r.fault("the end")
	}
	if err != nil {
		return nil, err
	}
	return offsets, nil
}

// reader reads JSON with objects for keys.
type reader struct {
	text []byte
	at   int
}

// Values that nobody reads may be nested this deep.
const maxDepth = 32

func (r *reader) fault(wanted string) error { return fmt.Errorf("byte %d: %s expected", r.at, wanted) }

// peek gives the next byte that is no white space; 0 at the end.
func (r *reader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// ended tells whether nothing but white space is left.
func (r *reader) ended() bool { return r.peek() == 0 && r.at == len(r.text) }

func (r *reader) expect(c byte) error {
	if r.peek() != c {
		return r.fault(strconv.QuoteRune(rune(c)))
	}
	r.at++
	return nil
}

// object reads an object: entry reads a key and its value.
func (r *reader) object(entry func() error) error { return r.list('{', '}', entry) }

func (r *reader) list(begin, end byte, entry func() error) error {
	if err := r.expect(begin); err != nil {
		return err
	}
	if r.peek() == end {
		r.at++
		return nil
	}
	for {
		if err := entry(); err != nil {
			return err
		}
		switch r.peek() {
		case ',':
			r.at++
		case end:
			r.at++
			return nil
		default:
			return r.fault(fmt.Sprintf("',' or %q", end))
		}
	}
}

// name reads a key that is a text, and the colon behind it.
func (r *reader) name() (string, error) {
	s, err := r.string()
	if err != nil {
		return "", err
	}
	return s, r.expect(':')
}

func (r *reader) string() (out string, err error) {
	if r.peek() != '"' {
		return "", r.fault("a text")
	}
	for end := r.at + 1; end < len(r.text); end++ {
		switch r.text[end] {
		case '\\':
			end++
		case '"':
			if err := json.Unmarshal(r.text[r.at:end+1], &out); err != nil {
				return "", r.fault("a text")
			}
			r.at = end + 1
			return out, nil
		}
	}
	return "", r.fault("the end of a text")
}

// number reads an integer, bare or as a text.
func (r *reader) number() (int64, error) {
	if r.peek() == '"' {
		s, err := r.string()
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, r.fault("a number")
		}
		return n, nil
	}
	end := r.at
	for end < len(r.text) && (r.text[end] == '-' || r.text[end] >= '0' && r.text[end] <= '9') {
		end++
	}
	n, err := strconv.ParseInt(string(r.text[r.at:end]), 10, 64)
	if err != nil {
		return 0, r.fault("a number")
	}
	r.at = end
	return n, nil
}

func (r *reader) table(offsets map[troupe.QueueKey]int64) error {
	return r.object(func() error {
		key, err := r.key()
		if err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		offset, err := r.number()
		if err == nil && offset >= 0 {
			offsets[key] = offset
		}
		return err
	})
}

func (r *reader) key() (troupe.QueueKey, error) {
	if r.peek() != '"' {
		return r.queue()
	}
	began := r.at
	s, err := r.string()
	if err != nil {
		return troupe.QueueKey{}, err
	}
	inner := &reader{text: []byte(s)}
	key, err := inner.queue()
	if err != nil || !inner.ended() {
		r.at = began
		return troupe.QueueKey{}, r.fault("a queue")
	}
	return key, nil
}

func (r *reader) queue() (key troupe.QueueKey, err error) {
	began, hasID := r.at, false
	err = r.object(func() error {
		name, err := r.name()
		if err != nil {
			return err
		}
		switch name {
		case "topic":
			key.Topic, err = r.string()
		case "brokerName":
			key.Broker, err = r.string()
		case "queueId":
			var id int64
			id, err = r.number()
			hasID = id >= 0 && id <= math.MaxInt32
			key.ID = int32(id)
		default:
			err = r.skip(0)
		}
		return err
	})
	if err == nil && (key.Topic == "" || key.Broker == "" || !hasID) {
		r.at = began
		err = r.fault("a queue with topic, brokerName and queueId")
	}
	return key, err
}

// skip passes over any value.
func (r *reader) skip(depth int) error {
	if depth > maxDepth {
		return r.fault("less depth")
	}
	switch r.peek() {
	case '{':
		return r.object(func() error {
			if err := r.skip(depth + 1); err != nil { // a key, which may be an object
				return err
			}
			if err := r.expect(':'); err != nil {
				return err
			}
			return r.skip(depth + 1)
		})
	case '[':
		return r.list('[', ']', func() error { return r.skip(depth + 1) })
	case '"':
		_, err := r.string()
		return err
	}
	end := r.at
	for end < len(r.text) && !bytes.ContainsRune([]byte(" \t\r\n,:{}[]\""), rune(r.text[end])) {
		end++
	}
	if end == r.at || !json.Valid(r.text[r.at:end]) {
		return r.fault("a value")
	}
	r.at = end
	return nil
}
