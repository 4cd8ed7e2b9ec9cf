package wire

// EndTransactionHeader is the header of END_TRANSACTION (37).
type EndTransactionHeader struct {
	// Topic is the message's topic; producers of 4.x leave it out.
	Topic string
	// Group is the producer group that sent the half message.
	Group string
	// QueueOffset is the half message's offset in its queue, as the answer to its sending told.
	QueueOffset int64
	// CommitLogOffset is where the half message lies in the log.
	CommitLogOffset int64
	// Outcome is what becomes of it: FlagTransactionCommit, FlagTransactionRollback, or 0 for not known yet.
	Outcome int32
	// FromCheck says that the broker had asked.
	FromCheck bool
	// MessageID is the message's unique id.
	MessageID string
	// TransactionID is the transaction's id: the unique id, if the producer was not told another one.
	TransactionID string
	// Broker is the broker's name; classic brokers ignore it.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *EndTransactionHeader) AppendTo(e *Ext) {
	if h.Topic != "" {
		e.Set("topic", h.Topic)
	}
	e.Set("producerGroup", h.Group)
	e.SetInt("tranStateTableOffset", h.QueueOffset)
	e.SetInt("commitLogOffset", h.CommitLogOffset)
	e.SetInt("commitOrRollback", int64(h.Outcome))
	e.SetBool("fromTransactionCheck", h.FromCheck)
	e.Set("msgId", h.MessageID)
	if h.TransactionID != "" {
		e.Set("transactionId", h.TransactionID)
	}
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *EndTransactionHeader) ReadFrom(e *Ext) error {
	*h = EndTransactionHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
		case "producerGroup":
			s.text(&h.Group)
			s.saw(0)
		case "tranStateTableOffset":
			s.int64(&h.QueueOffset)
			s.saw(1)
		case "commitLogOffset":
			s.int64(&h.CommitLogOffset)
			s.saw(2)
		case "commitOrRollback":
			s.int32(&h.Outcome)
			s.saw(3)
		case "fromTransactionCheck":
			s.bool(&h.FromCheck)
		case "msgId":
			s.text(&h.MessageID)
			s.saw(4)
		case "transactionId":
			s.text(&h.TransactionID)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("producerGroup", "tranStateTableOffset", "commitLogOffset", "commitOrRollback", "msgId")
}

// CheckTransactionHeader is the header of CHECK_TRANSACTION_STATE (39), one-way from broker to producer; the body is the half
// message as a stored record, under its real topic and queue.
type CheckTransactionHeader struct {
	// Topic is the topic that the half message is stored in; brokers of 4.x leave it out.
	Topic string
	// QueueOffset and CommitLogOffset tell where it is stored; END_TRANSACTION has to repeat them.
	QueueOffset     int64
	CommitLogOffset int64
	// MessageID is the message's unique id, and so is TransactionID.
	MessageID     string
	TransactionID string
	// OffsetMessageID is the offset id of the stored half message.
	OffsetMessageID string
	// Broker is the broker's name; brokers of 4.x leave it out.
	Broker string
}

// AppendTo writes the header into ext fields.
func (h *CheckTransactionHeader) AppendTo(e *Ext) {
	if h.Topic != "" {
		e.Set("topic", h.Topic)
	}
	e.SetInt("tranStateTableOffset", h.QueueOffset)
	e.SetInt("commitLogOffset", h.CommitLogOffset)
	if h.MessageID != "" {
		e.Set("msgId", h.MessageID)
	}
	if h.TransactionID != "" {
		e.Set("transactionId", h.TransactionID)
	}
	if h.OffsetMessageID != "" {
		e.Set("offsetMsgId", h.OffsetMessageID)
	}
	if h.Broker != "" {
		e.Set("bname", h.Broker)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *CheckTransactionHeader) ReadFrom(e *Ext) error {
	*h = CheckTransactionHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
		case "tranStateTableOffset":
			s.int64(&h.QueueOffset)
			s.saw(0)
		case "commitLogOffset":
			s.int64(&h.CommitLogOffset)
			s.saw(1)
		case "msgId":
			s.text(&h.MessageID)
		case "transactionId":
			s.text(&h.TransactionID)
		case "offsetMsgId":
			s.text(&h.OffsetMessageID)
		case "bname":
			s.text(&h.Broker)
		}
	}
	return s.finish("tranStateTableOffset", "commitLogOffset")
}

// ProducerGroupHeader is the header of GET_PRODUCER_CONNECTION_LIST (204).
type ProducerGroupHeader struct {
	// Group is the producer group.
	Group string
}

// AppendTo writes the header into ext fields.
func (h *ProducerGroupHeader) AppendTo(e *Ext) { e.Set("producerGroup", h.Group) }

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *ProducerGroupHeader) ReadFrom(e *Ext) error {
	*h = ProducerGroupHeader{}
	s := e.reader()
	for s.next() {
		if string(s.name) == "producerGroup" {
			s.text(&h.Group)
			s.saw(0)
		}
	}
	return s.finish("producerGroup")
}
