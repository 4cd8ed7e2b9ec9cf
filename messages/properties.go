package messages

// Names of the properties that RocketMQ itself writes or reads (MessageConst). All other names belong to the user.
const (
	// Written by the producer.

	// PropertyTags is the message's tag, the subject of tag filters.
	PropertyTags = "TAGS"
	// PropertyKeys holds the keys, separated by one blank.
	PropertyKeys = "KEYS"
	// PropertyWait tells whether the producer waits until the message is stored.
	PropertyWait = "WAIT"
	// PropertyDelay is the delay level; it stays on the delivered message.
	PropertyDelay = "DELAY"
	// PropertyUniqueKey is the producer's id of the message; it stays the same over retries.
	PropertyUniqueKey = "UNIQ_KEY"
	// PropertyShardingKey is the key by which the producer chose the queue.
	PropertyShardingKey = "__SHARDINGKEY"
	// PropertyInstanceID is the namespace instance.
	PropertyInstanceID = "INSTANCE_ID"

	// Retries.

	// PropertyRetryTopic is the original topic of a message in %RETRY%group.
	PropertyRetryTopic = "RETRY_TOPIC"
	// PropertyRealTopic is the target topic of a message that waits elsewhere; it stays on the delivered message.
	PropertyRealTopic = "REAL_TOPIC"
	// PropertyRealQueueID is the target queue of a message that waits elsewhere; it stays on the delivered message.
	PropertyRealQueueID = "REAL_QID"
	// PropertyOriginMessageID is the id of the very first record of a retried message.
	PropertyOriginMessageID = "ORIGIN_MESSAGE_ID"
	// PropertyReconsumeTime is the number of attempts on the send-as-normal retry path.
	PropertyReconsumeTime = "RECONSUME_TIME"
	// PropertyMaxReconsumeTimes is the limit of attempts on the send-as-normal retry path.
	PropertyMaxReconsumeTimes = "MAX_RECONSUME_TIMES"
	// PropertyDeadLetterOriginTopic is the topic a dead letter came from.
	PropertyDeadLetterOriginTopic = "DLQ_ORIGIN_TOPIC"
	// PropertyDeadLetterOriginMessageID is the id of the message a dead letter came from.
	PropertyDeadLetterOriginMessageID = "DLQ_ORIGIN_MESSAGE_ID"

	// Set by the consuming client of Apache's Java library.

	// PropertyConsumeStartTime is when the listener was called, in milliseconds.
	PropertyConsumeStartTime = "CONSUME_START_TIME"
	// PropertyMinOffset is the queue's lowest offset when the message was pulled.
	PropertyMinOffset = "MIN_OFFSET"
	// PropertyMaxOffset is the queue's next offset when the message was pulled.
	PropertyMaxOffset = "MAX_OFFSET"

	// Written by the broker.

	// PropertyRegion is the broker's region.
	PropertyRegion = "MSG_REGION"
	// PropertyTraceOn tells whether traces are wanted.
	PropertyTraceOn = "TRACE_ON"
	// PropertyCluster is the broker's cluster.
	PropertyCluster = "CLUSTER"
	// PropertyCRC32 is the optional checksum of the whole record.
	PropertyCRC32 = "__CRC32#"
	// PropertyBornHost is the producer's address as text.
	PropertyBornHost = "__BORNHOST"
	// PropertyBornTimestamp is the producer's time of sending.
	PropertyBornTimestamp = "BORN_TIMESTAMP"

	// Transactions.

	// PropertyTransactionPrepared marks a half message.
	PropertyTransactionPrepared = "TRAN_MSG"
	// PropertyProducerGroup is the group that is asked about a half message.
	PropertyProducerGroup = "PGROUP"
	// PropertyTransactionCheckTimes counts how often the producer was asked.
	PropertyTransactionCheckTimes = "TRANSACTION_CHECK_TIMES"
	// PropertyTransactionPreparedOffset is where a half message was first, when it had to be stored again before it could be asked about.
	PropertyTransactionPreparedOffset = "TRAN_PREPARED_QUEUE_OFFSET"
	// PropertyCheckImmunityTime is how long the producer is not asked, in seconds.
	PropertyCheckImmunityTime = "CHECK_IMMUNITY_TIME_IN_SECONDS"
	// PropertyTransactionID is the transaction's id.
	PropertyTransactionID = "__transactionId__"

	// Request and reply.

	// PropertyCorrelationID matches a reply to its request.
	PropertyCorrelationID = "CORRELATION_ID"
	// PropertyReplyToClient is the client id that waits for the reply.
	PropertyReplyToClient = "REPLY_TO_CLIENT"
	// PropertyTTL is how long the requester waits, in milliseconds.
	PropertyTTL = "TTL"
	// PropertyMessageType is "reply" on replies.
	PropertyMessageType = "MSG_TYPE"
	// PropertyArriveTime is when a reply reached the broker.
	PropertyArriveTime = "ARRIVE_TIME"
	// PropertyPushReplyTime is when a reply was pushed to the client.
	PropertyPushReplyTime = "PUSH_REPLY_TIME"

	// Pop, inner batches and multi dispatch.

	// PropertyPopCheckpoint is the receipt handle of a popped message.
	PropertyPopCheckpoint = "POP_CK"
	// PropertyPopCheckOffset is the offset of the receipt's check point.
	PropertyPopCheckOffset = "POP_CK_OFFSET"
	// PropertyFirstPopTime is when the message was popped first.
	PropertyFirstPopTime = "1ST_POP_TIME"
	// PropertyInnerNum is the number of messages in an inner batch.
	PropertyInnerNum = "INNER_NUM"
	// PropertyInnerBase is the queue offset of an inner batch's first message.
	PropertyInnerBase = "INNER_BASE"
	// PropertyInnerMultiDispatch names further queues the message is in.
	PropertyInnerMultiDispatch = "INNER_MULTI_DISPATCH"
	// PropertyInnerMultiQueueOffset holds the offsets in those queues.
	PropertyInnerMultiQueueOffset = "INNER_MULTI_QUEUE_OFFSET"

	// Rest.

	// PropertyDuplicateInfo carries duplicate detection data.
	PropertyDuplicateInfo = "DUP_INFO"
	// PropertyExtendUniqueInfo carries further unique keys.
	PropertyExtendUniqueInfo = "EXTEND_UNIQ_INFO"
	// PropertyTraceContext carries a trace's context.
	PropertyTraceContext = "TRACE_CONTEXT"

	// Timer messages.

	// PropertyTimerDelaySec asks for a delay in seconds.
	PropertyTimerDelaySec = "TIMER_DELAY_SEC"
	// PropertyTimerDelayMs asks for a delay in milliseconds.
	PropertyTimerDelayMs = "TIMER_DELAY_MS"
	// PropertyTimerDeliverMs asks for delivery at a time, in milliseconds.
	PropertyTimerDeliverMs = "TIMER_DELIVER_MS"
	// PropertyTimerOutMs is the time of delivery as the timer computed it.
	PropertyTimerOutMs = "TIMER_OUT_MS"
	// PropertyTimerEnqueueMs is when the timer took the message.
	PropertyTimerEnqueueMs = "TIMER_ENQUEUE_MS"
	// PropertyTimerDequeueMs is when the timer released the message.
	PropertyTimerDequeueMs = "TIMER_DEQUEUE_MS"
	// PropertyTimerRollTimes counts the rounds of the timer wheel.
	PropertyTimerRollTimes = "TIMER_ROLL_TIMES"
	// PropertyTimerDelayLevel is the delay level turned into a timer.
	PropertyTimerDelayLevel = "TIMER_DELAY_LEVEL"
	// PropertyTimerDeleteUniqueKey names the timer message to delete.
	PropertyTimerDeleteUniqueKey = "TIMER_DEL_UNIQKEY"
)

