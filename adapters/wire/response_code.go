package wire

import (
	"iter"
	"maps"
	"slices"
	"strconv"
)

// ResponseCode is a server's verdict on a request.
type ResponseCode int32

// The response codes (RemotingSysResponseCode, ResponseCode).
const (
	// Success: carried out.
	Success ResponseCode = 0
	// SystemError: the server failed; the remark tells why.
	SystemError ResponseCode = 1
	// SystemBusy: the server refuses load for now.
	SystemBusy ResponseCode = 2
	// RequestCodeNotSupported: the server does not know the request.
	RequestCodeNotSupported ResponseCode = 3
	// TransactionFailed: the transaction failed.
	TransactionFailed ResponseCode = 4
	// FlushDiskTimeout: stored, not yet on disk.
	FlushDiskTimeout ResponseCode = 10
	// SlaveNotAvailable: stored, no slave is near enough.
	SlaveNotAvailable ResponseCode = 11
	// FlushSlaveTimeout: stored, not yet on a slave.
	FlushSlaveTimeout ResponseCode = 12
	// MessageIllegal: the message or its place is not acceptable.
	MessageIllegal ResponseCode = 13
	// ServiceNotAvailable: the server is not ready or shuts down.
	ServiceNotAvailable ResponseCode = 14
	// VersionNotSupported: the server does not speak the client's version.
	VersionNotSupported ResponseCode = 15
	// NoPermission: not permitted by topic, group, broker or access rules.
	NoPermission ResponseCode = 16
	// TopicNotExist: the topic is not known here, or not yet.
	TopicNotExist ResponseCode = 17
	// TopicExistAlready: the topic exists already.
	TopicExistAlready ResponseCode = 18
	// PullNotFound: nothing to read yet.
	PullNotFound ResponseCode = 19
	// PullRetryImmediately: nothing matched; ask again from nextBeginOffset.
	PullRetryImmediately ResponseCode = 20
	// PullOffsetMoved: the offset is outside the queue; nextBeginOffset corrects it.
	PullOffsetMoved ResponseCode = 21
	// QueryNotFound: nothing is stored under that key.
	QueryNotFound ResponseCode = 22
	// SubscriptionParseFailed: the filter expression is wrong.
	SubscriptionParseFailed ResponseCode = 23
	// SubscriptionNotExist: the broker has no subscription of this group, or not yet.
	SubscriptionNotExist ResponseCode = 24
	// SubscriptionNotLatest: the broker's subscription is older than the request's.
	SubscriptionNotLatest ResponseCode = 25
	// SubscriptionGroupNotExist: the group is not known and may not be created, or not yet.
	SubscriptionGroupNotExist ResponseCode = 26
	// FilterDataNotExist: the broker has no compiled filter, or not yet.
	FilterDataNotExist ResponseCode = 27
	// FilterDataNotLatest: the broker's compiled filter is older than the request's.
	FilterDataNotLatest ResponseCode = 28
	// InvalidParameter: a field is missing or out of range.
	InvalidParameter ResponseCode = 29
	// TransactionShouldCommit: the transaction is to be committed.
	TransactionShouldCommit ResponseCode = 200
	// TransactionShouldRollback: the transaction is to be rolled back.
	TransactionShouldRollback ResponseCode = 201
	// TransactionStateUnknown: the state of the transaction is not known.
	TransactionStateUnknown ResponseCode = 202
	// TransactionStateGroupWrong: the transaction belongs to another group.
	TransactionStateGroupWrong ResponseCode = 203
	// NoBuyerID: no buyer id is known.
	NoBuyerID ResponseCode = 204
	// NotInCurrentUnit: another unit serves it.
	NotInCurrentUnit ResponseCode = 205
	// ConsumerNotOnline: no member of the group is connected.
	ConsumerNotOnline ResponseCode = 206
	// ConsumeMsgTimeout: the client did not answer the broker in time.
	ConsumeMsgTimeout ResponseCode = 207
	// NoMessage: no message has that offset.
	NoMessage ResponseCode = 208
	// PollingFull: too many requests wait already.
	PollingFull ResponseCode = 209
	// PollingTimeout: nothing came while waiting.
	PollingTimeout ResponseCode = 210
	// BrokerNotExist: the broker is not known.
	BrokerNotExist ResponseCode = 211
	// BrokerDispatchNotComplete: the broker's consume queues lag behind.
	BrokerDispatchNotComplete ResponseCode = 212
	// BroadcastConsumption: not possible for a broadcasting group.
	BroadcastConsumption ResponseCode = 213
	// FlowControl: the server limits the rate.
	FlowControl ResponseCode = 215
	// NotLeaderForQueue: another broker leads the queue.
	NotLeaderForQueue ResponseCode = 501
	// IllegalOperation: the operation is not allowed.
	IllegalOperation ResponseCode = 604
	// GoAway: the server shuts down; repeat on a new connection.
	GoAway ResponseCode = 1500
	// ControllerFencedMasterEpoch: controller: older master epoch.
	ControllerFencedMasterEpoch ResponseCode = 2000
	// ControllerNotLeader: controller: another node leads.
	ControllerNotLeader ResponseCode = 2007
	// UserNotExist: the user is not known.
	UserNotExist ResponseCode = 3001
	// PolicyNotExist: the policy is not known.
	PolicyNotExist ResponseCode = 3002
)

