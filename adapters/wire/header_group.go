package wire

// GroupHeader is the header of GET_CONSUMER_LIST_BY_GROUP (38), NOTIFY_CONSUMER_IDS_CHANGED (40) and GET_CONSUMER_CONNECTION_LIST (203).
type GroupHeader struct {
	// Group is the consumer group.
	Group string
}

// AppendTo writes the header into ext fields.
func (h *GroupHeader) AppendTo(e *Ext) {
	e.Set("consumerGroup", h.Group)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *GroupHeader) ReadFrom(e *Ext) error {
	*h = GroupHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "consumerGroup":
			s.text(&h.Group)
			s.saw(0)
		}
	}
	return s.finish("consumerGroup")
}

// UnregisterHeader is the header of UNREGISTER_CLIENT (35).
type UnregisterHeader struct {
	// ClientID is the client's id.
	ClientID string
	// ProducerGroup is the producer group to leave.
	ProducerGroup string
	// ConsumerGroup is the consumer group to leave.
	ConsumerGroup string
}

// AppendTo writes the header into ext fields.
func (h *UnregisterHeader) AppendTo(e *Ext) {
	e.Set("clientID", h.ClientID)
	if h.ProducerGroup != "" {
		e.Set("producerGroup", h.ProducerGroup)
	}
	if h.ConsumerGroup != "" {
		e.Set("consumerGroup", h.ConsumerGroup)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *UnregisterHeader) ReadFrom(e *Ext) error {
	*h = UnregisterHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "clientID":
			s.text(&h.ClientID)
			s.saw(0)
		case "producerGroup":
			s.text(&h.ProducerGroup)
		case "consumerGroup":
			s.text(&h.ConsumerGroup)
		}
	}
	return s.finish("clientID")
}

// HeartbeatResponseHeader is the header of the answer to HEART_BEAT (34) since 5.x.
type HeartbeatResponseHeader struct {
	// SupportsV2 tells that the broker compares heartbeat fingerprints.
	SupportsV2 bool
	// SubscriptionChanged tells that the broker wants the subscriptions in full.
	SubscriptionChanged bool
}

// AppendTo writes the header into ext fields.
func (h *HeartbeatResponseHeader) AppendTo(e *Ext) {
	e.SetBool("IS_SUPPORT_HEART_BEAT_V2", h.SupportsV2)
	e.SetBool("IS_SUB_CHANGE", h.SubscriptionChanged)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *HeartbeatResponseHeader) ReadFrom(e *Ext) error {
	*h = HeartbeatResponseHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "IS_SUPPORT_HEART_BEAT_V2":
			s.bool(&h.SupportsV2)
		case "IS_SUB_CHANGE":
			s.bool(&h.SubscriptionChanged)
		}
	}
	return s.finish()
}

// ConsumerStatusHeader is the header of GET_CONSUMER_STATUS_FROM_CLIENT (221) and INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223).
type ConsumerStatusHeader struct {
	// Topic is the topic, with namespace and retry prefix as on the wire.
	Topic string
	// Group is the consumer group.
	Group string
	// ClientAddr is the only client asked; empty is all.
	ClientAddr string
}

// AppendTo writes the header into ext fields.
func (h *ConsumerStatusHeader) AppendTo(e *Ext) {
	e.Set("topic", h.Topic)
	e.Set("group", h.Group)
	if h.ClientAddr != "" {
		e.Set("clientAddr", h.ClientAddr)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *ConsumerStatusHeader) ReadFrom(e *Ext) error {
	*h = ConsumerStatusHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "topic":
			s.text(&h.Topic)
			s.saw(0)
		case "group":
			s.text(&h.Group)
			s.saw(1)
		case "clientAddr":
			s.text(&h.ClientAddr)
		}
	}
	return s.finish("topic", "group")
}

// RunningInfoHeader is the header of GET_CONSUMER_RUNNING_INFO (307).
type RunningInfoHeader struct {
	// Group is the consumer group.
	Group string
	// ClientID is the client asked.
	ClientID string
	// JStack asks for the stacks of all threads.
	JStack bool
}

