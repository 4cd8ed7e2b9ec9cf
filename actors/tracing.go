package actors

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/trace"
	"github.com/troupe-mq/troupe/messages"
)

// TraceSpec turns message tracing on for all groups of a client.
type TraceSpec struct {
	// Topic the traces are sent to.
	Topic string
	// Batch is how many entries go into one trace message at the most; a call makes one when it begins and one when it ends.
	Batch int
}

// tracing is one group's traces between workers and TraceSender; nil if tracing is off. It survives restarts of the sender.
type tracing struct {
	spec     TraceSpec
	group    string
	producer string
	link     Link
	queue    trace.Queue
	sender   atomic.Pointer[kit.Ref]
	// underway are entries that are being sent; the sender's.
	underway map[*traceSend]struct{}
}

// tracedCall is one handler call whose beginning was told; nil if it is not traced.
type tracedCall struct {
	tracing  *tracing
	call     trace.Call
	began    time.Time
	count    int
	subjects []trace.Subject
}

var tracesWaiting = &messages.TracesWaiting{}

func newTracing(env *Env, spec *TraceSpec, group string) *tracing {
	if spec == nil {
		return nil
	}
	return &tracing{
		spec: *spec, group: group, link: env.Link, underway: make(map[*traceSend]struct{}),
		producer: "_INNER_TRACE_PRODUCER-" + group + "-CONSUME-1", // as Java calls it (protocol.md 5.15)
	}
}

// before tells that a call begins whose first message is given to the handler as given; called by a worker. Nothing is made for a
// queue that has no room.
func (t *tracing) before(c *runningCall, given *messages.Message) *tracedCall {
	if t == nil {
		return nil
	}
	if t.queue.Full() {
		t.queue.Drop(2) // and what would come after it
		return nil
	}
	traced := &tracedCall{tracing: t, count: c.end - c.first}
	// The stored messages of an orderly group do not know its attempts.
	attempts := given.GetReconsumeTimes() - c.batch.Messages()[c.first].GetReconsumeTimes()
	for i := c.first; i < c.end; i++ {
		m := &c.batch.Messages()[i]
		if c.batch.Settled(i) {
			traced.count--
			continue
		}
		if m.Property(messages.PropertyTraceOn) == "false" {
			continue
		}
		traced.call.Region = m.Property(messages.PropertyRegion) // the last one counts, as in Java
		traced.subjects = append(traced.subjects, trace.Subject{
			ID: m.MessageID(), Keys: m.Property(messages.PropertyKeys), Retries: m.GetReconsumeTimes() + attempts,
		})
	}
	if len(traced.subjects) == 0 || traced.call.Region == "" {
		return nil
	}
	traced.began = time.Now()
	traced.call.Group, traced.call.RequestID, traced.call.At = t.group, t.link.UniqueID(), traced.began.UnixMilli()
	t.put(traced.call.Before(traced.subjects))
	return traced
}

// after tells how the call ended; called by a worker.
func (c *tracedCall) after(err error, timedOut bool) {
	if c == nil {
		return
	}
	now := time.Now()
	c.tracing.put(c.call.After(c.subjects, trace.Outcome{
		At: now.UnixMilli(), CostMillis: now.Sub(c.began).Milliseconds() / int64(c.count), Success: err == nil,
		Code: traceCode(err, timedOut),
	}))
}

func traceCode(err error, timedOut bool) trace.Code {
	var panicked *PanicError
	switch {
	case errors.As(err, &panicked):
		return trace.Exception
	case timedOut:
		return trace.TimedOut
	case err != nil:
		return trace.Failed
	}
	return trace.Success
}

func (t *tracing) put(entries []trace.Entry) {
	for _, e := range entries {
		waiting := t.queue.Put(e)
		if waiting == 0 || waiting%t.spec.Batch != 0 {
			continue
		}
		if sender := t.sender.Load(); sender != nil {
			sender.Tell(tracesWaiting)
		}
	}
}
