package wire

import (
	"maps"

	"github.com/troupe-mq/troupe/messages"
)

// Bits of a topic's permission (PermName).
const (
	PermInherit  int32 = 1
	PermWrite    int32 = 2
	PermRead     int32 = 4
	PermPriority int32 = 8
)

// QueueData is the queues one broker has of a topic.
type QueueData struct {
	Broker       string
	ReadQueues   int32
	WriteQueues  int32
	Perm         int32
	TopicSysFlag int32
}

func (q *QueueData) json(j *jsonCodec) {
	j.text("brokerName", &q.Broker)
	j.int32("perm", &q.Perm)
	j.int32("readQueueNums", &q.ReadQueues)
	j.int32("topicSysFlag", &q.TopicSysFlag)
	j.int32("writeQueueNums", &q.WriteQueues)
}

// BrokerData is one broker set.
type BrokerData struct {
	Broker  string
	Cluster string
	// Addresses by broker id; 0 is the master.
	Addresses    map[int64]string
	ActingMaster bool
	Zone         string
}

func (b *BrokerData) json(j *jsonCodec) {
	j.numberTable("brokerAddrs", &b.Addresses)
	j.text("brokerName", &b.Broker)
	j.text("cluster", &b.Cluster)
	j.bool("enableActingMaster", &b.ActingMaster)
	j.optional("zoneName", &b.Zone)
}

// TopicRouteData is the body of the answer to GET_ROUTEINFO_BY_TOPIC (105) and of REGISTER_TOPIC_IN_NAMESRV (217).
type TopicRouteData struct {
	// OrderConf is the order configuration of the topic, absent by default.
	OrderConf string
	Queues    []QueueData
	Brokers   []BrokerData
}

func (t *TopicRouteData) json(j *jsonCodec) {
	objects(j, "brokerDatas", &t.Brokers)
	j.pass("filterServerTable", "{}")
	j.optional("orderTopicConf", &t.OrderConf)
	objects(j, "queueDatas", &t.Queues)
}

// Encode writes strict JSON.
func (t *TopicRouteData) Encode() []byte { return encodeJSON(t) }

// DecodeTopicRouteData reads a route in strict JSON or as brokers before 4.9.4 and clients of an old version get it.
func DecodeTopicRouteData(body []byte) (*TopicRouteData, error) {
	t := &TopicRouteData{}
	return t, decodeJSON("route", body, t)
}

// Route gives the route in the form the actors use.
func (t *TopicRouteData) Route(topic string) *messages.TopicRoute {
	r := &messages.TopicRoute{Topic: topic}
	for _, q := range t.Queues {
		r.Queues = append(r.Queues, &messages.QueueGroup{
			Broker: q.Broker, ReadQueues: q.ReadQueues, WriteQueues: q.WriteQueues, Perm: q.Perm, TopicSysFlag: q.TopicSysFlag,
		})
	}
	for _, b := range t.Brokers {
		r.Brokers = append(r.Brokers, &messages.BrokerAddresses{
			Broker: b.Broker, Cluster: b.Cluster, Addresses: maps.Clone(b.Addresses),
		})
	}
	return r
}

// ClusterInfo is the body of the answer to GET_BROKER_CLUSTER_INFO (106).
type ClusterInfo struct {
	// Brokers by name.
	Brokers map[string]BrokerData
	// Clusters: names of the brokers by cluster.
	Clusters map[string][]string
}

func (c *ClusterInfo) json(j *jsonCodec) {
	objectTable(j, "brokerAddrTable", &c.Brokers)
	j.textsTable("clusterAddrTable", &c.Clusters)
}

// Encode writes strict JSON.
func (c *ClusterInfo) Encode() []byte { return encodeJSON(c) }

// DecodeClusterInfo reads the body of the answer to 106.
func DecodeClusterInfo(body []byte) (*ClusterInfo, error) {
	c := &ClusterInfo{}
	return c, decodeJSON("cluster info", body, c)
}
