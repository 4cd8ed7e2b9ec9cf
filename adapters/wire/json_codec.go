package wire

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// maxElements bounds the elements of all lists and tables of a body from the network, as empty ones need hardly any bytes.
const maxElements = 1 << 18

// jsonObject is a struct that names its fields to a codec, once for both directions.
type jsonObject interface{ json(j *jsonCodec) }

// jsonCodec writes or reads one JSON body. While writing, each field call appends; while reading, it takes the value of the
// key at hand if the name is its own. Unknown keys are passed over and null leaves a field as it is.
type jsonCodec struct {
	w     []byte
	some  bool // the object being written has a field already
	raw   bool // write object keys as Java does: not quoted
	r     *jsonReader
	key   jsonText
	taken bool
	count int // elements read so far
}

// encodeJSON writes an object as strict JSON.
func encodeJSON(o jsonObject) []byte {
	j := jsonCodec{}
	j.object(o)
	return j.w
}

// encodeRawJSON writes an object with raw object keys, which is no JSON but what Java writes.
func encodeRawJSON(o jsonObject) []byte {
	j := jsonCodec{raw: true}
	j.object(o)
	return j.w
}

// decodeJSON reads an object; what names it in errors.
func decodeJSON(what string, body []byte, o jsonObject) error {
	r := jsonReader{b: body}
	j := jsonCodec{r: &r}
	j.object(o)
	r.end()
	if r.err != nil {
		return fmt.Errorf("%s: %w", what, r.err)
	}
	return nil
}

func (j *jsonCodec) object(o jsonObject) {
	if j.r == nil {
		outer := j.some
		j.w, j.some = append(j.w, '{'), false
		o.json(j)
		j.w, j.some = append(j.w, '}'), outer
		return
	}
	key, taken := j.key, j.taken
	j.r.object(func(k jsonText) {
		j.key, j.taken = k, false
		o.json(j)
		if !j.taken {
			j.r.value()
		}
	})
	j.key, j.taken = key, taken
}

// field begins a field: it tells whether the value is to be written or read now.
func (j *jsonCodec) field(name string) bool {
	if j.r == nil {
		j.comma()
		j.w = append(appendQuoted(j.w, name), ':')
		return true
	}
	if j.taken || !j.key.is(name) {
		return false
	}
	j.taken = true
	return true
}

func (j *jsonCodec) comma() {
	if j.some {
		j.w = append(j.w, ',')
	}
	j.some = true
}

func (j *jsonCodec) text(name string, p *string) {
	if j.field(name) {
		j.textValue(p)
	}
}

// optional is text that is left out if empty.
func (j *jsonCodec) optional(name string, p *string) {
	if j.r != nil || *p != "" {
		j.text(name, p)
	}
}

func (j *jsonCodec) textValue(p *string) {
	if j.r == nil {
		j.w = appendQuoted(j.w, *p)
		return
	}
	if v := j.r.value(); !v.null() {
		*p = v.String()
	}
}

func (j *jsonCodec) int64(name string, p *int64) {
	if j.field(name) {
		j.int64Value(p)
	}
}

func (j *jsonCodec) int64Value(p *int64) {
	if j.r == nil {
		j.w = strconv.AppendInt(j.w, *p, 10)
		return
	}
	v := j.r.value()
	if v.null() || j.r.err != nil {
		return
	}
	n, ok := parseInt(v.b)
	if !ok {
		j.r.fail(fmt.Errorf("json: %q is no integer", v.b))
		return
	}
	*p = n
}

func (j *jsonCodec) int32(name string, p *int32) {
	if j.field(name) {
		j.int32Value(p)
	}
}

func (j *jsonCodec) int32Value(p *int32) {
	v := int64(*p)
	j.int64Value(&v)
	if j.r == nil {
		return
	}
	if v != int64(int32(v)) {
		j.r.fail(fmt.Errorf("json: %d exceeds 32 bits", v))
		return
	}
	*p = int32(v)
}

func (j *jsonCodec) bool(name string, p *bool) {
	if !j.field(name) {
		return
	}
	if j.r == nil {
		j.w = strconv.AppendBool(j.w, *p)
		return
	}
	switch v := j.r.value(); {
	case v.null():
	case equalFold(v.b, "true"), string(v.b) == "1":
		*p = true
	case equalFold(v.b, "false"), string(v.b) == "0":
		*p = false
	default:
		j.r.fail(fmt.Errorf("json: %q is no boolean", v.b))
	}
}

func (j *jsonCodec) float(name string, p *float64) {
	if !j.field(name) {
		return
	}
	if j.r == nil {
		v := *p
		if math.IsNaN(v) || math.IsInf(v, 0) {
			v = 0
		}
		j.w = strconv.AppendFloat(j.w, v, 'g', -1, 64)
		return
	}
	v := j.r.value()
	if v.null() || j.r.err != nil {
		return
	}
	n, err := strconv.ParseFloat(string(v.b), 64)
	if err != nil {
		j.r.fail(fmt.Errorf("json: %q is no number", v.b))
		return
	}
	*p = n
}

// inner is a field that is an object.
func (j *jsonCodec) inner(name string, o jsonObject) {
	if j.field(name) {
		j.object(o)
	}
}

