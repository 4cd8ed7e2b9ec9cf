package actors

import (
	"context"
	"fmt"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// Request codes that brokers send to clients, and the response code for those that are not served (protocol.md 2.6, 1.4).
const (
	codeNotifyConsumerIDsChanged = 40
	codeRequestNotSupported      = 3
	fieldConsumerGroup           = "consumerGroup"
)

// BrokerCaller answers what brokers ask of a client.
//
//	Owns        the groups' Refs, by name
//	Parent      ClientInstance
//	In          brokerCall (a BrokerCall with the way back)
//	Out         MembersChanged to the group concerned; the answer to the broker
//	Invariants  every call that expects an answer gets exactly one; unknown calls get REQUEST_CODE_NOT_SUPPORTED
//	Restart     stateless
//	Source      ClientRemotingProcessor (protocol.md 2.6)
type BrokerCaller struct {
	env    *Env
	groups func(name string) (kit.Ref, bool)
}

// brokerCall carries a BrokerCall to the BrokerCaller and its answer back to the connection's goroutine.
type brokerCall struct {
	call  *messages.BrokerCall
	reply chan<- *messages.BrokerCallReply
}

// Receive handles one message.
func (a *BrokerCaller) Receive(c *kit.Context, m kit.Message) {
	if m, ok := m.(*brokerCall); ok {
		reply := a.answer(c, m.call)
		if m.reply != nil {
			m.reply <- reply
		}
	}
}

func (a *BrokerCaller) answer(c *kit.Context, call *messages.BrokerCall) *messages.BrokerCallReply {
	if call.GetCode() == codeNotifyConsumerIDsChanged {
		name := call.GetFields()[fieldConsumerGroup]
		if ref, ok := a.groups(name); ok {
			c.Tell(ref, &messages.MembersChanged{Group: name})
		}
		return &messages.BrokerCallReply{}
	}
	text := fmt.Sprintf("request type %d not supported", call.GetCode())
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_CALL_REFUSED, Address: call.GetAddress(), Text: text,
	})
	return &messages.BrokerCallReply{Code: codeRequestNotSupported, Remark: text}
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
		reply := make(chan *messages.BrokerCallReply, 1)
		to.Tell(&brokerCall{call: call, reply: reply})
		select {
		case r := <-reply:
			return r
		case <-ctx.Done():
			return &messages.BrokerCallReply{Code: 1, Remark: "client did not answer in time"}
		}
	}
}
