package rocketmq

import (
	"context"
	"fmt"
	"maps"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// brokerCalls turns what brokers ask of the client into the actors' words and back. A question that finds no answer is
// answered REQUEST_CODE_NOT_SUPPORTED, so that the broker does not wait.
func brokerCalls(calls func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply) func(context.Context, string, *wire.Command) *wire.Command {
	return func(ctx context.Context, address string, cmd *wire.Command) *wire.Command {
		reply := calls(ctx, &messages.BrokerCall{
			Code:    cmd.Code,
			Address: address,
			Fields:  maps.Collect(cmd.Ext.All()),
			Body:    cmd.Body,
			OneWay:  cmd.IsOneWay(),
		})
		switch {
		case cmd.IsOneWay():
			return nil
		case reply == nil:
			return wire.NewResponse(wire.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", cmd.Code))
		}
		answer := wire.NewResponse(wire.ResponseCode(reply.GetCode()), reply.GetRemark())
		answer.Body = reply.GetBody()
		return answer
	}
}
