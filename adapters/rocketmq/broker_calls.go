package rocketmq

import (
	"context"
	"fmt"
	"slices"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// brokerCalls turns what brokers ask of the client into the actors' words and back. A question that finds no answer is
// answered REQUEST_CODE_NOT_SUPPORTED, so that the broker does not wait.
func brokerCalls(calls func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply) func(context.Context, string, *wire.Command) *wire.Command {
	return func(ctx context.Context, address string, cmd *wire.Command) *wire.Command {
		call := &messages.BrokerCall{Code: cmd.Code, Address: address, OneWay: cmd.IsOneWay()}
		if err := readQuestion(call, cmd); err != nil {
			call.Question = &messages.BrokerCall_Malformed{Malformed: fmt.Sprintf("%s: %v", wire.RequestCode(cmd.Code), err)}
		}
		reply := calls(ctx, call)
		switch {
		case cmd.IsOneWay():
			return nil
		case reply == nil:
			return wire.NewResponse(wire.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", cmd.Code))
		}
		answer := wire.NewResponse(wire.ResponseCode(reply.GetCode()), reply.GetRemark())
		answer.Body = answerBody(reply)
		return answer
	}
}

// readQuestion puts what the request asks into the call; nothing if it is a kind of request that is not served.
func readQuestion(call *messages.BrokerCall, cmd *wire.Command) error {
	switch wire.RequestCode(cmd.Code) {
	case wire.NotifyConsumerIDsChanged:
		var h wire.GroupHeader
		if err := h.ReadFrom(&cmd.Ext); err != nil {
			return err
		}
		call.Question = &messages.BrokerCall_MembersChanged{MembersChanged: &messages.MembersChanged{Group: h.Group}}
	case wire.ResetConsumerClientOffset:
		reset, err := readReset(cmd)
		if err != nil {
			return err
		}
		call.Question = &messages.BrokerCall_ResetOffsets{ResetOffsets: reset}
	case wire.GetConsumerStatusFromClient:
		var h wire.ConsumerStatusHeader
		if err := h.ReadFrom(&cmd.Ext); err != nil {
			return err
		}
		call.Question = &messages.BrokerCall_OffsetsQuery{OffsetsQuery: &messages.OffsetsQuery{Group: h.Group, Topic: h.Topic}}
	case wire.GetConsumerRunningInfo:
		var h wire.RunningInfoHeader
		if err := h.ReadFrom(&cmd.Ext); err != nil {
			return err
		}
		call.Question = &messages.BrokerCall_RunningInfoQuery{RunningInfoQuery: &messages.RunningInfoQuery{Group: h.Group, Tree: h.JStack}}
	case wire.ConsumeMessageDirectly:
		ask, err := readDirect(cmd)
		if err != nil {
			return err
		}
		call.Question = &messages.BrokerCall_ConsumeDirectly{ConsumeDirectly: ask}
	}
	return nil
}

// readReset reads RESET_CONSUMER_CLIENT_OFFSET (220), whose table has one of several forms (protocol.md 3.6).
func readReset(cmd *wire.Command) (*messages.ResetOffsets, error) {
	var h wire.ResetOffsetHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return nil, err
	}
	body, err := wire.DecodeResetOffset(cmd.Body)
	if err != nil {
		return nil, err
	}
	reset := &messages.ResetOffsets{Group: h.Group, Topic: h.Topic}
	for q, offset := range body.Offsets {
		reset.Offsets = append(reset.Offsets, &messages.QueueOffset{Queue: q.Key().Queue(), Offset: offset})
	}
	slices.SortFunc(reset.Offsets, func(x, y *messages.QueueOffset) int { return x.GetQueue().Key().Compare(y.GetQueue().Key()) })
	return reset, nil
}

// readDirect reads CONSUME_MESSAGE_DIRECTLY (309), whose body is one stored message. One that was being retried gets its
// original topic back.
func readDirect(cmd *wire.Command) (*messages.ConsumeDirectly, error) {
	var h wire.ConsumeDirectlyHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return nil, err
	}
	topic := wire.RetryTopicPrefix + h.Group
	slab, corrupt, err := wire.DecodeMessages(nil, cmd.Body, &wire.DecodeOptions{Topic: topic, Broker: h.Broker, OwnQueueID: true})
	switch {
	case err != nil:
		return nil, err
	case len(corrupt) > 0:
		return nil, corrupt[0].Err
	case len(slab) != 1:
		return nil, fmt.Errorf("%d messages; exactly one can be consumed directly", len(slab))
	}
	return &messages.ConsumeDirectly{Group: h.Group, Message: &slab[0]}, nil
}

// answerBody writes what the client has to say.
func answerBody(reply *messages.BrokerCallReply) []byte {
	switch a := reply.GetAnswer().(type) {
	case *messages.BrokerCallReply_Offsets:
		return offsetsBody(a.Offsets)
	case *messages.BrokerCallReply_RunningInfo:
		return runningInfo(a.RunningInfo).EncodeRaw()
	case *messages.BrokerCallReply_DirectResult:
		return directResult(a.DirectResult).Encode()
	}
	return nil
}

func offsetsBody(o *messages.OffsetsReply) []byte {
	body := &wire.ConsumerStatus{Queues: map[wire.MessageQueue]int64{}}
	for _, at := range o.GetOffsets() {
		body.Queues[wire.QueueOf(at.GetQueue().Key())] = at.GetOffset()
	}
	return body.EncodeRaw()
}

func directResult(r *messages.DirectResult) *wire.ConsumeDirectlyResult {
	out := &wire.ConsumeDirectlyResult{
		Order: r.GetOrderly(), AutoCommit: true, Result: wire.ConsumeSuccess, Remark: r.GetRemark(), SpentMillis: r.GetSpentMillis(),
	}
	switch r.GetVerdict() {
	case messages.DirectVerdict_DIRECT_VERDICT_LATER:
		out.Result = wire.ConsumeLater
	case messages.DirectVerdict_DIRECT_VERDICT_PANICKED:
		out.Result = wire.ConsumeThrew
	}
	return out
}
