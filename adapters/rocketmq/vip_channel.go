package rocketmq

import (
	"net"
	"strconv"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// vipAddress is the address of a broker's second listener, two ports below the first (MixAll.brokerVIPChannel). An address
// that has none stays as it is.
func vipAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	n, err := strconv.Atoi(port)
	if err != nil || n <= 2 {
		return address
	}
	return net.JoinHostPort(host, strconv.Itoa(n-2))
}

// onVIPChannel tells which requests Java sends to the second listener: all to brokers but those for which the broker has to
// know the connection, heartbeats and pulls, which that listener does not serve (MQClientAPIImpl).
func onVIPChannel(code wire.RequestCode) bool {
	switch code {
	case wire.GetConsumerListByGroup, wire.QueryConsumerOffset, wire.UpdateConsumerOffset, wire.GetMinOffset, wire.GetMaxOffset,
		wire.SearchOffsetByTimestamp, wire.ConsumerSendMsgBack, wire.SendMessageV2, wire.SendBatchMessage, wire.LockBatchMQ,
		wire.UnlockBatchMQ:
		return true
	}
	return false
}
