package wire

// SendHeader is the header of SEND_MESSAGE (10, long names), SEND_MESSAGE_V2 (310) and SEND_BATCH_MESSAGE (320, one-letter names).
type SendHeader struct {
	// Group is the producer group.
	Group string
	// Topic is the topic, as on the wire.
	Topic string
	// DefaultTopic is the topic whose settings a new topic gets.
	DefaultTopic string
	// DefaultQueues is the number of queues a new topic gets at most.
	DefaultQueues int32
	// QueueID is the queue; a negative one lets the broker choose.
	QueueID int32
	// SysFlag are the Flag… bits of the message.
	SysFlag int32
	// BornTimestamp is the time of sending in ms.
	BornTimestamp int64
	// Flag is the user's own number.
	Flag int32
	// Properties is the property text.
	Properties string
	// ReconsumeTimes counts earlier attempts.
	ReconsumeTimes int32
	// UnitMode marks a message of another unit.
	UnitMode bool
	// MaxReconsumeTimes limits the attempts of a message in a retry topic; 0 is absent.
	MaxReconsumeTimes int32
	// Batch says that the body is a send batch.
	Batch bool
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the one-letter names of SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE.
func (h *SendHeader) AppendTo(e *Ext) {
	e.Set("a", h.Group)
	e.Set("b", h.Topic)
	e.Set("c", h.DefaultTopic)
	e.SetInt("d", int64(h.DefaultQueues))
	e.SetInt("e", int64(h.QueueID))
	e.SetInt("f", int64(h.SysFlag))
	e.SetInt("g", h.BornTimestamp)
	e.SetInt("h", int64(h.Flag))
	if h.Properties != "" {
		e.Set("i", h.Properties)
	}
	e.SetInt("j", int64(h.ReconsumeTimes))
	e.SetBool("k", h.UnitMode)
	if h.MaxReconsumeTimes != 0 {
		e.SetInt("l", int64(h.MaxReconsumeTimes))
	}
	e.SetBool("m", h.Batch)
	if h.Broker != "" {
		e.Set("n", h.Broker)
	}
}

// AppendLongTo writes the long names of SEND_MESSAGE.
func (h *SendHeader) AppendLongTo(e *Ext) {
	e.Set("producerGroup", h.Group)
	e.Set("topic", h.Topic)
	e.Set("defaultTopic", h.DefaultTopic)
	e.SetInt("defaultTopicQueueNums", int64(h.DefaultQueues))
	e.SetInt("queueId", int64(h.QueueID))
	e.SetInt("sysFlag", int64(h.SysFlag))
	e.SetInt("bornTimestamp", h.BornTimestamp)
	e.SetInt("flag", int64(h.Flag))
	if h.Properties != "" {
		e.Set("properties", h.Properties)
	}
	e.SetInt("reconsumeTimes", int64(h.ReconsumeTimes))
	e.SetBool("unitMode", h.UnitMode)
	if h.MaxReconsumeTimes != 0 {
		e.SetInt("maxReconsumeTimes", int64(h.MaxReconsumeTimes))
	}
	e.SetBool("batch", h.Batch)
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom takes either names. The error is a *FieldError.
func (h *SendHeader) ReadFrom(e *Ext) error {
	*h = SendHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "a", "producerGroup":
			s.text(&h.Group)
			s.saw(0)
		case "b", "topic":
			s.text(&h.Topic)
			s.saw(1)
		case "c", "defaultTopic":
			s.text(&h.DefaultTopic)
			s.saw(2)
		case "d", "defaultTopicQueueNums":
			s.int32(&h.DefaultQueues)
			s.saw(3)
		case "e", "queueId":
			s.int32(&h.QueueID)
			s.saw(4)
		case "f", "sysFlag":
			s.int32(&h.SysFlag)
			s.saw(5)
		case "g", "bornTimestamp":
			s.int64(&h.BornTimestamp)
			s.saw(6)
		case "h", "flag":
			s.int32(&h.Flag)
			s.saw(7)
		case "i", "properties":
			s.text(&h.Properties)
		case "j", "reconsumeTimes":
			s.int32(&h.ReconsumeTimes)
		case "k", "unitMode":
			s.bool(&h.UnitMode)
		case "l", "maxReconsumeTimes":
			s.int32(&h.MaxReconsumeTimes)
		case "m", "batch":
			s.bool(&h.Batch)
		case "n", "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag")
}

// SendResponseHeader is the header of the answer to a send.
type SendResponseHeader struct {
	// MessageID is the offset id; a comma list of them for a batch.
	MessageID string
	// QueueID is the queue it was stored in.
	QueueID int32
	// QueueOffset is the (first) offset it got.
	QueueOffset int64
	// TransactionID is the message's unique id, which brokers since 5.x repeat.
	TransactionID string
	// BatchUniqueID is the unique id of an inner batch.
	BatchUniqueID string
	// RecallHandle takes a delayed message back.
	RecallHandle string
	// Region is the broker's region.
	Region string
	// TraceOn is "true" or "false".
	TraceOn string
}

// AppendTo writes the header into ext fields.
func (h *SendResponseHeader) AppendTo(e *Ext) {
	e.Set("msgId", h.MessageID)
	e.SetInt("queueId", int64(h.QueueID))
	e.SetInt("queueOffset", h.QueueOffset)
	if h.TransactionID != "" {
		e.Set("transactionId", h.TransactionID)
	}
	if h.BatchUniqueID != "" {
		e.Set("batchUniqId", h.BatchUniqueID)
	}
	if h.RecallHandle != "" {
		e.Set("recallHandle", h.RecallHandle)
	}
	if h.Region != "" {
		e.Set("MSG_REGION", h.Region)
	}
	if h.TraceOn != "" {
		e.Set("TRACE_ON", h.TraceOn)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *SendResponseHeader) ReadFrom(e *Ext) error {
	*h = SendResponseHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "msgId":
			s.text(&h.MessageID)
			s.saw(0)
		case "queueId":
			s.int32(&h.QueueID)
			s.saw(1)
		case "queueOffset":
			s.int64(&h.QueueOffset)
			s.saw(2)
		case "transactionId":
			s.text(&h.TransactionID)
		case "batchUniqId":
			s.text(&h.BatchUniqueID)
		case "recallHandle":
			s.text(&h.RecallHandle)
		case "MSG_REGION":
			s.text(&h.Region)
		case "TRACE_ON":
			s.text(&h.TraceOn)
		}
	}
	return s.finish("msgId", "queueId", "queueOffset")
}

