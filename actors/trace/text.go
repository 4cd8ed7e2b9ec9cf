package trace

import "strconv"

// Separators of the text (protocol.md 5.15).
const (
	fieldEnd  = '\x01'
	recordEnd = '\x02'
)

// Code says how a call ended; Java's ConsumeReturnType (protocol.md 5.7).
type Code int

// Java's RETURNNULL (3) cannot happen in Go.
const (
	Success   Code = 0
	TimedOut  Code = 1
	Exception Code = 2
	Failed    Code = 4
)

// Subject is a message as a trace names it.
type Subject struct {
	// ID is the producer's id of the message (UNIQ_KEY).
	ID string
	// Keys as in the message's property; "" if it has none.
	Keys string
	// Retries is how often the message was handed back before.
	Retries int32
}

// Outcome is what is said of a call after it.
type Outcome struct {
	// At is the time of the end, CostMillis the duration divided by the number of messages.
	At, CostMillis int64
	Success        bool
	Code           Code
}

// Call is what both traces of one handler call have in common.
type Call struct {
	// Region of the broker, from the messages.
	Region string
	Group  string
	// RequestID connects the two.
	RequestID string
	// At is the time of the beginning, milliseconds since the epoch.
	At int64
}

// appendBefore appends the record SubBefore of one message.
func (c *Call) appendBefore(text []byte, s *Subject) []byte {
	text = append(text, "SubBefore\x01"...)
	text = append(strconv.AppendInt(text, c.At, 10), fieldEnd)
	text = append(append(text, c.Region...), fieldEnd)
	text = append(append(text, c.Group...), fieldEnd)
	text = append(append(text, c.RequestID...), fieldEnd)
	text = append(append(text, s.ID...), fieldEnd)
	text = append(strconv.AppendInt(text, int64(s.Retries), 10), fieldEnd)
	return append(append(text, s.keys()...), recordEnd)
}

// appendAfter appends the record SubAfter of one message.
func (c *Call) appendAfter(text []byte, s *Subject, o Outcome) []byte {
	text = append(text, "SubAfter\x01"...)
	text = append(append(text, c.RequestID...), fieldEnd)
	text = append(append(text, s.ID...), fieldEnd)
	text = append(strconv.AppendInt(text, o.CostMillis, 10), fieldEnd)
	text = append(strconv.AppendBool(text, o.Success), fieldEnd)
	text = append(append(text, s.keys()...), fieldEnd)
	text = append(strconv.AppendInt(text, int64(o.Code), 10), fieldEnd)
	text = append(strconv.AppendInt(text, o.At, 10), fieldEnd)
	return append(append(text, c.Group...), recordEnd)
}

// keys gives the field: Java writes the word null for a message that has no keys.
func (s *Subject) keys() string {
	if s.Keys == "" {
		return "null"
	}
	return s.Keys
}
