package wire

// RunningInfo is the body of a client's answer to GET_CONSUMER_RUNNING_INFO (307).
type RunningInfo struct {
	// Properties under Java's names: PROP_NAMESERVER_ADDR, PROP_CONSUME_TYPE, PROP_CLIENT_VERSION, PROP_CONSUMEORDERLY,
	// PROP_THREADPOOL_CORE_SIZE, PROP_CONSUMER_START_TIMESTAMP and the consumer's settings.
	Properties    map[string]string
	Subscriptions []SubscriptionData
	Queues        map[MessageQueue]ProcessQueueInfo
	// Status by topic.
	Status map[string]ConsumeStatus
	// User holds what the program adds.
	User map[string]string
	// Stack is the text of all goroutines, if asked for.
	Stack string
}

func (i *RunningInfo) json(j *jsonCodec) {
	j.optional("jstack", &i.Stack)
	j.pass("mqPopTable", "{}")
	objectQueueTable(j, "mqTable", &i.Queues)
	j.textTable("properties", &i.Properties)
	objectTable(j, "statusTable", &i.Status)
	objects(j, "subscriptionSet", &i.Subscriptions)
	j.textTable("userConsumerInfo", &i.User)
}

// Encode writes strict JSON with queues as text keys, which Java reads up to 5.3; the tools of 5.5 do not.
func (i *RunningInfo) Encode() []byte { return encodeJSON(i) }

// EncodeRaw writes queues as raw object keys, as Java does; all its versions read that.
func (i *RunningInfo) EncodeRaw() []byte { return encodeRawJSON(i) }

// DecodeRunningInfo reads the body of the answer to 307.
func DecodeRunningInfo(body []byte) (*RunningInfo, error) {
	i := &RunningInfo{}
	return i, decodeJSON("running info", body, i)
}

// ProcessQueueInfo is the state of one assigned queue. Times are in ms since the epoch.
type ProcessQueueInfo struct {
	CommitOffset                               int64
	CachedMinOffset, CachedMaxOffset           int64
	CachedCount, CachedSizeMiB                 int32
	TransactionMinOffset, TransactionMaxOffset int64
	TransactionCount                           int32
	Locked                                     bool
	TryUnlockTimes                             int64
	LastLock                                   int64
	Dropped                                    bool
	LastPull, LastConsume                      int64
}

func (p *ProcessQueueInfo) json(j *jsonCodec) {
	j.int32("cachedMsgCount", &p.CachedCount)
	j.int64("cachedMsgMaxOffset", &p.CachedMaxOffset)
	j.int64("cachedMsgMinOffset", &p.CachedMinOffset)
	j.int32("cachedMsgSizeInMiB", &p.CachedSizeMiB)
	j.int64("commitOffset", &p.CommitOffset)
	j.bool("droped", &p.Dropped) // spelled so by the protocol
	j.int64("lastConsumeTimestamp", &p.LastConsume)
	j.int64("lastLockTimestamp", &p.LastLock)
	j.int64("lastPullTimestamp", &p.LastPull)
	j.bool("locked", &p.Locked)
	j.int32("transactionMsgCount", &p.TransactionCount)
	j.int64("transactionMsgMaxOffset", &p.TransactionMaxOffset)
	j.int64("transactionMsgMinOffset", &p.TransactionMinOffset)
	j.int64("tryUnlockTimes", &p.TryUnlockTimes)
}

// ConsumeStatus is a client's recent speed in one topic: times in ms, rates per second.
type ConsumeStatus struct {
	PullRT, PullTPS, ConsumeRT, ConsumeOKTPS, ConsumeFailedTPS float64
	// ConsumeFailed counts failures of the last hour.
	ConsumeFailed int64
}

func (s *ConsumeStatus) json(j *jsonCodec) {
	j.int64("consumeFailedMsgs", &s.ConsumeFailed)
	j.float("consumeFailedTPS", &s.ConsumeFailedTPS)
	j.float("consumeOKTPS", &s.ConsumeOKTPS)
	j.float("consumeRT", &s.ConsumeRT)
	j.float("pullRT", &s.PullRT)
	j.float("pullTPS", &s.PullTPS)
}

// Results of CONSUME_MESSAGE_DIRECTLY.
const (
	ConsumeSuccess  = "CR_SUCCESS"
	ConsumeLater    = "CR_LATER"
	ConsumeRollback = "CR_ROLLBACK"
	ConsumeCommit   = "CR_COMMIT"
	ConsumeThrew    = "CR_THROW_EXCEPTION"
	ConsumeNull     = "CR_RETURN_NULL"
)

// ConsumeDirectlyResult is the body of a client's answer to CONSUME_MESSAGE_DIRECTLY (309).
type ConsumeDirectlyResult struct {
	Order      bool
	AutoCommit bool
	// Result is one of the names above.
	Result string
	Remark string
	// SpentMillis is how long the handler took.
	SpentMillis int64
}

func (r *ConsumeDirectlyResult) json(j *jsonCodec) {
	j.bool("autoCommit", &r.AutoCommit)
	j.text("consumeResult", &r.Result)
	j.bool("order", &r.Order)
	j.optional("remark", &r.Remark)
	j.int64("spentTimeMills", &r.SpentMillis)
}

// Encode writes strict JSON.
func (r *ConsumeDirectlyResult) Encode() []byte { return encodeJSON(r) }

// DecodeConsumeDirectlyResult reads the body of the answer to 309.
func DecodeConsumeDirectlyResult(body []byte) (*ConsumeDirectlyResult, error) {
	r := &ConsumeDirectlyResult{AutoCommit: true}
	return r, decodeJSON("consume result", body, r)
}