// reservedProperties are the names users may not set as properties of their own.
var reservedProperties = map[string]bool{
	PropertyTags: true, PropertyKeys: true, PropertyWait: true, PropertyDelay: true, PropertyUniqueKey: true,
	PropertyInstanceID: true, PropertyRetryTopic: true, PropertyRealTopic: true, PropertyRealQueueID: true,
	PropertyOriginMessageID: true, PropertyReconsumeTime: true, PropertyMaxReconsumeTimes: true,
	PropertyDeadLetterOriginTopic: true, PropertyDeadLetterOriginMessageID: true, PropertyConsumeStartTime: true,
	PropertyMinOffset: true, PropertyMaxOffset: true, PropertyRegion: true, PropertyTraceOn: true, PropertyCluster: true,
	PropertyCRC32: true, PropertyBornHost: true, PropertyBornTimestamp: true, PropertyTransactionPrepared: true,
	PropertyProducerGroup: true, PropertyTransactionCheckTimes: true, PropertyTransactionPreparedOffset: true, PropertyCheckImmunityTime: true,
	PropertyTransactionID: true, PropertyCorrelationID: true, PropertyReplyToClient: true, PropertyTTL: true,
	PropertyMessageType: true, PropertyArriveTime: true, PropertyPushReplyTime: true, PropertyPopCheckpoint: true,
	PropertyPopCheckOffset: true, PropertyFirstPopTime: true, PropertyInnerNum: true, PropertyInnerBase: true,
	PropertyInnerMultiDispatch: true, PropertyInnerMultiQueueOffset: true, PropertyDuplicateInfo: true,
	PropertyExtendUniqueInfo: true, PropertyTimerDelaySec: true, PropertyTimerDelayMs: true, PropertyTimerDeliverMs: true,
	PropertyTimerOutMs: true, PropertyTimerEnqueueMs: true, PropertyTimerDequeueMs: true, PropertyTimerRollTimes: true,
	PropertyTimerDelayLevel: true, PropertyTimerDeleteUniqueKey: true,
}

// ReservedProperty tells whether RocketMQ keeps a property name for itself.
func ReservedProperty(name string) bool { return reservedProperties[name] }
