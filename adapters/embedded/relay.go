package embedded

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// clientAnswers is how long a broker waits for a client that it asked (Broker2Client).
const clientAnswers = 10 * time.Second

// later answers a request when its answer is known; the connection is served meanwhile.
func (i *incarnation) later(c *connection, cmd *wire.Command, answer func(context.Context) *wire.Command) {
	i.wg.Add(1)
	go func() {
		defer i.wg.Done()
		ctx, cancel := context.WithTimeout(i.ctx, clientAnswers)
		defer cancel()
		if response := answer(ctx); !cmd.IsOneWay() {
			c.answer(cmd.Opaque, response)
		}
		i.b.events.happened()
	}()
}

// runningInfo passes GET_CONSUMER_RUNNING_INFO (307) on to the client that it names, and its answer back.
func (i *incarnation) runningInfo(c *connection, cmd *wire.Command) *wire.Command {
	var h wire.RunningInfoHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	request := wire.NewRequest(wire.GetConsumerRunningInfo)
	h.AppendTo(&request.Ext)
	return i.relay(c, cmd, request, h.Group, h.ClientID)
}

// consumeDirectly passes CONSUME_MESSAGE_DIRECTLY (309) on to the client that it names, with the message that it names.
func (i *incarnation) consumeDirectly(c *connection, cmd *wire.Command) *wire.Command {
	var h wire.ConsumeDirectlyHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	at, err := wire.CommitLogOffset(h.MessageID)
	if err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	record, ok := i.b.store.record(at, 0)
	if !ok {
		return refuse(wire.SystemError, fmt.Sprintf("can not find message by the offset, %d", at))
	}
	h.Broker = i.b.cfg.BrokerName
	request := wire.NewRequest(wire.ConsumeMessageDirectly)
	h.AppendTo(&request.Ext)
	request.Body = record
	return i.relay(c, cmd, request, h.Group, h.ClientID)
}

// relay asks a member of a group and answers what it says.
func (i *incarnation) relay(c *connection, cmd, request *wire.Command, group, client string) *wire.Command {
	member := i.members.find(group, client)
	if member == nil {
		return refuse(wire.SystemError, fmt.Sprintf("The Consumer <%s> <%s> not online", group, client))
	}
	i.later(c, cmd, func(ctx context.Context) *wire.Command {
		answer, err := member.session.Request(ctx, request)
		if lost, ok := errors.AsType[*messages.NetworkError](err); ok && lost.TimedOut {
			return refuse(wire.ConsumeMsgTimeout, fmt.Sprintf("consumer <%s> <%s> Timeout: %v", group, client, err))
		}
		if err != nil {
			return refuse(wire.SystemError, fmt.Sprintf("invoke consumer <%s> <%s> Exception: %v", group, client, err))
		}
		return answer
	})
	return nil
}

// consumerStatus answers INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223): the offsets that the members of a group have in memory,
// of one if it is named, asked one after the other. A member that says nothing is left out.
func (i *incarnation) consumerStatus(c *connection, cmd *wire.Command) *wire.Command {
	var h wire.ConsumerStatusHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	g, online := i.members.describe(h.Group)
	if !online {
		return refuse(wire.ConsumerNotOnline, fmt.Sprintf("No Any Consumer online in the consumer group: [%s]", h.Group))
	}
	i.later(c, cmd, func(ctx context.Context) *wire.Command {
		body := wire.ConsumerStatus{Clients: map[string]map[wire.MessageQueue]int64{}}
		for _, conn := range g.order {
			client := g.members[conn].client
			if h.ClientAddr != "" && h.ClientAddr != client {
				continue
			}
			request := wire.NewRequest(wire.GetConsumerStatusFromClient)
			(&wire.ConsumerStatusHeader{Topic: h.Topic, Group: h.Group}).AppendTo(&request.Ext)
			answer, err := conn.session.Request(ctx, request)
			if err != nil || answer.Code != int32(wire.Success) {
				continue
			}
			if status, err := wire.DecodeConsumerStatus(answer.Body); err == nil {
				body.Clients[client] = status.Queues
			}
		}
		return acceptBody(body.EncodeRaw())
	})
	return nil
}
