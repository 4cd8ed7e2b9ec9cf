package wire

// Bits of a pull's sysFlag (PullSysFlag).
const (
	// PullCommitOffset: CommitOffset is to be committed.
	PullCommitOffset int32 = 1
	// PullSuspend: the broker may hold the request until a message comes.
	PullSuspend int32 = 2
	// PullSubscription: the request carries the filter expression.
	PullSubscription int32 = 4
	// PullClassFilter: the filter is a class.
	PullClassFilter int32 = 8
	// PullLite: the request comes from a lite pull consumer.
	PullLite int32 = 16
)

// PullRequestHeader is the header of PULL_MESSAGE (11) and LITE_PULL_MESSAGE (361).
type PullRequestHeader struct {
	// Group is the consumer group.
	Group string
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// QueueID is the queue's number at the broker.
	QueueID int32
	// QueueOffset is the first offset wanted.
	QueueOffset int64
	// MaxMessages is the largest number of messages wanted.
	MaxMessages int32
	// SysFlag are the Pull… bits.
	SysFlag int32
	// CommitOffset is committed if SysFlag has PullCommitOffset.
	CommitOffset int64
	// SuspendMillis is how long the broker may hold the request, if SysFlag has PullSuspend.
	SuspendMillis int64
	// Subscription is the filter expression, if SysFlag has PullSubscription.
	Subscription string
	// SubVersion is the version of the subscription, wall clock in ms at its creation.
	SubVersion int64
	// ExpressionType is TAG or SQL92.
	ExpressionType string
	// MaxBytes is the largest number of bytes wanted; brokers up to 5.5 ignore it.
	MaxBytes int32
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *PullRequestHeader) AppendTo(e *Ext) {
	e.Set("consumerGroup", h.Group)
	e.Set("topic", h.Topic)
	e.SetInt("queueId", int64(h.QueueID))
	e.SetInt("queueOffset", h.QueueOffset)
	e.SetInt("maxMsgNums", int64(h.MaxMessages))
	e.SetInt("sysFlag", int64(h.SysFlag))
	e.SetInt("commitOffset", h.CommitOffset)
	e.SetInt("suspendTimeoutMillis", h.SuspendMillis)
	if h.Subscription != "" {
		e.Set("subscription", h.Subscription)
	}
	e.SetInt("subVersion", h.SubVersion)
	if h.ExpressionType != "" {
		e.Set("expressionType", h.ExpressionType)
	}
	if h.MaxBytes != 0 {
		e.SetInt("maxMsgBytes", int64(h.MaxBytes))
	}
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *PullRequestHeader) ReadFrom(e *Ext) error {
	*h = PullRequestHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "consumerGroup":
			s.text(&h.Group)
			s.saw(0)
		case "topic":
			s.text(&h.Topic)
			s.saw(1)
		case "queueId":
			s.int32(&h.QueueID)
			s.saw(2)
		case "queueOffset":
			s.int64(&h.QueueOffset)
			s.saw(3)
		case "maxMsgNums":
			s.int32(&h.MaxMessages)
			s.saw(4)
		case "sysFlag":
			s.int32(&h.SysFlag)
			s.saw(5)
		case "commitOffset":
			s.int64(&h.CommitOffset)
			s.saw(6)
		case "suspendTimeoutMillis":
			s.int64(&h.SuspendMillis)
			s.saw(7)
		case "subscription":
			s.text(&h.Subscription)
		case "subVersion":
			s.int64(&h.SubVersion)
			s.saw(8)
		case "expressionType":
			s.text(&h.ExpressionType)
		case "maxMsgBytes":
			s.int32(&h.MaxBytes)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset", "suspendTimeoutMillis", "subVersion")
}

// PullResponseHeader is the header of the answer to a pull, whatever its code.
type PullResponseHeader struct {
	// SuggestBrokerID is the broker id to pull from next; 0 is the master.
	SuggestBrokerID int64
	// NextBeginOffset is the offset to pull next.
	NextBeginOffset int64
	// MinOffset is the lowest offset of the queue.
	MinOffset int64
	// MaxOffset is the offset the queue's next message will get.
	MaxOffset int64
	// TopicSysFlag are the topic's bits.
	TopicSysFlag int32
	// GroupSysFlag are the group's bits.
	GroupSysFlag int32
	// ForbiddenType tells with NO_PERMISSION what forbids: 1 broker, 2 group, 3 topic, 4 broadcasting, 5 subscription.
	ForbiddenType int32
}

// AppendTo writes the header into ext fields.
func (h *PullResponseHeader) AppendTo(e *Ext) {
	e.SetInt("suggestWhichBrokerId", h.SuggestBrokerID)
	e.SetInt("nextBeginOffset", h.NextBeginOffset)
	e.SetInt("minOffset", h.MinOffset)
	e.SetInt("maxOffset", h.MaxOffset)
	e.SetInt("topicSysFlag", int64(h.TopicSysFlag))
	e.SetInt("groupSysFlag", int64(h.GroupSysFlag))
	if h.ForbiddenType != 0 {
		e.SetInt("forbiddenType", int64(h.ForbiddenType))
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *PullResponseHeader) ReadFrom(e *Ext) error {
	*h = PullResponseHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "suggestWhichBrokerId":
			s.int64(&h.SuggestBrokerID)
			s.saw(0)
		case "nextBeginOffset":
			s.int64(&h.NextBeginOffset)
			s.saw(1)
		case "minOffset":
			s.int64(&h.MinOffset)
			s.saw(2)
		case "maxOffset":
			s.int64(&h.MaxOffset)
			s.saw(3)
		case "topicSysFlag":
			s.int32(&h.TopicSysFlag)
		case "groupSysFlag":
			s.int32(&h.GroupSysFlag)
		case "forbiddenType":
			s.int32(&h.ForbiddenType)
		}
	}
	return s.finish("suggestWhichBrokerId", "nextBeginOffset", "minOffset", "maxOffset")
}
