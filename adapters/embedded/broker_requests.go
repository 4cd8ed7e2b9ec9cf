package embedded

import (
	"strconv"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// brokerConfig answers GET_BROKER_CONFIG (26) with the settings that this broker has, under Apache's names.
func (i *incarnation) brokerConfig() *wire.Command {
	cfg := i.b.cfg
	flag := strconv.FormatBool
	perm, _ := i.b.permission()
	return acceptBody(wire.EncodeProperties(map[string]string{
		"brokerClusterName":           cfg.ClusterName,
		"brokerName":                  cfg.BrokerName,
		"brokerId":                    strconv.FormatInt(cfg.BrokerID, 10),
		"brokerPermission":            strconv.Itoa(int(perm)),
		"autoCreateTopicEnable":       flag(!cfg.NoTopicCreation),
		"autoCreateSubscriptionGroup": flag(!cfg.NoGroupCreation),
		"enablePropertyFilter":        flag(cfg.PropertyFilter),
		"litePullMessageEnable":       flag(!cfg.NoLitePull),
		"useServerSideResetOffset":    flag(!cfg.ClientSideReset),
		"maxMessageSize":              strconv.Itoa(cfg.MaxMessageBytes),
		"rejectTransactionMessage":    flag(cfg.NoTransactions),
		"transactionTimeOut":          strconv.FormatInt(cfg.TransactionTimeout.Milliseconds(), 10),
		"transactionCheckInterval":    strconv.FormatInt(cfg.TransactionCheckInterval.Milliseconds(), 10),
		"transactionCheckMax":         strconv.Itoa(cfg.TransactionCheckMax),
	}))
}
