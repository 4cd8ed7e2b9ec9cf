package linktest

import (
	"context"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// Op names a method of the Link.
type Op string

// The calls that are recorded and can be scripted. Cancel, Close and Keep are recorded only.
const (
	Route             Op = "Route"
	Heartbeat         Op = "Heartbeat"
	Unregister        Op = "Unregister"
	CheckSubscription Op = "CheckSubscription"
	Members           Op = "Members"
	Connections       Op = "Connections"
	SubscriptionsOf   Op = "SubscriptionsOf"
	Committed         Op = "Committed"
	Commit            Op = "Commit"
	MinOffset         Op = "MinOffset"
	MaxOffset         Op = "MaxOffset"
	OffsetAt          Op = "OffsetAt"
	Pull              Op = "Pull"
	Decode            Op = "Decode"
	SendBack          Op = "SendBack"
	Send              Op = "Send"
	Lock              Op = "Lock"
	Unlock            Op = "Unlock"
	Cancel            Op = "Cancel"
	Close             Op = "Close"
	Keep              Op = "Keep"
)

// Call is one recorded call.
type Call struct {
	Op Op
	// Client that made it, and the address it went to.
	Client, Address string
	// At is when it was made and Ended when it was answered, since the cluster was made.
	At, Ended time.Duration
	// Pending says that it was not answered yet.
	Pending bool
	// Group, Topic, Queue and Offset as far as the call has them.
	Group, Topic string
	Queue        messages.QueueKey
	Offset       int64
	// Request is the whole request: *messages.Heartbeat, PullRequest, SendBack, SendRequest, PullReply (Decode), the queues
	// as []messages.QueueKey (Lock, Unlock), or the member asked (SubscriptionsOf).
	Request any
	// Err is how it ended.
	Err error
	// Late says that it was made after the Link was closed.
	Late bool
}

// Answer is what a script lets happen to a call. The zero Answer is the ordinary one.
type Answer struct {
	// Delay comes before everything else.
	Delay time.Duration
	// Silent lets the call wait until its context ends or its time-out passes.
	Silent bool
	Err    error
	// Panic, if not nil, is the value the call panics with.
	Panic any
	// Value replaces the result: []string (Members), int64 (offsets), *messages.TopicRoute, *messages.PullReply,
	// []*messages.Queue (Lock).
	Value any
}

// Rule answers a call, or gives nil if it has nothing to say about it. It runs under no lock and must not block.
type Rule func(Call) *Answer

// On adds a rule for an operation. Younger rules are asked first. The returned function takes it away again.
func (c *Cluster) On(op Op, rule Rule) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := &ruleEntry{op: op, rule: rule}
	c.rules = append(c.rules, entry)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		entry.rule = func(Call) *Answer { return nil }
	}
}

type ruleEntry struct {
	op   Op
	rule Rule
}

// Always answers every call alike.
func Always(a Answer) Rule { return func(Call) *Answer { return &a } }

// Once gives the answers one after the other and then has nothing more to say.
func Once(answers ...Answer) Rule {
	return func(Call) *Answer {
		if len(answers) == 0 {
			return nil
		}
		a := answers[0]
		answers = answers[1:]
		return &a
	}
}

// For restricts a rule to the calls for which the condition holds.
func For(condition func(Call) bool, rule Rule) Rule {
	return func(call Call) *Answer {
		if !condition(call) {
			return nil
		}
		return rule(call)
	}
}

// Refusal is a *messages.BrokerError with a response code.
func Refusal(code int32) error {
	return &messages.BrokerError{Code: code, CodeName: "SCRIPTED", Request: "SCRIPTED"}
}

// Unreachable is the *messages.NetworkError of a broker that refuses connections.
func Unreachable(address string) error {
	return &messages.NetworkError{Request: "SCRIPTED", Address: address, Reason: "connection refused", NotSent: true}
}

// begin records a call and finds the answer.
func (l *link) begin(call Call) (*Call, Answer) {
	c := l.cluster
	c.scripting.Lock()
	defer c.scripting.Unlock()
	c.mu.Lock()
	call.Client, call.At, call.Late = l.config.ClientID, time.Since(c.made), l.closed.Err() != nil
	call.Pending = call.Op != Cancel && call.Op != Close && call.Op != Keep
	recorded := &call
	c.calls = append(c.calls, recorded)
	var rules []Rule
	for i := len(c.rules) - 1; i >= 0; i-- {
		if c.rules[i].op == call.Op {
			rules = append(rules, c.rules[i].rule)
		}
	}
	down := c.down[call.Address]
	copied := call
	c.mu.Unlock()
	if call.Late {
		return recorded, Answer{Err: Unreachable(call.Address)}
	}
	for _, rule := range rules {
		if a := rule(copied); a != nil {
			return recorded, *a
		}
	}
	if down != nil {
		return recorded, *down
	}
	return recorded, Answer{}
}

// play carries out what the answer says up to its error. Rules are asked one at a time, so that they need no lock.
func (l *link) play(ctx context.Context, call *Call, a Answer) error {
	if a.Delay > 0 || a.Silent {
		var due <-chan time.Time
		if !a.Silent {
			timer := time.NewTimer(a.Delay)
			defer timer.Stop()
			due = timer.C
		}
		select {
		case <-due:
		case <-ctx.Done():
			return &messages.NetworkError{
				Request: string(call.Op), Address: call.Address, Reason: context.Cause(ctx).Error(),
				TimedOut: ctx.Err() == context.DeadlineExceeded,
			}
		case <-l.closed.Done():
			return &messages.NetworkError{Request: string(call.Op), Address: call.Address, Reason: "closed"}
		}
	}
	if a.Panic != nil {
		l.cluster.end(call, nil)
		panic(a.Panic)
	}
	return a.Err
}

func (c *Cluster) end(call *Call, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.Ended, call.Err, call.Pending = time.Since(c.made), err, false
}

// Calls gives the calls of some operations so far, in the order they were made; of all if none is named.
func (c *Cluster) Calls(ops ...Op) []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Call
	for _, call := range c.calls {
		wanted := len(ops) == 0
		for _, op := range ops {
			wanted = wanted || call.Op == op
		}
		if wanted {
			out = append(out, *call)
		}
	}
	return out
}

// Forget drops the record of calls.
func (c *Cluster) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// Now is the time since the cluster was made.
func (c *Cluster) Now() time.Duration { return time.Since(c.made) }
