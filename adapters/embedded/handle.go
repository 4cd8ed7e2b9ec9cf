package embedded

import (
	"fmt"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// handle carries out one request. No answer now: the request is held, or nobody waits.
func (i *incarnation) handle(c *connection, cmd *wire.Command) *wire.Command {
	if refusal := i.checkSignature(cmd); refusal != nil {
		return refusal
	}
	switch wire.RequestCode(cmd.Code) {
	case wire.PullMessage, wire.LitePullMessage:
		return i.pull(c, cmd)
	case wire.SendMessage, wire.SendMessageV2, wire.SendBatchMessage:
		return i.send(c, cmd)
	case wire.ConsumerSendMsgBack:
		return i.sendBack(cmd)
	case wire.EndTransaction:
		return i.endTransaction(cmd)
	case wire.HeartBeat:
		return i.heartbeat(c, cmd)
	case wire.UnregisterClient:
		return i.unregister(c, cmd)
	case wire.GetConsumerListByGroup:
		return i.consumerList(cmd)
	case wire.CheckClientConfig:
		return i.checkClient(cmd)
	case wire.QueryConsumerOffset:
		return i.queryOffset(cmd)
	case wire.UpdateConsumerOffset:
		return i.updateOffset(cmd)
	case wire.GetMaxOffset:
		return i.queueOffset(cmd, func(q queueIndex) int64 { _, hi := q.bounds(); return hi })
	case wire.GetMinOffset:
		return i.queueOffset(cmd, func(q queueIndex) int64 { lo, _ := q.bounds(); return lo })
	case wire.SearchOffsetByTimestamp:
		return i.searchOffset(cmd)
	case wire.GetEarliestMsgStoreTime:
		return i.earliestTime(cmd)
	case wire.LockBatchMQ:
		return i.lock(cmd)
	case wire.UnlockBatchMQ:
		return i.unlock(cmd)
	default:
		return i.handleTool(c, cmd)
	}
}

// handleTool carries out what administrators' tools ask.
func (i *incarnation) handleTool(c *connection, cmd *wire.Command) *wire.Command {
	switch wire.RequestCode(cmd.Code) {
	case wire.UpdateAndCreateTopic:
		return i.updateTopic(cmd)
	case wire.DeleteTopicInBroker:
		return i.deleteTopic(cmd)
	case wire.GetTopicConfig:
		return i.topicConfig(cmd)
	case wire.GetTopicStatsInfo:
		return i.topicStats(cmd)
	case wire.UpdateAndCreateSubscriptionGroup:
		return i.updateGroup(cmd)
	case wire.DeleteSubscriptionGroup:
		return i.deleteGroup(cmd)
	case wire.GetAllSubscriptionGroupConfig:
		return i.groupConfigs()
	case wire.QueryMessage:
		return i.queryMessage(cmd)
	case wire.GetConsumerConnectionList:
		return i.consumerConnections(cmd)
	case wire.GetProducerConnectionList:
		return i.producerConnections(cmd)
	case wire.GetConsumeStats:
		return i.consumeStats(cmd)
	case wire.QueryTopicConsumeByWho:
		return i.consumers(cmd)
	case wire.InvokeBrokerToResetOffset:
		return i.resetOffset(cmd)
	case wire.InvokeBrokerToGetConsumerStatus:
		return i.consumerStatus(c, cmd)
	case wire.GetConsumerRunningInfo:
		return i.runningInfo(c, cmd)
	case wire.ConsumeMessageDirectly:
		return i.consumeDirectly(c, cmd)
	case wire.ViewMessageByID:
		return i.viewMessage(cmd)
	case wire.GetBrokerConfig:
		return i.brokerConfig()
	default:
		return i.handleName(cmd)
	}
}

// handleName carries out what clients ask a name server, if the broker is its own.
func (i *incarnation) handleName(cmd *wire.Command) *wire.Command {
	if i.b.ownNames {
		if answer := i.b.nameServer.answer(cmd); answer != nil {
			return answer
		}
	}
	return unsupported(cmd)
}

// unsupported is the answer to a kind of request that nobody here knows.
func unsupported(cmd *wire.Command) *wire.Command {
	return refuse(wire.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", cmd.Code))
}
