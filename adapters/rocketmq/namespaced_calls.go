package rocketmq

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/messages"
)

// calls wraps what answers brokers: questions carry the program's names, answers the wire's, which is what consoles show of
// Java's clients.
func (n *namespace) calls(
	next func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply,
) func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply {
	return func(ctx context.Context, call *messages.BrokerCall) *messages.BrokerCallReply {
		n.question(call)
		return n.answer(next(ctx, call))
	}
}

// question gives a call, which nobody else has seen yet, the program's names.
func (n *namespace) question(call *messages.BrokerCall) {
	switch q := call.GetQuestion().(type) {
	case *messages.BrokerCall_MembersChanged:
		q.MembersChanged.Group = n.plain(q.MembersChanged.GetGroup())
	case *messages.BrokerCall_ResetOffsets:
		q.ResetOffsets.Group, q.ResetOffsets.Topic = n.plain(q.ResetOffsets.GetGroup()), n.plain(q.ResetOffsets.GetTopic())
		for _, o := range q.ResetOffsets.GetOffsets() {
			o.Queue = n.plainQueue(o.GetQueue())
		}
	case *messages.BrokerCall_OffsetsQuery:
		q.OffsetsQuery.Group, q.OffsetsQuery.Topic = n.plain(q.OffsetsQuery.GetGroup()), n.plain(q.OffsetsQuery.GetTopic())
	case *messages.BrokerCall_RunningInfoQuery:
		q.RunningInfoQuery.Group = n.plain(q.RunningInfoQuery.GetGroup())
	case *messages.BrokerCall_ConsumeDirectly:
		q.ConsumeDirectly.Group = n.plain(q.ConsumeDirectly.GetGroup())
		q.ConsumeDirectly.Message.Topic = n.plain(q.ConsumeDirectly.GetMessage().GetTopic())
	}
}

// answer gives a reply with the wire's names.
func (n *namespace) answer(reply *messages.BrokerCallReply) *messages.BrokerCallReply {
	if reply == nil {
		return nil
	}
	reply = proto.CloneOf(reply)
	switch a := reply.GetAnswer().(type) {
	case *messages.BrokerCallReply_Offsets:
		for _, o := range a.Offsets.GetOffsets() {
			o.Queue = n.wireQueue(o.GetQueue())
		}
	case *messages.BrokerCallReply_RunningInfo:
		info := a.RunningInfo
		info.Group = n.group(info.GetGroup())
		for _, q := range info.GetQueues() {
			q.Queue = n.wireQueue(q.GetQueue())
		}
		for _, r := range info.GetRates() {
			r.Topic = n.wire(r.GetTopic())
		}
	}
	return reply
}
