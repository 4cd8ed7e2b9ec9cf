package actors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// Response codes of the answers to brokers (protocol.md 1.4).
const (
	codeSystemError         = 1
	codeRequestNotSupported = 3
)

// A broker waits for an answer for 10 s (Broker2Client); this is when there will be none any more.
const callTimeout = 15 * time.Second

// BrokerCaller answers what brokers ask of a client.
//
//	Owns        the messages that are being consumed directly
//	Parent      ClientInstance
//	In          brokerCall (a BrokerCall with the way back), callAnswered, directDone, directOverdue, stopCalls
//	Out         MembersChanged, ResetOffsets to the group concerned; work to its pool; the answer to the broker
//	Invariants  every call that expects an answer gets exactly one; unknown calls get REQUEST_CODE_NOT_SUPPORTED; user code
//	            runs in the pool only
//	Restart     what is being consumed directly goes on; its answer is "did not answer in time"
//	Source      ClientRemotingProcessor (protocol.md 2.6)
type BrokerCaller struct {
	env    *Env
	view   *clientView
	groups func(name string) (kit.Ref, bool)

	direct  map[*directCall]struct{}
	stopped bool
}

// clientView is what can be told of a client from outside of its tree. Everything in it is safe for concurrent use.
type clientView struct {
	started  time.Time
	contexts []*groupContext
	topology func() *messages.Topology
}

// group finds a group; nil if the client has none of that name.
func (v *clientView) group(name string) *groupContext {
	if i := slices.IndexFunc(v.contexts, func(g *groupContext) bool { return g.spec.Name == name }); i >= 0 {
		return v.contexts[i]
	}
	return nil
}

// brokerCall carries a BrokerCall to the BrokerCaller and its answer back to the connection's goroutine.
type brokerCall struct {
	call  *messages.BrokerCall
	reply chan<- *messages.BrokerCallReply
}

// answer gives the answer, once; nobody waits for that of a one-way call.
func (m *brokerCall) answer(reply *messages.BrokerCallReply) {
	if m.reply != nil {
		m.reply <- reply // which has room for one
		m.reply = nil
	}
}

// callAnswered is the end of an answer that was put together outside of the turn.
type callAnswered struct {
	call  *brokerCall
	reply *messages.BrokerCallReply
}

// stopCalls says that the groups have stopped: nothing may run for them any more.
type stopCalls struct{}

// Receive handles one message.
func (a *BrokerCaller) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.direct = make(map[*directCall]struct{})
	case *brokerCall:
		a.called(c, m)
	case *callAnswered:
		m.call.answer(m.reply)
	case *directDone:
		a.directDone(m)
	case *directOverdue:
		a.endDirect(m.call, ErrHandlerTimeout)
	case *stopCalls:
		a.stop()
	case kit.Stopping:
		a.stop()
	}
}

func (a *BrokerCaller) called(c *kit.Context, m *brokerCall) {
	switch q := m.call.GetQuestion().(type) {
	case *messages.BrokerCall_MembersChanged:
		if ref, ok := a.groups(q.MembersChanged.GetGroup()); ok {
			c.Tell(ref, q.MembersChanged)
		}
		m.answer(&messages.BrokerCallReply{})
	case *messages.BrokerCall_ResetOffsets:
		a.resetOffsets(c, m, q.ResetOffsets)
	case *messages.BrokerCall_OffsetsQuery:
		a.offsets(m, q.OffsetsQuery)
	case *messages.BrokerCall_RunningInfoQuery:
		a.runningInfo(c, m, q.RunningInfoQuery)
	case *messages.BrokerCall_ConsumeDirectly:
		a.consumeDirectly(c, m, q.ConsumeDirectly)
	case *messages.BrokerCall_Malformed:
		a.refuse(m, codeSystemError, q.Malformed)
	default:
		a.refuse(m, codeRequestNotSupported, fmt.Sprintf("request type %d not supported", m.call.GetCode()))
	}
}