// SendBackHeader is the header of CONSUMER_SEND_MSG_BACK (36).
type SendBackHeader struct {
	// Offset is the commit-log offset of the message at the broker that served it.
	Offset int64
	// Group is the consumer group.
	Group string
	// DelayLevel: negative is the dead-letter queue, 0 the broker's choice, else a level.
	DelayLevel int32
	// OriginMessageID is the message's unique id.
	OriginMessageID string
	// OriginTopic is the topic the message came from.
	OriginTopic string
	// UnitMode marks a consumer of a unit.
	UnitMode bool
	// MaxReconsumeTimes limits the attempts; 0 is absent: the broker's own limit counts.
	MaxReconsumeTimes int32
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *SendBackHeader) AppendTo(e *Ext) {
	e.SetInt("offset", h.Offset)
	e.Set("group", h.Group)
	e.SetInt("delayLevel", int64(h.DelayLevel))
	if h.OriginMessageID != "" {
		e.Set("originMsgId", h.OriginMessageID)
	}
	if h.OriginTopic != "" {
		e.Set("originTopic", h.OriginTopic)
	}
	e.SetBool("unitMode", h.UnitMode)
	if h.MaxReconsumeTimes != 0 {
		e.SetInt("maxReconsumeTimes", int64(h.MaxReconsumeTimes))
	}
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *SendBackHeader) ReadFrom(e *Ext) error {
	*h = SendBackHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "offset":
			s.int64(&h.Offset)
			s.saw(0)
		case "group":
			s.text(&h.Group)
			s.saw(1)
		case "delayLevel":
			s.int32(&h.DelayLevel)
			s.saw(2)
		case "originMsgId":
			s.text(&h.OriginMessageID)
		case "originTopic":
			s.text(&h.OriginTopic)
		case "unitMode":
			s.bool(&h.UnitMode)
		case "maxReconsumeTimes":
			s.int32(&h.MaxReconsumeTimes)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("offset", "group", "delayLevel")
}
