package wire

import "strconv"

// RequestCode says what a request asks for. Binary headers carry its low 16 bits only, so the POP family needs JSON headers.
type RequestCode int32

// The request codes (RequestCode).
const (
	// SendMessage stores one message (long field names).
	SendMessage RequestCode = 10
	// PullMessage reads a queue from an offset, waiting if it is empty.
	PullMessage RequestCode = 11
	// QueryMessage finds messages by key.
	QueryMessage RequestCode = 12
	// QueryConsumerOffset reads a group's committed offset of one queue.
	QueryConsumerOffset RequestCode = 14
	// UpdateConsumerOffset commits a group's offset of one queue.
	UpdateConsumerOffset RequestCode = 15
	// UpdateAndCreateTopic creates or changes a topic on one broker.
	UpdateAndCreateTopic RequestCode = 17
	// UpdateAndCreateTopicList creates or changes several topics.
	UpdateAndCreateTopicList RequestCode = 18
	// UpdateBrokerConfig changes broker properties.
	UpdateBrokerConfig RequestCode = 25
	// GetBrokerConfig reads broker properties.
	GetBrokerConfig RequestCode = 26
	// GetBrokerRuntimeInfo reads broker statistics.
	GetBrokerRuntimeInfo RequestCode = 28
	// SearchOffsetByTimestamp finds the offset stored at a time.
	SearchOffsetByTimestamp RequestCode = 29
	// GetMaxOffset gives the next offset a queue will use.
	GetMaxOffset RequestCode = 30
	// GetMinOffset gives the lowest offset a queue still has.
	GetMinOffset RequestCode = 31
	// GetEarliestMsgStoreTime gives the store time of a queue's first message.
	GetEarliestMsgStoreTime RequestCode = 32
	// ViewMessageByID reads one message by commit-log offset.
	ViewMessageByID RequestCode = 33
	// HeartBeat registers the groups of a client.
	HeartBeat RequestCode = 34
	// UnregisterClient removes a client from a group.
	UnregisterClient RequestCode = 35
	// ConsumerSendMsgBack hands a message back for a later attempt.
	ConsumerSendMsgBack RequestCode = 36
	// EndTransaction commits or rolls back a half message.
	EndTransaction RequestCode = 37
	// GetConsumerListByGroup lists the client ids of a group.
	GetConsumerListByGroup RequestCode = 38
	// CheckTransactionState broker to producer: what became of a half message.
	CheckTransactionState RequestCode = 39
	// NotifyConsumerIDsChanged broker to consumer: a group's members changed.
	NotifyConsumerIDsChanged RequestCode = 40
	// LockBatchMQ locks queues for an orderly consumer.
	LockBatchMQ RequestCode = 41
	// UnlockBatchMQ frees locked queues.
	UnlockBatchMQ RequestCode = 42
	// GetAllConsumerOffset reads all committed offsets of a broker.
	GetAllConsumerOffset RequestCode = 43
	// GetAllDelayOffset reads the progress of the delay levels.
	GetAllDelayOffset RequestCode = 45
	// CheckClientConfig validates a subscription.
	CheckClientConfig RequestCode = 46
	// PutKVConfig stores a value at the name server.
	PutKVConfig RequestCode = 100
	// GetKVConfig reads a value from the name server.
	GetKVConfig RequestCode = 101
	// DeleteKVConfig deletes a value at the name server.
	DeleteKVConfig RequestCode = 102
	// RegisterBroker broker to name server: topics of a broker.
	RegisterBroker RequestCode = 103
	// UnregisterBroker broker to name server: broker leaves.
	UnregisterBroker RequestCode = 104
	// GetRouteInfoByTopic which brokers serve a topic.
	GetRouteInfoByTopic RequestCode = 105
	// GetBrokerClusterInfo all clusters and brokers.
	GetBrokerClusterInfo RequestCode = 106
	// UpdateAndCreateSubscriptionGroup creates or changes a group's settings.
	UpdateAndCreateSubscriptionGroup RequestCode = 200
	// GetAllSubscriptionGroupConfig reads the settings of all groups.
	GetAllSubscriptionGroupConfig RequestCode = 201
	// GetTopicStatsInfo offsets of every queue of a topic.
	GetTopicStatsInfo RequestCode = 202
	// GetConsumerConnectionList members and subscriptions of a group.
	GetConsumerConnectionList RequestCode = 203
	// GetProducerConnectionList members of a producer group.
	GetProducerConnectionList RequestCode = 204
	// WipeWritePermOfBroker takes the write permission of a broker's topics.
	WipeWritePermOfBroker RequestCode = 205
	// GetAllTopicListFromNameServer names of all topics.
	GetAllTopicListFromNameServer RequestCode = 206
	// DeleteSubscriptionGroup deletes a group's settings.
	DeleteSubscriptionGroup RequestCode = 207
	// GetConsumeStats offsets and lag of a group.
	GetConsumeStats RequestCode = 208
	// DeleteTopicInBroker deletes a topic on one broker.
	DeleteTopicInBroker RequestCode = 215
	// DeleteTopicInNameServer forgets a topic's route.
	DeleteTopicInNameServer RequestCode = 216
	// RegisterTopicInNameServer registers one topic's route.
	RegisterTopicInNameServer RequestCode = 217
	// GetKVListByNamespace reads all values of a namespace.
	GetKVListByNamespace RequestCode = 219
	// ResetConsumerClientOffset broker to consumer: continue at other offsets.
	ResetConsumerClientOffset RequestCode = 220
	// GetConsumerStatusFromClient broker to consumer: offsets in memory.
	GetConsumerStatusFromClient RequestCode = 221
	// InvokeBrokerToResetOffset resets a group to a time.
	InvokeBrokerToResetOffset RequestCode = 222
	// InvokeBrokerToGetConsumerStatus asks the members for their offsets.
	InvokeBrokerToGetConsumerStatus RequestCode = 223
	// GetTopicsByCluster names of a cluster's topics.
	GetTopicsByCluster RequestCode = 224
	// QueryTopicConsumeByWho groups that consume a topic.
	QueryTopicConsumeByWho RequestCode = 300
	// QueryConsumeTimeSpan store times of a group's position.
	QueryConsumeTimeSpan RequestCode = 303
	// GetSystemTopicListFromNameServer names of the system topics.
	GetSystemTopicListFromNameServer RequestCode = 304
	// GetSystemTopicListFromBroker names of the system topics.
	GetSystemTopicListFromBroker RequestCode = 305
	// GetConsumerRunningInfo broker to consumer, tool to broker: state of one client.
	GetConsumerRunningInfo RequestCode = 307
	// QueryCorrectionOffset compares offsets of groups.
	QueryCorrectionOffset RequestCode = 308
	// ConsumeMessageDirectly broker to consumer, tool to broker: handle this message now.
	ConsumeMessageDirectly RequestCode = 309
	// SendMessageV2 stores one message (one-letter field names).
	SendMessageV2 RequestCode = 310
	// CloneGroupOffset copies a group's offsets.
	CloneGroupOffset RequestCode = 314
	// GetBrokerConsumeStats lag of all groups of a broker.
	GetBrokerConsumeStats RequestCode = 317
	// SendBatchMessage stores several messages of one queue.
	SendBatchMessage RequestCode = 320
	// QueryDataVersion broker to name server: is my registration current.
	QueryDataVersion RequestCode = 322
	// SendReplyMessage answers a request message (long field names).
	SendReplyMessage RequestCode = 324
	// SendReplyMessageV2 answers a request message (one-letter field names).
	SendReplyMessageV2 RequestCode = 325
	// PushReplyMessageToClient broker to producer: a reply message.
	PushReplyMessageToClient RequestCode = 326
	// AddWritePermOfBroker gives the write permission back.
	AddWritePermOfBroker RequestCode = 327
	// QueryTopicsByConsumer topics a group consumes.
	QueryTopicsByConsumer RequestCode = 343
	// QuerySubscriptionByConsumer a group's subscription of a topic.
	QuerySubscriptionByConsumer RequestCode = 345
	// GetTopicConfig reads a topic's settings.
	GetTopicConfig RequestCode = 351
	// GetSubscriptionGroupConfig reads a group's settings.
	GetSubscriptionGroupConfig RequestCode = 352
	// UpdateAndGetGroupForbidden forbids a group to read a topic.
	UpdateAndGetGroupForbidden RequestCode = 353
	// LitePullMessage PULL_MESSAGE of the lite pull consumer.
	LitePullMessage RequestCode = 361
	// RecallMessage takes a delayed message back.
	RecallMessage RequestCode = 370
	// QueryAssignment asks the broker for a client's queues.
	QueryAssignment RequestCode = 400
	// SetMessageRequestMode chooses pull or pop for a group.
	SetMessageRequestMode RequestCode = 401
	// GetBrokerMemberGroup members of a broker set.
	GetBrokerMemberGroup RequestCode = 901
	// BrokerHeartbeat broker to name server: alive.
	BrokerHeartbeat RequestCode = 904
	// PopMessage takes messages for a while.
	PopMessage RequestCode = 200050
	// AckMessage settles a popped message.
	AckMessage RequestCode = 200051
	// PeekMessage reads as POP_MESSAGE without taking.
	PeekMessage RequestCode = 200052
	// ChangeMessageInvisibleTime keeps a popped message longer.
	ChangeMessageInvisibleTime RequestCode = 200053
	// Notification waits until POP_MESSAGE would find something.
	Notification RequestCode = 200054
	// PollingInfo number of waiting POP_MESSAGE requests.
	PollingInfo RequestCode = 200055
	// BatchAckMessage settles several popped messages.
	BatchAckMessage RequestCode = 200151
)

