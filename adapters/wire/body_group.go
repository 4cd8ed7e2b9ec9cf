package wire

// Connection is one client of a group, as the broker sees it.
type Connection struct {
	ClientID   string
	ClientAddr string
	Language   string
	Version    int32
}

func (c *Connection) json(j *jsonCodec) {
	j.text("clientAddr", &c.ClientAddr)
	j.text("clientId", &c.ClientID)
	j.text("language", &c.Language)
	j.int32("version", &c.Version)
}

// ConsumerConnection is the body of the answer to GET_CONSUMER_CONNECTION_LIST (203).
type ConsumerConnection struct {
	Connections []Connection
	// Subscriptions by topic.
	Subscriptions                          map[string]SubscriptionData
	ConsumeType, MessageModel, ConsumeFrom string
}

func (c *ConsumerConnection) json(j *jsonCodec) {
	objects(j, "connectionSet", &c.Connections)
	j.text("consumeFromWhere", &c.ConsumeFrom)
	j.text("consumeType", &c.ConsumeType)
	j.text("messageModel", &c.MessageModel)
	objectTable(j, "subscriptionTable", &c.Subscriptions)
}

// Encode writes strict JSON.
func (c *ConsumerConnection) Encode() []byte { return encodeJSON(c) }

// DecodeConsumerConnection reads the body of the answer to 203.
func DecodeConsumerConnection(body []byte) (*ConsumerConnection, error) {
	c := &ConsumerConnection{}
	return c, decodeJSON("consumer connection", body, c)
}

// ProducerConnection is the body of the answer to GET_PRODUCER_CONNECTION_LIST (204).
type ProducerConnection struct{ Connections []Connection }

func (c *ProducerConnection) json(j *jsonCodec) { objects(j, "connectionSet", &c.Connections) }

// Encode writes strict JSON.
func (c *ProducerConnection) Encode() []byte { return encodeJSON(c) }

// DecodeProducerConnection reads the body of the answer to 204.
func DecodeProducerConnection(body []byte) (*ProducerConnection, error) {
	c := &ProducerConnection{}
	return c, decodeJSON("producer connection", body, c)
}

// GroupList is the body of the answer to QUERY_TOPIC_CONSUME_BY_WHO (300).
type GroupList struct{ Groups []string }

func (g *GroupList) json(j *jsonCodec) { j.texts("groupList", &g.Groups) }

// Encode writes strict JSON.
func (g *GroupList) Encode() []byte { return encodeJSON(g) }

// DecodeGroupList reads the body of the answer to 300.
func DecodeGroupList(body []byte) (*GroupList, error) {
	g := &GroupList{}
	return g, decodeJSON("group list", body, g)
}

// SubscriptionGroup is a group's settings at a broker: the body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200).
type SubscriptionGroup struct {
	Group              string
	ConsumeEnable      bool
	ConsumeFromMin     bool
	ConsumeBroadcast   bool
	ConsumeOrderly     bool
	RetryQueues        int32
	RetryMaxTimes      int32
	BrokerID           int64
	SlowBrokerID       int64
	NotifyIDsChanged   bool
	SysFlag            int32
	ConsumeTimeoutMins int32
}

// NewSubscriptionGroup gives the settings a broker gives to a group it did not know.
func NewSubscriptionGroup(group string) SubscriptionGroup {
	return SubscriptionGroup{
		Group: group, ConsumeEnable: true, ConsumeFromMin: true, ConsumeBroadcast: true, RetryQueues: 1, RetryMaxTimes: 16,
		SlowBrokerID: 1, NotifyIDsChanged: true, ConsumeTimeoutMins: 15,
	}
}

func (g *SubscriptionGroup) json(j *jsonCodec) {
	j.pass("attributes", "{}")
	j.int64("brokerId", &g.BrokerID)
	j.bool("consumeBroadcastEnable", &g.ConsumeBroadcast)
	j.bool("consumeEnable", &g.ConsumeEnable)
	j.bool("consumeFromMinEnable", &g.ConsumeFromMin)
	j.bool("consumeMessageOrderly", &g.ConsumeOrderly)
	j.int32("consumeTimeoutMinute", &g.ConsumeTimeoutMins)
	j.text("groupName", &g.Group)
	j.pass("groupRetryPolicy", `{"type":"CUSTOMIZED"}`)
	j.int32("groupSysFlag", &g.SysFlag)
	j.bool("notifyConsumerIdsChangedEnable", &g.NotifyIDsChanged)
	j.int32("retryMaxTimes", &g.RetryMaxTimes)
	j.int32("retryQueueNums", &g.RetryQueues)
	j.int64("whichBrokerWhenConsumeSlowly", &g.SlowBrokerID)
}

// Encode writes strict JSON.
func (g *SubscriptionGroup) Encode() []byte { return encodeJSON(g) }

// DecodeSubscriptionGroup reads the body of 200; fields that are missing have a new group's values.
func DecodeSubscriptionGroup(body []byte) (*SubscriptionGroup, error) {
	g := NewSubscriptionGroup("")
	return &g, decodeJSON("subscription group", body, &g)
}

// SubscriptionGroupTable is the body of the answer to GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201): groups by name.
type SubscriptionGroupTable struct {
	Groups  map[string]SubscriptionGroup
	Version DataVersion
}

func (t *SubscriptionGroupTable) json(j *jsonCodec) {
	j.inner("dataVersion", &t.Version)
	j.pass("forbiddenTable", "{}")
	objectTable(j, "subscriptionGroupTable", &t.Groups)
}

// Encode writes strict JSON.
func (t *SubscriptionGroupTable) Encode() []byte { return encodeJSON(t) }

// DecodeSubscriptionGroupTable reads the body of the answer to 201.
func DecodeSubscriptionGroupTable(body []byte) (*SubscriptionGroupTable, error) {
	t := &SubscriptionGroupTable{}
	return t, decodeJSON("subscription groups", body, t)
}
