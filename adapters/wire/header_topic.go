package wire

// TopicHeader is the header of requests about one topic: 105, 202, 215, 216, 300, 351.
type TopicHeader struct {
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
}

// AppendTo writes the header into ext fields.
func (h *TopicHeader) AppendTo(e *Ext) {
	e.Set("topic", h.Topic)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *TopicHeader) ReadFrom(e *Ext) error {
	*h = TopicHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
			s.saw(0)
		}
	}
	return s.finish("topic")
}

// CreateTopicHeader is the header of UPDATE_AND_CREATE_TOPIC (17).
type CreateTopicHeader struct {
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// DefaultTopic is TBW102 by custom.
	DefaultTopic string
	// ReadQueues is the number of queues consumers see.
	ReadQueues int32
	// WriteQueues is the number of queues producers see.
	WriteQueues int32
	// Perm are the Perm… bits.
	Perm int32
	// FilterType is SINGLE_TAG or MULTI_TAG.
	FilterType string
	// TopicSysFlag are the topic's bits.
	TopicSysFlag int32
	// Order marks a topic of ordered messages.
	Order bool
	// Attributes are changes of attributes, +key=value,-key.
	Attributes string
	// Force overrides the broker's checks.
	Force bool
}

// AppendTo writes the header into ext fields.
func (h *CreateTopicHeader) AppendTo(e *Ext) {
	e.Set("topic", h.Topic)
	e.Set("defaultTopic", h.DefaultTopic)
	e.SetInt("readQueueNums", int64(h.ReadQueues))
	e.SetInt("writeQueueNums", int64(h.WriteQueues))
	e.SetInt("perm", int64(h.Perm))
	e.Set("topicFilterType", h.FilterType)
	e.SetInt("topicSysFlag", int64(h.TopicSysFlag))
	e.SetBool("order", h.Order)
	if h.Attributes != "" {
		e.Set("attributes", h.Attributes)
	}
	e.SetBool("force", h.Force)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *CreateTopicHeader) ReadFrom(e *Ext) error {
	*h = CreateTopicHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
			s.saw(0)
		case "defaultTopic":
			s.text(&h.DefaultTopic)
			s.saw(1)
		case "readQueueNums":
			s.int32(&h.ReadQueues)
			s.saw(2)
		case "writeQueueNums":
			s.int32(&h.WriteQueues)
			s.saw(3)
		case "perm":
			s.int32(&h.Perm)
			s.saw(4)
		case "topicFilterType":
			s.text(&h.FilterType)
			s.saw(5)
		case "topicSysFlag":
			s.int32(&h.TopicSysFlag)
		case "order":
			s.bool(&h.Order)
			s.saw(6)
		case "attributes":
			s.text(&h.Attributes)
		case "force":
			s.bool(&h.Force)
		}
	}
	return s.finish("topic", "defaultTopic", "readQueueNums", "writeQueueNums", "perm", "topicFilterType", "order")
}

// ViewMessageHeader is the header of VIEW_MESSAGE_BY_ID (33).
type ViewMessageHeader struct {
	// Topic is the message's topic, if known.
	Topic string
	// Offset is the commit-log offset.
	Offset int64
}

// AppendTo writes the header into ext fields.
func (h *ViewMessageHeader) AppendTo(e *Ext) {
	if h.Topic != "" {
		e.Set("topic", h.Topic)
	}
	e.SetInt("offset", h.Offset)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *ViewMessageHeader) ReadFrom(e *Ext) error {
	*h = ViewMessageHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
		case "offset":
			s.int64(&h.Offset)
			s.saw(0)
		}
	}
	return s.finish("offset")
}

// QueryMessageHeader is the header of QUERY_MESSAGE (12).
type QueryMessageHeader struct {
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// Key is the key or unique id looked for.
	Key string
	// MaxMessages limits the answer.
	MaxMessages int32
	// Begin is the earliest store time in ms.
	Begin int64
	// End is the latest store time in ms.
	End int64
	// Unique tells that Key is a unique id.
	Unique bool
}

// AppendTo writes the header into ext fields.
func (h *QueryMessageHeader) AppendTo(e *Ext) {
	e.Set("topic", h.Topic)
	e.Set("key", h.Key)
	e.SetInt("maxNum", int64(h.MaxMessages))
	e.SetInt("beginTimestamp", h.Begin)
	e.SetInt("endTimestamp", h.End)
	e.SetBool("_UNIQUE_KEY_QUERY", h.Unique)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *QueryMessageHeader) ReadFrom(e *Ext) error {
	*h = QueryMessageHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
			s.saw(0)
		case "key":
			s.text(&h.Key)
			s.saw(1)
		case "maxNum":
			s.int32(&h.MaxMessages)
			s.saw(2)
		case "beginTimestamp":
			s.int64(&h.Begin)
			s.saw(3)
		case "endTimestamp":
			s.int64(&h.End)
			s.saw(4)
		case "_UNIQUE_KEY_QUERY":
			s.bool(&h.Unique)
		}
	}
	return s.finish("topic", "key", "maxNum", "beginTimestamp", "endTimestamp")
}

// QueryMessageResponseHeader is the header of the answer to QUERY_MESSAGE.
type QueryMessageResponseHeader struct {
	// LastUpdateTime is the store time the index has reached, in ms.
	LastUpdateTime int64
	// LastUpdateOffset is the commit-log offset the index has reached.
	LastUpdateOffset int64
}

// AppendTo writes the header into ext fields.
func (h *QueryMessageResponseHeader) AppendTo(e *Ext) {
	e.SetInt("indexLastUpdateTimestamp", h.LastUpdateTime)
	e.SetInt("indexLastUpdatePhyoffset", h.LastUpdateOffset)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *QueryMessageResponseHeader) ReadFrom(e *Ext) error {
	*h = QueryMessageResponseHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "indexLastUpdateTimestamp":
			s.int64(&h.LastUpdateTime)
			s.saw(0)
		case "indexLastUpdatePhyoffset":
			s.int64(&h.LastUpdateOffset)
			s.saw(1)
		}
	}
	return s.finish("indexLastUpdateTimestamp", "indexLastUpdatePhyoffset")
}