// AppendTo writes the header into ext fields.
func (h *RunningInfoHeader) AppendTo(e *Ext) {
	e.Set("consumerGroup", h.Group)
	e.Set("clientId", h.ClientID)
	e.SetBool("jstackEnable", h.JStack)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *RunningInfoHeader) ReadFrom(e *Ext) error {
	*h = RunningInfoHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "consumerGroup":
			s.text(&h.Group)
			s.saw(0)
		case "clientId":
			s.text(&h.ClientID)
			s.saw(1)
		case "jstackEnable":
			s.bool(&h.JStack)
		}
	}
	return s.finish("consumerGroup", "clientId")
}

// ConsumeDirectlyHeader is the header of CONSUME_MESSAGE_DIRECTLY (309).
type ConsumeDirectlyHeader struct {
	// Group is the consumer group.
	Group string
	// ClientID is the client that shall handle the message.
	ClientID string
	// MessageID is the message's offset id.
	MessageID string
	// Broker is the broker that has the message.
	Broker string
	// Topic is the message's topic.
	Topic string
	// TopicSysFlag are the topic's bits.
	TopicSysFlag int32
	// GroupSysFlag are the group's bits.
	GroupSysFlag int32
}

// AppendTo writes the header into ext fields.
func (h *ConsumeDirectlyHeader) AppendTo(e *Ext) {
	e.Set("consumerGroup", h.Group)
	if h.ClientID != "" {
		e.Set("clientId", h.ClientID)
	}
	if h.MessageID != "" {
		e.Set("msgId", h.MessageID)
	}
	if h.Broker != "" {
		e.Set("brokerName", h.Broker)
	}
	if h.Topic != "" {
		e.Set("topic", h.Topic)
	}
	if h.TopicSysFlag != 0 {
		e.SetInt("topicSysFlag", int64(h.TopicSysFlag))
	}
	if h.GroupSysFlag != 0 {
		e.SetInt("groupSysFlag", int64(h.GroupSysFlag))
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *ConsumeDirectlyHeader) ReadFrom(e *Ext) error {
	*h = ConsumeDirectlyHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "consumerGroup":
			s.text(&h.Group)
			s.saw(0)
		case "clientId":
			s.text(&h.ClientID)
		case "msgId":
			s.text(&h.MessageID)
		case "brokerName":
			s.text(&h.Broker)
		case "topic":
			s.text(&h.Topic)
		case "topicSysFlag":
			s.int32(&h.TopicSysFlag)
		case "groupSysFlag":
			s.int32(&h.GroupSysFlag)
		}
	}
	return s.finish("consumerGroup")
}

// ConsumeStatsHeader is the header of GET_CONSUME_STATS (208).
type ConsumeStatsHeader struct {
	// Group is the consumer group.
	Group string
	// Topic is the only topic asked for; empty is all.
	Topic string
}

// AppendTo writes the header into ext fields.
func (h *ConsumeStatsHeader) AppendTo(e *Ext) {
	e.Set("consumerGroup", h.Group)
	if h.Topic != "" {
		e.Set("topic", h.Topic)
	}
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *ConsumeStatsHeader) ReadFrom(e *Ext) error {
	*h = ConsumeStatsHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "consumerGroup":
			s.text(&h.Group)
			s.saw(0)
		case "topic":
			s.text(&h.Topic)
		}
	}
	return s.finish("consumerGroup")
}

// DeleteGroupHeader is the header of DELETE_SUBSCRIPTIONGROUP (207).
type DeleteGroupHeader struct {
	// Group is the consumer group.
	Group string
	// CleanOffset deletes the group's offsets, too. Brokers of 4.x call it removeOffset: both are written.
	CleanOffset bool
}

// AppendTo writes the header into ext fields.
func (h *DeleteGroupHeader) AppendTo(e *Ext) {
	e.Set("groupName", h.Group)
	e.SetBool("cleanOffset", h.CleanOffset)
	e.SetBool("removeOffset", h.CleanOffset)
}

// ReadFrom reads the header from ext fields. The error is a *FieldError.
func (h *DeleteGroupHeader) ReadFrom(e *Ext) error {
	*h = DeleteGroupHeader{}
	s := e.reader()
	for s.next() {
		switch string(s.name) {
		case "groupName":
			s.text(&h.Group)
			s.saw(0)
		case "cleanOffset", "removeOffset":
			s.bool(&h.CleanOffset)
		}
	}
	return s.finish("groupName")
}
