package messages

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// MaxTopicLength is the longest topic name a broker takes, in bytes.
	MaxTopicLength = 127
	// MaxBodySize is the largest body that clients send and brokers take by default, in bytes.
	MaxBodySize = 4 << 20
	// MaxPropertiesLength is the longest property text a stored message can hold, in bytes.
	MaxPropertiesLength = math.MaxInt16
)

// NewMessage begins a message to be published. The body is not copied. The With methods add to it; Validate reports what is
// wrong with it. A message that is being built belongs to one goroutine.
func NewMessage(topic string, body []byte) *Message { return &Message{Topic: topic, Body: body} }

// WithTag sets the tag, the subject of tag filters.
func (m *Message) WithTag(tag string) *Message { return m.SetProperty(PropertyTags, tag) }

// WithKeys sets the keys by which the message can be found. A key must not be empty or contain a blank.
func (m *Message) WithKeys(keys ...string) *Message {
	for _, k := range keys {
		if k == "" || strings.IndexByte(k, ' ') >= 0 {
			return m.refuse(fmt.Sprintf("key %q is empty or contains a blank", k))
		}
	}
	return m.SetProperty(PropertyKeys, strings.Join(keys, " "))
}

// WithProperty sets a property of the user's own. Names that RocketMQ keeps for itself are refused: Validate reports them.
func (m *Message) WithProperty(name, value string) *Message {
	switch {
	case ReservedProperty(name):
		return m.refuse(fmt.Sprintf("property name %s is reserved", name))
	case strings.TrimSpace(name) == "":
		return m.refuse("a property name is blank")
	case value == "":
		return m.refuse(fmt.Sprintf("property %q has an empty value, which RocketMQ cannot store", name))
	}
	return m.SetProperty(name, value)
}

// WithDelayLevel asks the broker to deliver later: level 1 is 1 s, 2 is 5 s, … 18 is 2 h with a default broker; 0 is at once.
func (m *Message) WithDelayLevel(level int) *Message {
	if level == 0 {
		m.RawProperties = removeProperty(m.RawProperties, PropertyDelay)
		return m
	}
	return m.SetProperty(PropertyDelay, strconv.Itoa(level))
}

// SetProperty sets any property, also a reserved one, replacing an earlier value; an empty value removes it, as RocketMQ
// cannot store it. It is for publishers and brokers; programs use WithProperty.
func (m *Message) SetProperty(name, value string) *Message {
	if name == "" || strings.ContainsAny(name, separators) || strings.ContainsAny(value, separators) {
		return m.refuse(fmt.Sprintf("property %q has no name, or one of the characters \\x01 and \\x02 in its name or value", name))
	}
	text := m.RawProperties
	if findProperty(text, name) != nil || len(text) > 0 && text[len(text)-1] != valueEnd {
		text = removeProperty(text, name)
	}
	if value == "" {
		m.RawProperties = text
		return m
	}
	text = append(text[:len(text):len(text)], name...)
	text = append(text, nameEnd)
	text = append(text, value...)
	m.RawProperties = append(text, valueEnd)
	return m
}

const separators = string(nameEnd) + string(valueEnd)

// refuse notes what a setter did not store. The note is an entry without a name: every parser of properties passes over it,
// and Validate finds it.
func (m *Message) refuse(reason string) *Message {
	text := endEntries(m.RawProperties)
	m.RawProperties = append(append(append(text, nameEnd), reason...), valueEnd)
	return m
}

// endEntries copies a property text and ends its last entry.
func endEntries(text []byte) []byte {
	out := append(make([]byte, 0, len(text)+64), text...)
	if len(out) > 0 && out[len(out)-1] != valueEnd {
		out = append(out, valueEnd)
	}
	return out
}

// removeProperty copies a property text without one name and with every entry ended.
func removeProperty(text []byte, name string) []byte {
	out := make([]byte, 0, len(text)+1)
	for len(text) > 0 {
		var entry []byte
		entry, text = cutEntry(text)
		if len(entry) > len(name) && entry[len(name)] == nameEnd && string(entry[:len(name)]) == name {
			continue
		}
		out = append(append(out, entry...), valueEnd)
	}
	return out
}

// Validate reports every fault that would make a broker refuse the message or store something else than was meant.
func (m *Message) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	switch {
	case m.GetTopic() == "":
		fault("topic is empty")
	case len(m.GetTopic()) > MaxTopicLength:
		fault("topic has %d bytes, at most %d are possible", len(m.GetTopic()), MaxTopicLength)
	case strings.IndexFunc(m.GetTopic(), illegalInTopic) >= 0:
		fault("topic %q has characters other than letters, digits, %%, |, - and _", m.GetTopic())
	}
	if n := len(m.GetBody()); n > MaxBodySize {
		fault("body has %d bytes, at most %d are possible", n, MaxBodySize)
	}
	if n := len(m.GetRawProperties()); n > MaxPropertiesLength {
		fault("properties have %d bytes, at most %d are possible", n, MaxPropertiesLength)
	}
	m.validateProperties(fault)
	return errors.Join(faults...)
}

// validateProperties reports what setters refused and every entry that the reading side would drop or misread.
func (m *Message) validateProperties(fault func(string, ...any)) {
	for text := m.GetRawProperties(); len(text) > 0; {
		var entry []byte
		entry, text = cutEntry(text)
		name, value, ok := strings.Cut(string(entry), string(nameEnd))
		switch {
		case ok && name == "" && value != "":
			fault("%s", value)
		case !ok || name == "" || value == "":
			fault("property %q has no name or no value", entry)
		case strings.IndexByte(value, nameEnd) >= 0:
			fault("property %s has the character \\x01 in its value", name)
		case name == PropertyDelay:
			if n, err := strconv.Atoi(value); err != nil || n < 0 {
				fault("delay level is %q", value)
			}
		}
	}
}

// illegalInTopic is RocketMQ's alphabet for topics and groups (TopicValidator).
func illegalInTopic(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '%' || r == '|' || r == '-' || r == '_')
}