// refuse answers with another code than success, and tells it: one-way calls have no other trace.
func (a *BrokerCaller) refuse(m *brokerCall, code int32, remark string) {
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_CALL_REFUSED, Address: m.call.GetAddress(), Text: remark, Count: int64(m.call.GetCode()),
	})
	m.answer(&messages.BrokerCallReply{Code: code, Remark: remark})
}

// groupOf finds the group that a call is about, and refuses the call if there is none.
func (a *BrokerCaller) groupOf(m *brokerCall, name string) *groupContext {
	g := a.view.group(name)
	if g == nil {
		a.refuse(m, codeSystemError, fmt.Sprintf("the consumer group <%s> does not exist in this client", name))
	}
	return g
}

// topicOf is groupOf for calls about a topic that the group must subscribe to.
func (a *BrokerCaller) topicOf(m *brokerCall, name, topic string) *groupContext {
	g := a.groupOf(m, name)
	if g != nil && topic != RetryTopic(name) && g.subscriptions().of(topic) == nil {
		a.refuse(m, codeSystemError, fmt.Sprintf("the consumer group <%s> does not subscribe to topic %s in this client", name, topic))
		return nil
	}
	return g
}

func (a *BrokerCaller) resetOffsets(c *kit.Context, m *brokerCall, reset *messages.ResetOffsets) {
	if a.topicOf(m, reset.GetGroup(), reset.GetTopic()) == nil {
		return
	}
	for _, to := range reset.GetOffsets() {
		if to.GetOffset() < 0 || to.GetQueue().GetTopic() != reset.GetTopic() {
			a.refuse(m, codeSystemError, fmt.Sprintf("reset of topic %s: %s to %d", reset.GetTopic(), to.GetQueue().Text(), to.GetOffset()))
			return
		}
	}
	if ref, ok := a.groups(reset.GetGroup()); ok {
		c.Tell(ref, reset)
	}
	m.answer(&messages.BrokerCallReply{})
}

func (a *BrokerCaller) offsets(m *brokerCall, query *messages.OffsetsQuery) {
	if g := a.topicOf(m, query.GetGroup(), query.GetTopic()); g != nil {
		m.answer(&messages.BrokerCallReply{Answer: &messages.BrokerCallReply_Offsets{Offsets: g.offsetsIn(query.GetTopic())}})
	}
}

func (a *BrokerCaller) runningInfo(c *kit.Context, m *brokerCall, query *messages.RunningInfoQuery) {
	g := a.groupOf(m, query.GetGroup())
	if g == nil {
		return
	}
	c.Go(callTimeout, func(context.Context) kit.Message {
		info := g.runningInfo(time.Now())
		info.StartedAt, info.NameServers = a.view.started.UnixMilli(), a.env.Link.NameServers()
		if query.GetTree() {
			info.Tree = a.view.topology().Text()
		}
		return &callAnswered{call: m, reply: &messages.BrokerCallReply{
			Answer: &messages.BrokerCallReply_RunningInfo{RunningInfo: info},
		}}
	})
}

// callThrough gives the port's side of the BrokerCaller: it hands a call in and waits for the answer.
func callThrough(ref func() kit.Ref) func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply {
	return func(ctx context.Context, call *messages.BrokerCall) *messages.BrokerCallReply {
		to := ref()
		if to.IsZero() {
			return &messages.BrokerCallReply{Code: codeRequestNotSupported, Remark: "client is starting"}
		}
		if call.GetOneWay() {
			to.Tell(&brokerCall{call: call})
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reply := make(chan *messages.BrokerCallReply, 1)
		to.Tell(&brokerCall{call: call, reply: reply})
		select {
		case r := <-reply:
			return r
		case <-ctx.Done():
			return &messages.BrokerCallReply{Code: codeSystemError, Remark: "client did not answer in time"}
		}
	}
}
