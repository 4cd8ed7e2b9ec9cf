package wire

// TopicList is the body of the answers that list topics (206, 224, 304, 305).
type TopicList struct {
	Topics []string
	// BrokerAddr is set in answers of code 305 only.
	BrokerAddr string
}

func (t *TopicList) json(j *jsonCodec) {
	j.optional("brokerAddr", &t.BrokerAddr)
	j.texts("topicList", &t.Topics)
}

// Encode writes strict JSON.
func (t *TopicList) Encode() []byte { return encodeJSON(t) }

// DecodeTopicList reads a list of topics.
func DecodeTopicList(body []byte) (*TopicList, error) {
	t := &TopicList{}
	return t, decodeJSON("topic list", body, t)
}

// KVTable is the body of the answers to GET_KVLIST_BY_NAMESPACE (219) and REGISTER_BROKER (103).
type KVTable struct{ Table map[string]string }

func (k *KVTable) json(j *jsonCodec) { j.textTable("table", &k.Table) }

// Encode writes strict JSON.
func (k *KVTable) Encode() []byte { return encodeJSON(k) }

// DecodeKVTable reads a table of values.
func DecodeKVTable(body []byte) (*KVTable, error) {
	k := &KVTable{}
	return k, decodeJSON("table", body, k)
}

// Values of TopicConfig.FilterType.
const (
	SingleTag = "SINGLE_TAG"
	MultiTag  = "MULTI_TAG"
)

// TopicConfig is a topic's settings at one broker: the body of the answer to GET_TOPIC_CONFIG (351).
type TopicConfig struct {
	Topic       string
	ReadQueues  int32
	WriteQueues int32
	// Perm are the Perm… bits.
	Perm       int32
	FilterType string
	SysFlag    int32
	Order      bool
	Attributes map[string]string
}

// NewTopicConfig gives the settings of a topic that is readable and writable.
func NewTopicConfig(topic string, queues int32) TopicConfig {
	return TopicConfig{Topic: topic, ReadQueues: queues, WriteQueues: queues, Perm: PermRead | PermWrite, FilterType: SingleTag}
}

func (t *TopicConfig) json(j *jsonCodec) {
	j.textTable("attributes", &t.Attributes)
	j.bool("order", &t.Order)
	j.int32("perm", &t.Perm)
	j.int32("readQueueNums", &t.ReadQueues)
	j.text("topicFilterType", &t.FilterType)
	j.text("topicName", &t.Topic)
	j.int32("topicSysFlag", &t.SysFlag)
	j.int32("writeQueueNums", &t.WriteQueues)
}

// Encode writes strict JSON.
func (t *TopicConfig) Encode() []byte { return encodeJSON(t) }

// DecodeTopicConfig reads a topic's settings; fields that are missing have Java's values: 16 queues, readable, writable.
func DecodeTopicConfig(body []byte) (*TopicConfig, error) {
	t := NewTopicConfig("", 16)
	return &t, decodeJSON("topic config", body, &t)
}

// DataVersion tells which of two tables is newer.
type DataVersion struct {
	Counter      int64
	StateVersion int64
	// Timestamp of the last change, in ms.
	Timestamp int64
}

func (v *DataVersion) json(j *jsonCodec) {
	j.int64("counter", &v.Counter)
	j.int64("stateVersion", &v.StateVersion)
	j.int64("timestamp", &v.Timestamp)
}

// Encode writes strict JSON.
func (v *DataVersion) Encode() []byte { return encodeJSON(v) }

// DecodeDataVersion reads the body of QUERY_DATA_VERSION (322).
func DecodeDataVersion(body []byte) (*DataVersion, error) {
	v := &DataVersion{}
	return v, decodeJSON("data version", body, v)
}

// RegisterBrokerBody is the uncompressed body of REGISTER_BROKER (103): a broker's topics.
type RegisterBrokerBody struct {
	Topics  map[string]TopicConfig
	Version DataVersion
}

func (b *RegisterBrokerBody) json(j *jsonCodec) {
	j.pass("filterServerList", "[]")
	j.inner("topicConfigSerializeWrapper", (*topicTable)(b))
}

// topicTable is what stands inside topicConfigSerializeWrapper.
type topicTable RegisterBrokerBody

func (t *topicTable) json(j *jsonCodec) {
	j.inner("dataVersion", &t.Version)
	j.pass("mappingDataVersion", `{"counter":0,"stateVersion":0,"timestamp":0}`)
	objectTable(j, "topicConfigTable", &t.Topics)
	j.pass("topicQueueMappingDetailMap", "{}")
	j.pass("topicQueueMappingInfoMap", "{}")
}

// Encode writes strict JSON.
func (b *RegisterBrokerBody) Encode() []byte { return encodeJSON(b) }

// DecodeRegisterBroker reads the uncompressed body of 103.
func DecodeRegisterBroker(body []byte) (*RegisterBrokerBody, error) {
	b := &RegisterBrokerBody{}
	return b, decodeJSON("broker registration", body, b)
}
