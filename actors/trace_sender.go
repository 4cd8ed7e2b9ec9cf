package actors

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// TraceSender sends a group's message traces to the trace topic. It exists only if tracing is on.
//
//	Owns        which traces are under way
//	Parent      ConsumerGroup
//	In          TracesWaiting, TraceTick, FlushTraces, RouteChanged, tracesSent, flushOverdue
//	Out         WatchTopic, RefreshRoute to the RouteKeeper; TracesFlushed to the parent
//	States      sending, flushing
//	Invariants  workers never wait for it: what its queue cannot hold is dropped and told; at most maxTraceSends requests are
//	            under way
//	Restart     the queue goes on; what was under way counts as dropped
//	Source      AsyncTraceDispatcher (protocol.md 5.15)
type TraceSender struct {
	env    *Env
	routes kit.Ref
	traces *tracing

	failure  error
	turn     int
	standIn  bool
	flushing kit.Ref
	flushed  bool
}

// traceSend is one trace message under way.
type traceSend struct{ entries int }

// tracesSent is the end of one.
type tracesSent struct {
	send *traceSend
	err  error
}

// flushOverdue is the timer of a flush.
type flushOverdue struct{}

const (
	// Traces wait this long at the most before they are sent; Java's pollingTimeMil.
	traceFlushPeriod = 5 * time.Second
	traceSendTimeout = 5 * time.Second
	maxTraceSends    = 4
	// A flush is given up after the limit; the group goes on by itself after the grace, should the sender have failed.
	traceFlushLimit = 900 * time.Millisecond
	traceFlushGrace = time.Second
	// What a topic gets that a broker makes because of a trace, and whose route stands for it (protocol.md 7.7).
	traceQueues  = 4
	traceStandIn = "TBW102"
)

// Receive handles one message.
func (a *TraceSender) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *messages.TracesWaiting:
		a.send(c, a.traces.spec.Batch)
	case *messages.TraceTick:
		a.send(c, 1)
		a.tellDropped()
		c.After(traceFlushPeriod, m)
	case *messages.FlushTraces:
		a.flushing = c.Sender()
		c.After(traceFlushLimit, flushOverdue{})
		a.send(c, 1)
		a.flushedYet(c)
	case *messages.RouteChanged:
		a.routeChanged(c, m)
	case *tracesSent:
		a.sent(c, m)
	case flushOverdue:
		a.giveUp(c)
	}
}

func (a *TraceSender) start(c *kit.Context) {
	for send := range a.traces.underway {
		a.traces.queue.Drop(send.entries)
	}
	clear(a.traces.underway)
	self := c.Self()
	a.traces.sender.Store(&self)
	c.Tell(a.routes, &messages.WatchTopic{Topic: a.traces.spec.Topic})
	c.After(traceFlushPeriod, &messages.TraceTick{})
}

// routeChanged notes that a topic is missing: brokers that make topics by themselves take it all the same.
func (a *TraceSender) routeChanged(c *kit.Context, m *messages.RouteChanged) {
	if m.GetTopic() == a.traces.spec.Topic && m.GetRoute() == nil && !a.standIn && errors.Is(m.GetFailure().Err(), ErrNoRoute) {
		a.standIn = true
		c.Tell(a.routes, &messages.WatchTopic{Topic: traceStandIn})
	}
	if m.GetRoute() != nil {
		a.send(c, 1)
	}
}

// send takes trace messages from the queue as long as least entries are waiting and more requests may be under way.
func (a *TraceSender) send(c *kit.Context, least int) {
	for len(a.traces.underway) < maxTraceSends && a.traces.queue.Len() >= least {
		queues := a.queues()
		if len(queues) == 0 {
			return
		}
		body, keys, entries := a.traces.queue.Take(a.traces.spec.Batch)
		if entries == 0 {
			return
		}
		send := &traceSend{entries: entries}
		a.traces.underway[send] = struct{}{}
		a.turn++
		req := &messages.SendRequest{
			ProducerGroup: a.traces.producer, DefaultQueues: traceQueues, Body: body, BornTimestamp: time.Now().UnixMilli(),
			Properties: traceProperties(a.env.Link.UniqueID(), keys),
		}
		ordered := append(append([]messages.QueueKey{}, queues[a.turn%len(queues):]...), queues[:a.turn%len(queues)]...)
		c.Go(traceSendTimeout, func(ctx context.Context) kit.Message {
			return &tracesSent{send: send, err: contained(func() error { return a.env.sendTrace(ctx, req, ordered) })}
		})
	}
}

