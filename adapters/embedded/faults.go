package embedded

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// Match selects requests. Zero fields match everything, so the zero Match is every request.
type Match struct {
	// Code is the kind of request; 0: every kind. Requests that name topic and group in their body only (HEART_BEAT, the
	// locks) can be matched by it alone.
	Code wire.RequestCode
	// Topic and Group must equal the request's, if set.
	Topic string
	Group string
	// Queue, if set, must equal the request's queue id.
	Queue *int32
}

// Fault says what goes wrong with the requests that match. Of what it can do, the first that is set counts, in the order
// of the fields; Delay can go along with each, or stand alone.
type Fault struct {
	Match
	// Times is how many requests it hits before it is gone; 0: until it is removed.
	Times int
	// Skip lets that many matching requests pass unharmed first.
	Skip int
	// Delay passes before the request is looked at, dropped or answered.
	Delay time.Duration
	// Silent: the request is not carried out and never answered.
	Silent bool
	// Drop: the request is not carried out, its connection is closed.
	Drop bool
	// LoseAnswer: the request is carried out, then the connection is closed instead of answering.
	LoseAnswer bool
	// Answer, if not 0, and Remark are the answer; the request is not carried out.
	Answer wire.ResponseCode
	Remark string
}

// Faults scripts what goes wrong between clients and a broker or name server, and counts what clients ask. All methods
// may be called from any goroutine at any time; the script outlives a restart of the broker.
type Faults struct {
	mu      sync.Mutex
	script  []*scripted
	seen    map[wire.RequestCode]int64
	armed   atomic.Bool
	refuse  atomic.Bool
	dropAll func() int
}

type scripted struct {
	fault Fault
	hits  int
}

func newFaults(dropAll func() int) *Faults {
	return &Faults{seen: map[wire.RequestCode]int64{}, dropAll: dropAll}
}

// Add puts a fault at the end of the script; the first fault that matches a request hits it. Remove takes it out and may
// be called more than once.
func (f *Faults) Add(fault Fault) (remove func()) {
	s := &scripted{fault: fault}
	f.mu.Lock()
	f.script = append(f.script, s)
	f.armed.Store(true)
	f.mu.Unlock()
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.remove(s)
	}
}

func (f *Faults) remove(s *scripted) {
	f.script = slices.DeleteFunc(f.script, func(o *scripted) bool { return o == s })
	f.armed.Store(len(f.script) > 0)
}

// Answer makes the next n requests of a kind fail with a code and a remark.
func (f *Faults) Answer(n int, request wire.RequestCode, code wire.ResponseCode, remark string) (remove func()) {
	return f.Add(Fault{Match: Match{Code: request}, Times: n, Answer: code, Remark: remark})
}

// Clear takes every fault out of the script and accepts connections again.
func (f *Faults) Clear() {
	f.mu.Lock()
	f.script = nil
	f.armed.Store(false)
	f.mu.Unlock()
	f.refuse.Store(false)
}

// Refuse closes new connections at once while on; existing ones stay.
func (f *Faults) Refuse(on bool) { f.refuse.Store(on) }

// DropConnections closes every connection and tells how many there were.
func (f *Faults) DropConnections() int { return f.dropAll() }

// Seen counts the requests of a kind since the start, faulty ones included.
func (f *Faults) Seen(code wire.RequestCode) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[code]
}

// Requests gives the counts of all kinds that were seen.
func (f *Faults) Requests() map[wire.RequestCode]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.seen)
}

// meet counts a request and gives the fault that hits it, if any.
func (f *Faults) meet(cmd *wire.Command) (Fault, bool) {
	code := wire.RequestCode(cmd.Code)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[code]++
	if len(f.script) == 0 {
		return Fault{}, false
	}
	for _, s := range f.script {
		if !s.fault.matches(cmd) {
			continue
		}
		s.hits++
		if s.hits <= s.fault.Skip {
			continue
		}
		if s.fault.Times > 0 && s.hits >= s.fault.Skip+s.fault.Times {
			f.remove(s)
		}
		return s.fault, true
	}
	return Fault{}, false
}

func (m *Match) matches(cmd *wire.Command) bool {
	if m.Code != 0 && int32(m.Code) != cmd.Code {
		return false
	}
	topic, group, queue := subject(cmd)
	return (m.Topic == "" || m.Topic == topic) && (m.Group == "" || m.Group == group) && (m.Queue == nil || *m.Queue == queue)
}

// subject reads what a request is about: the names differ by request.
func subject(cmd *wire.Command) (topic, group string, queue int32) {
	if code := wire.RequestCode(cmd.Code); code == wire.SendMessageV2 || code == wire.SendBatchMessage {
		return cmd.Ext.Text("b"), cmd.Ext.Text("a"), int32(cmd.Ext.IntOr("e", -1))
	}
	for _, key := range []string{"consumerGroup", "group", "producerGroup"} {
		if g, ok := cmd.Ext.Get(key); ok {
			group = g
			break
		}
	}
	return cmd.Ext.Text("topic"), group, int32(cmd.Ext.IntOr("queueId", -1))
}