// requestNames names every code of this file.
var requestNames = map[RequestCode]string{
	SendMessage:                      "SEND_MESSAGE",
	PullMessage:                      "PULL_MESSAGE",
	QueryMessage:                     "QUERY_MESSAGE",
	QueryConsumerOffset:              "QUERY_CONSUMER_OFFSET",
	UpdateConsumerOffset:             "UPDATE_CONSUMER_OFFSET",
	UpdateAndCreateTopic:             "UPDATE_AND_CREATE_TOPIC",
	UpdateAndCreateTopicList:         "UPDATE_AND_CREATE_TOPIC_LIST",
	UpdateBrokerConfig:               "UPDATE_BROKER_CONFIG",
	GetBrokerConfig:                  "GET_BROKER_CONFIG",
	GetBrokerRuntimeInfo:             "GET_BROKER_RUNTIME_INFO",
	SearchOffsetByTimestamp:          "SEARCH_OFFSET_BY_TIMESTAMP",
	GetMaxOffset:                     "GET_MAX_OFFSET",
	GetMinOffset:                     "GET_MIN_OFFSET",
	GetEarliestMsgStoreTime:          "GET_EARLIEST_MSG_STORETIME",
	ViewMessageByID:                  "VIEW_MESSAGE_BY_ID",
	HeartBeat:                        "HEART_BEAT",
	UnregisterClient:                 "UNREGISTER_CLIENT",
	ConsumerSendMsgBack:              "CONSUMER_SEND_MSG_BACK",
	EndTransaction:                   "END_TRANSACTION",
	GetConsumerListByGroup:           "GET_CONSUMER_LIST_BY_GROUP",
	CheckTransactionState:            "CHECK_TRANSACTION_STATE",
	NotifyConsumerIDsChanged:         "NOTIFY_CONSUMER_IDS_CHANGED",
	LockBatchMQ:                      "LOCK_BATCH_MQ",
	UnlockBatchMQ:                    "UNLOCK_BATCH_MQ",
	GetAllConsumerOffset:             "GET_ALL_CONSUMER_OFFSET",
	GetAllDelayOffset:                "GET_ALL_DELAY_OFFSET",
	CheckClientConfig:                "CHECK_CLIENT_CONFIG",
	PutKVConfig:                      "PUT_KV_CONFIG",
	GetKVConfig:                      "GET_KV_CONFIG",
	DeleteKVConfig:                   "DELETE_KV_CONFIG",
	RegisterBroker:                   "REGISTER_BROKER",
	UnregisterBroker:                 "UNREGISTER_BROKER",
	GetRouteInfoByTopic:              "GET_ROUTEINFO_BY_TOPIC",
	GetBrokerClusterInfo:             "GET_BROKER_CLUSTER_INFO",
	UpdateAndCreateSubscriptionGroup: "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP",
	GetAllSubscriptionGroupConfig:    "GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
	GetTopicStatsInfo:                "GET_TOPIC_STATS_INFO",
	GetConsumerConnectionList:        "GET_CONSUMER_CONNECTION_LIST",
	GetProducerConnectionList:        "GET_PRODUCER_CONNECTION_LIST",
	WipeWritePermOfBroker:            "WIPE_WRITE_PERM_OF_BROKER",
	GetAllTopicListFromNameServer:    "GET_ALL_TOPIC_LIST_FROM_NAMESERVER",
	DeleteSubscriptionGroup:          "DELETE_SUBSCRIPTIONGROUP",
	GetConsumeStats:                  "GET_CONSUME_STATS",
	DeleteTopicInBroker:              "DELETE_TOPIC_IN_BROKER",
	DeleteTopicInNameServer:          "DELETE_TOPIC_IN_NAMESRV",
	RegisterTopicInNameServer:        "REGISTER_TOPIC_IN_NAMESRV",
	GetKVListByNamespace:             "GET_KVLIST_BY_NAMESPACE",
	ResetConsumerClientOffset:        "RESET_CONSUMER_CLIENT_OFFSET",
	GetConsumerStatusFromClient:      "GET_CONSUMER_STATUS_FROM_CLIENT",
	InvokeBrokerToResetOffset:        "INVOKE_BROKER_TO_RESET_OFFSET",
	InvokeBrokerToGetConsumerStatus:  "INVOKE_BROKER_TO_GET_CONSUMER_STATUS",
	GetTopicsByCluster:               "GET_TOPICS_BY_CLUSTER",
	QueryTopicConsumeByWho:           "QUERY_TOPIC_CONSUME_BY_WHO",
	QueryConsumeTimeSpan:             "QUERY_CONSUME_TIME_SPAN",
	GetSystemTopicListFromNameServer: "GET_SYSTEM_TOPIC_LIST_FROM_NS",
	GetSystemTopicListFromBroker:     "GET_SYSTEM_TOPIC_LIST_FROM_BROKER",
	GetConsumerRunningInfo:           "GET_CONSUMER_RUNNING_INFO",
	QueryCorrectionOffset:            "QUERY_CORRECTION_OFFSET",
	ConsumeMessageDirectly:           "CONSUME_MESSAGE_DIRECTLY",
	SendMessageV2:                    "SEND_MESSAGE_V2",
	CloneGroupOffset:                 "CLONE_GROUP_OFFSET",
	GetBrokerConsumeStats:            "GET_BROKER_CONSUME_STATS",
	SendBatchMessage:                 "SEND_BATCH_MESSAGE",
	QueryDataVersion:                 "QUERY_DATA_VERSION",
	SendReplyMessage:                 "SEND_REPLY_MESSAGE",
	SendReplyMessageV2:               "SEND_REPLY_MESSAGE_V2",
	PushReplyMessageToClient:         "PUSH_REPLY_MESSAGE_TO_CLIENT",
	AddWritePermOfBroker:             "ADD_WRITE_PERM_OF_BROKER",
	QueryTopicsByConsumer:            "QUERY_TOPICS_BY_CONSUMER",
	QuerySubscriptionByConsumer:      "QUERY_SUBSCRIPTION_BY_CONSUMER",
	GetTopicConfig:                   "GET_TOPIC_CONFIG",
	GetSubscriptionGroupConfig:       "GET_SUBSCRIPTIONGROUP_CONFIG",
	UpdateAndGetGroupForbidden:       "UPDATE_AND_GET_GROUP_FORBIDDEN",
	LitePullMessage:                  "LITE_PULL_MESSAGE",
	RecallMessage:                    "RECALL_MESSAGE",
	QueryAssignment:                  "QUERY_ASSIGNMENT",
	SetMessageRequestMode:            "SET_MESSAGE_REQUEST_MODE",
	GetBrokerMemberGroup:             "GET_BROKER_MEMBER_GROUP",
	BrokerHeartbeat:                  "BROKER_HEARTBEAT",
	PopMessage:                       "POP_MESSAGE",
	AckMessage:                       "ACK_MESSAGE",
	PeekMessage:                      "PEEK_MESSAGE",
	ChangeMessageInvisibleTime:       "CHANGE_MESSAGE_INVISIBLETIME",
	Notification:                     "NOTIFICATION",
	PollingInfo:                      "POLLING_INFO",
	BatchAckMessage:                  "BATCH_ACK_MESSAGE",
}

// String gives the code's name, e.g. "PULL_MESSAGE"; CODE_n for a number without a name.
func (c RequestCode) String() string {
	if n, ok := requestNames[c]; ok {
		return n
	}
	return "CODE_" + strconv.Itoa(int(c))
}