func traceProperties(id string, keys []string) []byte {
	var b strings.Builder
	for _, p := range [][2]string{
		{messages.PropertyKeys, strings.Join(keys, " ")}, {messages.PropertyUniqueKey, id}, {messages.PropertyWait, "true"},
	} {
		b.WriteString(p[0] + "\x01" + p[1] + "\x02")
	}
	return []byte(b.String())
}

// queues gives where a trace can go now.
func (a *TraceSender) queues() []messages.QueueKey {
	if route, _ := a.env.Directory.Route(a.traces.spec.Topic); route != nil {
		return PublishQueues(route)
	}
	if !a.standIn {
		return nil
	}
	route, _ := a.env.Directory.Route(traceStandIn)
	var out []messages.QueueKey
	for _, key := range PublishQueues(route) {
		if key.ID < traceQueues {
			out = append(out, messages.QueueKey{Topic: a.traces.spec.Topic, Broker: key.Broker, ID: key.ID})
		}
	}
	return out
}

// sendTrace tries one queue of each broker.
func (e *Env) sendTrace(ctx context.Context, req *messages.SendRequest, queues []messages.QueueKey) error {
	tried := make(map[string]bool)
	var failures []error
	for _, key := range queues {
		if tried[key.Broker] || ctx.Err() != nil {
			continue
		}
		tried[key.Broker] = true
		addr, ok := e.Directory.Master(key.Broker)
		if !ok {
			continue
		}
		req.Address, req.Queue = addr, key.Queue()
		_, err := e.Link.Send(ctx, req)
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	if len(failures) == 0 {
		return &messages.NoRouteError{Topic: queues[0].Topic}
	}
	return errors.Join(failures...)
}

func (a *TraceSender) sent(c *kit.Context, m *tracesSent) {
	delete(a.traces.underway, m.send)
	if m.err != nil {
		a.failure = m.err
		a.traces.queue.Drop(m.send.entries)
		c.Tell(a.routes, &messages.RefreshRoute{Topic: a.traces.spec.Topic})
	}
	least := a.traces.spec.Batch
	if !a.flushing.IsZero() {
		least = 1
	}
	a.send(c, least)
	a.flushedYet(c)
}

func (a *TraceSender) flushedYet(c *kit.Context) {
	if !a.flushing.IsZero() && !a.flushed && len(a.traces.underway) == 0 && a.traces.queue.Len() == 0 {
		a.endFlush(c)
	}
}

// giveUp ends a flush that takes too long.
func (a *TraceSender) giveUp(c *kit.Context) {
	if a.flushed {
		return
	}
	for a.traces.queue.Len() > 0 {
		_, _, entries := a.traces.queue.Take(a.traces.spec.Batch)
		a.traces.queue.Drop(entries)
	}
	for send := range a.traces.underway {
		a.traces.queue.Drop(send.entries)
	}
	a.endFlush(c)
}

func (a *TraceSender) endFlush(c *kit.Context) {
	a.flushed = true
	a.tellDropped()
	c.Tell(a.flushing, &messages.TracesFlushed{})
}

func (a *TraceSender) tellDropped() {
	if n := a.traces.queue.TakeDropped(); n > 0 {
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_TRACE_DROPPED, Group: a.traces.group, Topic: a.traces.spec.Topic, Count: n,
			Failure: messages.FailureOf(a.failure),
		})
		a.failure = nil
	}
}
