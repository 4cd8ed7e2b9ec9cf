package wire

// QueryOffsetHeader is the header of QUERY_CONSUMER_OFFSET (14).
type QueryOffsetHeader struct {
	// Group is the consumer group.
	Group string
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// QueueID is the queue's number at the broker.
	QueueID int32
	// SetZeroIfNotFound lets a broker answer 0 for a young topic; true if absent.
	SetZeroIfNotFound bool
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *QueryOffsetHeader) AppendTo(e *Ext) {
	e.Set("consumerGroup", h.Group)
	e.Set("topic", h.Topic)
	e.SetInt("queueId", int64(h.QueueID))
	if !h.SetZeroIfNotFound {
		e.SetBool("setZeroIfNotFound", h.SetZeroIfNotFound)
	}
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *QueryOffsetHeader) ReadFrom(e *Ext) error {
	*h = QueryOffsetHeader{SetZeroIfNotFound: true}
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
		case "setZeroIfNotFound":
			s.bool(&h.SetZeroIfNotFound)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("consumerGroup", "topic", "queueId")
}

// UpdateOffsetHeader is the header of UPDATE_CONSUMER_OFFSET (15).
type UpdateOffsetHeader struct {
	// Group is the consumer group.
	Group string
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// QueueID is the queue's number at the broker.
	QueueID int32
	// CommitOffset is the lowest offset that is not settled.
	CommitOffset int64
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *UpdateOffsetHeader) AppendTo(e *Ext) {
	e.Set("consumerGroup", h.Group)
	e.Set("topic", h.Topic)
	e.SetInt("queueId", int64(h.QueueID))
	e.SetInt("commitOffset", h.CommitOffset)
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *UpdateOffsetHeader) ReadFrom(e *Ext) error {
	*h = UpdateOffsetHeader{}
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
		case "commitOffset":
			s.int64(&h.CommitOffset)
			s.saw(3)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("consumerGroup", "topic", "queueId", "commitOffset")
}

// SearchOffsetHeader is the header of SEARCH_OFFSET_BY_TIMESTAMP (29).
type SearchOffsetHeader struct {
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// QueueID is the queue's number at the broker.
	QueueID int32
	// Timestamp is a store time in ms.
	Timestamp int64
	// Boundary is LOWER or UPPER in any case; empty is LOWER.
	Boundary string
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *SearchOffsetHeader) AppendTo(e *Ext) {
	e.Set("topic", h.Topic)
	e.SetInt("queueId", int64(h.QueueID))
	e.SetInt("timestamp", h.Timestamp)
	if h.Boundary != "" {
		e.Set("boundaryType", h.Boundary)
	}
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *SearchOffsetHeader) ReadFrom(e *Ext) error {
	*h = SearchOffsetHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
			s.saw(0)
		case "queueId":
			s.int32(&h.QueueID)
			s.saw(1)
		case "timestamp":
			s.int64(&h.Timestamp)
			s.saw(2)
		case "boundaryType":
			s.text(&h.Boundary)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("topic", "queueId", "timestamp")
}

// MaxOffsetHeader is the header of GET_MAX_OFFSET (30).
type MaxOffsetHeader struct {
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// QueueID is the queue's number at the broker.
	QueueID int32
	// Committed asks for the offset that pulls see; true if absent.
	Committed bool
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *MaxOffsetHeader) AppendTo(e *Ext) {
	e.Set("topic", h.Topic)
	e.SetInt("queueId", int64(h.QueueID))
	e.SetBool("committed", h.Committed)
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *MaxOffsetHeader) ReadFrom(e *Ext) error {
	*h = MaxOffsetHeader{Committed: true}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
			s.saw(0)
		case "queueId":
			s.int32(&h.QueueID)
			s.saw(1)
		case "committed":
			s.bool(&h.Committed)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("topic", "queueId")
}

// QueueHeader is the header of GET_MIN_OFFSET (31) and GET_EARLIEST_MSG_STORETIME (32).
type QueueHeader struct {
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// QueueID is the queue's number at the broker.
	QueueID int32
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *QueueHeader) AppendTo(e *Ext) {
	e.Set("topic", h.Topic)
	e.SetInt("queueId", int64(h.QueueID))
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *QueueHeader) ReadFrom(e *Ext) error {
	*h = QueueHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
			s.saw(0)
		case "queueId":
			s.int32(&h.QueueID)
			s.saw(1)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("topic", "queueId")
}

// OffsetResponseHeader is the header of the answers to 14, 29, 30 and 31.
type OffsetResponseHeader struct {
	// Offset is the offset asked for.
	Offset int64
}

// AppendTo writes the header into ext fields.
func (h *OffsetResponseHeader) AppendTo(e *Ext) {
	e.SetInt("offset", h.Offset)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *OffsetResponseHeader) ReadFrom(e *Ext) error {
	*h = OffsetResponseHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "offset":
			s.int64(&h.Offset)
			s.saw(0)
		}
	}
	return s.finish("offset")
}

// StoreTimeResponseHeader is the header of the answer to GET_EARLIEST_MSG_STORETIME.
type StoreTimeResponseHeader struct {
	// Timestamp is a store time in ms, -1 if the queue has no message.
	Timestamp int64
}

// AppendTo writes the header into ext fields.
func (h *StoreTimeResponseHeader) AppendTo(e *Ext) {
	e.SetInt("timestamp", h.Timestamp)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *StoreTimeResponseHeader) ReadFrom(e *Ext) error {
	*h = StoreTimeResponseHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "timestamp":
			s.int64(&h.Timestamp)
			s.saw(0)
		}
	}
	return s.finish("timestamp")
}

// ResetOffsetHeader is the header of RESET_CONSUMER_CLIENT_OFFSET (220) and INVOKE_BROKER_TO_RESET_OFFSET (222).
type ResetOffsetHeader struct {
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// Group is the consumer group.
	Group string
	// Timestamp is the store time to go to in ms, -1 the end.
	Timestamp int64
	// Force allows offsets to go forward too.
	Force bool
	// QueueID is the only queue meant; -1 is all.
	QueueID int32
	// Offset is the offset to go to instead of a time; -1 is none.
	Offset int64
}

// AppendTo writes the header into ext fields.
func (h *ResetOffsetHeader) AppendTo(e *Ext) {
	e.Set("topic", h.Topic)
	e.Set("group", h.Group)
	e.SetInt("timestamp", h.Timestamp)
	e.SetBool("isForce", h.Force)
	e.SetInt("queueId", int64(h.QueueID))
	if h.Offset != -1 {
		e.SetInt("offset", h.Offset)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *ResetOffsetHeader) ReadFrom(e *Ext) error {
	*h = ResetOffsetHeader{QueueID: -1, Offset: -1}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
			s.saw(0)
		case "group":
			s.text(&h.Group)
			s.saw(1)
		case "timestamp":
			s.int64(&h.Timestamp)
			s.saw(2)
		case "isForce":
			s.bool(&h.Force)
		case "queueId":
			s.int32(&h.QueueID)
		case "offset":
			s.int64(&h.Offset)
		}
	}
	return s.finish("topic", "group", "timestamp")
}