// responseFact is one line of the table of response codes.
type responseFact struct {
	name, meaning string
	retriable     bool
}

// responseFacts is the one table of response codes: name, meaning, whether asking again later can succeed.
var responseFacts = map[ResponseCode]responseFact{
	Success:                     {"SUCCESS", "carried out", false},
	SystemError:                 {"SYSTEM_ERROR", "the server failed; the remark tells why", true},
	SystemBusy:                  {"SYSTEM_BUSY", "the server refuses load for now", true},
	RequestCodeNotSupported:     {"REQUEST_CODE_NOT_SUPPORTED", "the server does not know the request", false},
	TransactionFailed:           {"TRANSACTION_FAILED", "the transaction failed", false},
	FlushDiskTimeout:            {"FLUSH_DISK_TIMEOUT", "stored, not yet on disk", false},
	SlaveNotAvailable:           {"SLAVE_NOT_AVAILABLE", "stored, no slave is near enough", false},
	FlushSlaveTimeout:           {"FLUSH_SLAVE_TIMEOUT", "stored, not yet on a slave", false},
	MessageIllegal:              {"MESSAGE_ILLEGAL", "the message or its place is not acceptable", false},
	ServiceNotAvailable:         {"SERVICE_NOT_AVAILABLE", "the server is not ready or shuts down", true},
	VersionNotSupported:         {"VERSION_NOT_SUPPORTED", "the server does not speak the client's version", false},
	NoPermission:                {"NO_PERMISSION", "not permitted by topic, group, broker or access rules", false},
	TopicNotExist:               {"TOPIC_NOT_EXIST", "the topic is not known here, or not yet", true},
	TopicExistAlready:           {"TOPIC_EXIST_ALREADY", "the topic exists already", false},
	PullNotFound:                {"PULL_NOT_FOUND", "nothing to read yet", true},
	PullRetryImmediately:        {"PULL_RETRY_IMMEDIATELY", "nothing matched; ask again from nextBeginOffset", true},
	PullOffsetMoved:             {"PULL_OFFSET_MOVED", "the offset is outside the queue; nextBeginOffset corrects it", false},
	QueryNotFound:               {"QUERY_NOT_FOUND", "nothing is stored under that key", false},
	SubscriptionParseFailed:     {"SUBSCRIPTION_PARSE_FAILED", "the filter expression is wrong", false},
	SubscriptionNotExist:        {"SUBSCRIPTION_NOT_EXIST", "the broker has no subscription of this group, or not yet", true},
	SubscriptionNotLatest:       {"SUBSCRIPTION_NOT_LATEST", "the broker's subscription is older than the request's", true},
	SubscriptionGroupNotExist:   {"SUBSCRIPTION_GROUP_NOT_EXIST", "the group is not known and may not be created, or not yet", true},
	FilterDataNotExist:          {"FILTER_DATA_NOT_EXIST", "the broker has no compiled filter, or not yet", true},
	FilterDataNotLatest:         {"FILTER_DATA_NOT_LATEST", "the broker's compiled filter is older than the request's", true},
	InvalidParameter:            {"INVALID_PARAMETER", "a field is missing or out of range", false},
	TransactionShouldCommit:     {"TRANSACTION_SHOULD_COMMIT", "the transaction is to be committed", false},
	TransactionShouldRollback:   {"TRANSACTION_SHOULD_ROLLBACK", "the transaction is to be rolled back", false},
	TransactionStateUnknown:     {"TRANSACTION_STATE_UNKNOW", "the state of the transaction is not known", false},
	TransactionStateGroupWrong:  {"TRANSACTION_STATE_GROUP_WRONG", "the transaction belongs to another group", false},
	NoBuyerID:                   {"NO_BUYER_ID", "no buyer id is known", true},
	NotInCurrentUnit:            {"NOT_IN_CURRENT_UNIT", "another unit serves it", true},
	ConsumerNotOnline:           {"CONSUMER_NOT_ONLINE", "no member of the group is connected", true},
	ConsumeMsgTimeout:           {"CONSUME_MSG_TIMEOUT", "the client did not answer the broker in time", true},
	NoMessage:                   {"NO_MESSAGE", "no message has that offset", false},
	PollingFull:                 {"POLLING_FULL", "too many requests wait already", true},
	PollingTimeout:              {"POLLING_TIMEOUT", "nothing came while waiting", true},
	BrokerNotExist:              {"BROKER_NOT_EXIST", "the broker is not known", true},
	BrokerDispatchNotComplete:   {"BROKER_DISPATCH_NOT_COMPLETE", "the broker's consume queues lag behind", true},
	BroadcastConsumption:        {"BROADCAST_CONSUMPTION", "not possible for a broadcasting group", false},
	FlowControl:                 {"FLOW_CONTROL", "the server limits the rate", true},
	NotLeaderForQueue:           {"NOT_LEADER_FOR_QUEUE", "another broker leads the queue", true},
	IllegalOperation:            {"ILLEGAL_OPERATION", "the operation is not allowed", false},
	GoAway:                      {"GO_AWAY", "the server shuts down; repeat on a new connection", true},
	ControllerFencedMasterEpoch: {"CONTROLLER_FENCED_MASTER_EPOCH", "controller: older master epoch", false},
	ControllerNotLeader:         {"CONTROLLER_NOT_LEADER", "controller: another node leads", true},
	UserNotExist:                {"USER_NOT_EXIST", "the user is not known", false},
	PolicyNotExist:              {"POLICY_NOT_EXIST", "the policy is not known", false},
}

// String gives the code's name, e.g. "PULL_NOT_FOUND"; CODE_n for a number without a name.
func (c ResponseCode) String() string {
	if f, ok := responseFacts[c]; ok {
		return f.name
	}
	return "CODE_" + strconv.Itoa(int(c))
}

// Meaning tells in a few words what the code says; empty for a code that is not known.
func (c ResponseCode) Meaning() string { return responseFacts[c].meaning }

// Retriable tells whether the same request can succeed later without anybody changing it; false for a code that is not known.
func (c ResponseCode) Retriable() bool { return responseFacts[c].retriable }

// Stored tells whether a send was stored: SUCCESS and the three codes that report a slow disk or slave.
func (c ResponseCode) Stored() bool {
	return c == Success || c == FlushDiskTimeout || c == SlaveNotAvailable || c == FlushSlaveTimeout
}

// ResponseCodes lists the codes that have a name, ascending.
func ResponseCodes() iter.Seq[ResponseCode] {
	return slices.Values(slices.Sorted(maps.Keys(responseFacts)))
}