// pass reads nothing and writes a constant value, for fields that peers expect but nobody here needs.
func (j *jsonCodec) pass(name, value string) {
	if j.r == nil && j.field(name) {
		j.w = append(j.w, value...)
	}
}

// element counts an element that is about to be read; false if it is not to be read.
func (j *jsonCodec) element() bool {
	if j.count++; j.count > maxElements {
		j.r.fail(fmt.Errorf("json: more than %d elements", maxElements))
	}
	return j.r.err == nil
}

// each reads or writes the elements of a list, the value of the field at hand.
func each[T any](j *jsonCodec, list *[]T, value func(*T)) {
	if j.r == nil {
		j.w = append(j.w, '[')
		for i := range *list {
			if i > 0 {
				j.w = append(j.w, ',')
			}
			value(&(*list)[i])
		}
		j.w = append(j.w, ']')
		return
	}
	*list = nil
	j.r.array(func() {
		if !j.element() {
			return
		}
		var v T
		value(&v)
		*list = append(*list, v)
	})
}

func (j *jsonCodec) texts(name string, list *[]string) {
	if j.field(name) {
		each(j, list, j.textValue)
	}
}

func (j *jsonCodec) int32s(name string, list *[]int32) {
	if j.field(name) {
		each(j, list, j.int32Value)
	}
}

// objects is a field that is a list of objects.
func objects[T any, P interface {
	*T
	jsonObject
}](j *jsonCodec, name string, list *[]T) {
	if j.field(name) {
		each(j, list, func(v *T) { j.object(P(v)) })
	}
}

// table reads or writes a map, the value of the field at hand, in the order of compare. writeKey appends a quoted key.
func table[K comparable, V any](j *jsonCodec, m *map[K]V, compare func(a, b K) int,
	writeKey func([]byte, K) []byte, readKey func(jsonText) (K, bool), value func(*V),
) {
	if j.r == nil {
		outer := j.some
		j.w, j.some = append(j.w, '{'), false
		for _, k := range slices.SortedFunc(maps.Keys(*m), compare) {
			j.comma()
			j.w = append(writeKey(j.w, k), ':')
			v := (*m)[k]
			value(&v)
		}
		j.w, j.some = append(j.w, '}'), outer
		return
	}
	*m = nil
	key, taken := j.key, j.taken
	j.r.object(func(t jsonText) {
		k, ok := readKey(t)
		if !ok {
			j.r.fail(fmt.Errorf("json: malformed key %.64q", t.b))
		}
		if !j.element() {
			return
		}
		if *m == nil {
			*m = make(map[K]V)
		}
		var v V
		value(&v)
		(*m)[k] = v
	})
	j.key, j.taken = key, taken
}

func readTextKey(t jsonText) (string, bool) { return t.String(), true }

func (j *jsonCodec) textTable(name string, m *map[string]string) {
	if j.field(name) {
		textKeyed(j, m, j.textValue)
	}
}

// textKeyed is a map from text.
func textKeyed[V any](j *jsonCodec, m *map[string]V, value func(*V)) {
	table(j, m, cmp.Compare[string], appendQuoted, readTextKey, value)
}

func objectTable[V any, P interface {
	*V
	jsonObject
}](j *jsonCodec, name string, m *map[string]V) {
	if j.field(name) {
		textKeyed(j, m, func(v *V) { j.object(P(v)) })
	}
}

// textsTable is a map from text to lists of text.
func (j *jsonCodec) textsTable(name string, m *map[string][]string) {
	if j.field(name) {
		textKeyed(j, m, func(list *[]string) { each(j, list, j.textValue) })
	}
}

// numberTable is a map from numbers to text, as broker ids to addresses.
func (j *jsonCodec) numberTable(name string, m *map[int64]string) {
	if !j.field(name) {
		return
	}
	table(j, m, cmp.Compare[int64], func(b []byte, k int64) []byte {
		b = append(b, '"')
		b = strconv.AppendInt(b, k, 10)
		return append(b, '"')
	}, func(t jsonText) (int64, bool) { return parseInt(t.b) }, j.textValue)
}

// queueTable is a map from queues.
func queueTable[V any](j *jsonCodec, name string, m *map[MessageQueue]V, value func(*V)) {
	if j.field(name) {
		queueKeyed(j, m, value)
	}
}

func queueKeyed[V any](j *jsonCodec, m *map[MessageQueue]V, value func(*V)) {
	table(j, m, MessageQueue.Compare, func(b []byte, q MessageQueue) []byte {
		if j.raw {
			return append(b, encodeJSON(&q)...)
		}
		return appendQuoted(b, string(encodeJSON(&q)))
	}, readQueueKey, value)
}

// objectQueueTable is a map from queues to objects.
func objectQueueTable[V any, P interface {
	*V
	jsonObject
}](j *jsonCodec, name string, m *map[MessageQueue]V) {
	queueTable(j, name, m, func(v *V) { j.object(P(v)) })
}

// readQueueKey reads a queue that is a key: a raw object or text that holds one.
func readQueueKey(t jsonText) (q MessageQueue, ok bool) {
	b := t.b
	if t.escaped && t.quoted {
		b = unescape(b)
	}
	return q, decodeJSON("queue", b, &q) == nil
}
