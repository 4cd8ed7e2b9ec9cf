package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/workpool"
	"github.com/troupe-mq/troupe/messages"
)

// A message that is consumed directly must be handled within this time: soon after, the broker waits no more.
const directTimeout = 9 * time.Second

// directCall is one message that a tool wants to be handled now (309). It belongs to no queue: no offset moves, and no
// attempt is counted.
type directCall struct {
	from  *brokerCall
	group *groupContext
	sub   *SubscriptionSpec
	m     *messages.Message
	scope *callScope
	units workpool.Group
	timer *kit.Timer
}

// directDone is the end of a handler call.
type directDone struct {
	call   *directCall
	result *messages.DirectResult
}

// directOverdue is the timer of a directCall.
type directOverdue struct{ call *directCall }

func (a *BrokerCaller) consumeDirectly(c *kit.Context, m *brokerCall, ask *messages.ConsumeDirectly) {
	g := a.topicOf(m, ask.GetGroup(), ask.GetMessage().GetTopic())
	if g == nil {
		return
	}
	sub := g.subscriptions().of(ask.GetMessage().GetTopic())
	if sub == nil || a.stopped || g.polls != nil { // a pull group's program has no handler
		a.refuse(m, codeSystemError, fmt.Sprintf("no handler for topic %s", ask.GetMessage().GetTopic()))
		return
	}
	call := &directCall{from: m, group: g, sub: sub, m: ask.GetMessage(), scope: &callScope{calls: g.calls}}
	self := c.Self()
	call.units = workpool.Group{Lane: g.pool.Lane(sub.Topic), Len: 1, Run: func(ctx context.Context, _ int) {
		done := &directDone{call: call, result: &messages.DirectResult{
			Verdict: messages.DirectVerdict_DIRECT_VERDICT_PANICKED, Orderly: g.spec.Order != nil, Remark: "the handler ended its goroutine",
		}}
		defer func() {
			if done.result != nil {
				self.Tell(done)
			}
		}()
		done.result = call.run(a.env, ctx.(*callSlot)) // the pool was made with calls.join
	}}
	if err := g.pool.Submit(&call.units); err != nil {
		a.refuse(m, codeSystemError, err.Error())
		return
	}
	a.direct[call] = struct{}{}
	call.timer = c.After(directTimeout, &directOverdue{call: call})
}

// run calls the handler; called by a worker. nil if it came too late.
func (d *directCall) run(env *Env, slot *callSlot) *messages.DirectResult {
	ctx, ok := slot.enter(d.scope, runningCall{})
	if !ok {
		return nil
	}
	defer slot.leave()
	began := time.Now()
	queue := &messages.Queue{Topic: d.m.GetTopic(), Broker: d.m.GetBroker(), Id: d.m.GetQueueId()}
	err := d.group.guard(env, queue, d.m, func() error {
		if d.sub.One != nil {
			return d.sub.One(ctx, d.m)
		}
		return failureOf(d.sub.Batch(ctx, []*messages.Message{d.m}), 0)
	})
	result := &messages.DirectResult{
		Verdict: messages.DirectVerdict_DIRECT_VERDICT_SUCCESS, Orderly: d.group.spec.Order != nil,
		SpentMillis: time.Since(began).Milliseconds(),
	}
	if err != nil {
		result.Verdict, result.Remark = messages.DirectVerdict_DIRECT_VERDICT_LATER, err.Error()
		if _, panicked := errors.AsType[*PanicError](err); panicked {
			result.Verdict = messages.DirectVerdict_DIRECT_VERDICT_PANICKED
		}
	}
	return result
}

func (a *BrokerCaller) directDone(m *directDone) {
	if _, waits := a.direct[m.call]; !waits {
		return // it was told that it takes too long
	}
	delete(a.direct, m.call)
	m.call.timer.Stop()
	m.call.from.answer(&messages.BrokerCallReply{Answer: &messages.BrokerCallReply_DirectResult{DirectResult: m.result}})
}

// endDirect gives a call up: its handler is told by its context, or never begins.
func (a *BrokerCaller) endDirect(call *directCall, cause error) {
	if _, waits := a.direct[call]; !waits {
		return
	}
	delete(a.direct, call)
	call.timer.Stop()
	call.scope.end(cause)
	call.group.pool.Withdraw(&call.units)
	a.refuse(call.from, codeSystemError, fmt.Sprintf("message %s: %v", call.m.MessageID(), cause))
}

func (a *BrokerCaller) stop() {
	a.stopped = true
	for call := range a.direct {
		a.endDirect(call, ErrDraining)
	}
}
