package wire

// How a group consumes (ConsumeType).
const (
	ConsumeActively  = "CONSUME_ACTIVELY"
	ConsumePassively = "CONSUME_PASSIVELY"
	ConsumePop       = "CONSUME_POP"
)

// How a group shares messages (MessageModel).
const (
	Clustering   = "CLUSTERING"
	Broadcasting = "BROADCASTING"
)

// Where a new group starts (ConsumeFromWhere).
const (
	FromLastOffset  = "CONSUME_FROM_LAST_OFFSET"
	FromFirstOffset = "CONSUME_FROM_FIRST_OFFSET"
	FromTimestamp   = "CONSUME_FROM_TIMESTAMP"
)

// ConsumerData is one consumer group of a heartbeat.
type ConsumerData struct {
	Group string
	// ConsumeType, MessageModel and ConsumeFrom are the enum names above.
	ConsumeType   string
	MessageModel  string
	ConsumeFrom   string
	Subscriptions []SubscriptionData
	UnitMode      bool
}

func (c *ConsumerData) json(j *jsonCodec) {
	j.text("consumeFromWhere", &c.ConsumeFrom)
	j.text("consumeType", &c.ConsumeType)
	j.text("groupName", &c.Group)
	j.text("messageModel", &c.MessageModel)
	objects(j, "subscriptionDataSet", &c.Subscriptions)
	j.bool("unitMode", &c.UnitMode)
}

// ProducerData is one producer group of a heartbeat.
type ProducerData struct{ Group string }

func (p *ProducerData) json(j *jsonCodec) { j.text("groupName", &p.Group) }

// HeartbeatData is the body of HEART_BEAT (34).
type HeartbeatData struct {
	ClientID string
	// Fingerprint changes when the subscriptions change; 0 means that nothing is to be compared.
	Fingerprint int32
	// WithoutSub says that subscriptions are left out, as the broker knows the fingerprint.
	WithoutSub bool
	Consumers  []ConsumerData
	Producers  []ProducerData
}

func (h *HeartbeatData) json(j *jsonCodec) {
	j.text("clientID", &h.ClientID)
	objects(j, "consumerDataSet", &h.Consumers)
	j.int32("heartbeatFingerprint", &h.Fingerprint)
	objects(j, "producerDataSet", &h.Producers)
	j.bool("withoutSub", &h.WithoutSub)
}

// Encode writes strict JSON.
func (h *HeartbeatData) Encode() []byte { return encodeJSON(h) }

// DecodeHeartbeat reads the body of 34.
func DecodeHeartbeat(body []byte) (*HeartbeatData, error) {
	h := &HeartbeatData{}
	return h, decodeJSON("heartbeat", body, h)
}

// ConsumerList is the body of the answer to GET_CONSUMER_LIST_BY_GROUP (38): client ids.
type ConsumerList struct{ IDs []string }

func (c *ConsumerList) json(j *jsonCodec) { j.texts("consumerIdList", &c.IDs) }

// Encode writes strict JSON.
func (c *ConsumerList) Encode() []byte { return encodeJSON(c) }

// DecodeConsumerList reads the body of the answer to 38.
func DecodeConsumerList(body []byte) (*ConsumerList, error) {
	c := &ConsumerList{}
	return c, decodeJSON("consumer list", body, c)
}

// CheckClient is the body of CHECK_CLIENT_CONFIG (46).
type CheckClient struct {
	ClientID     string
	Group        string
	Namespace    string
	Subscription SubscriptionData
}

func (c *CheckClient) json(j *jsonCodec) {
	j.text("clientId", &c.ClientID)
	j.text("group", &c.Group)
	j.optional("namespace", &c.Namespace)
	j.inner("subscriptionData", &c.Subscription)
}

// Encode writes strict JSON.
func (c *CheckClient) Encode() []byte { return encodeJSON(c) }

// DecodeCheckClient reads the body of 46.
func DecodeCheckClient(body []byte) (*CheckClient, error) {
	c := &CheckClient{}
	return c, decodeJSON("client check", body, c)
}
