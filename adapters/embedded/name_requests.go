package embedded

import (
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// answer carries out a request to the name server; nil if it is none.
func (n *NameServer) answer(cmd *wire.Command) *wire.Command {
	switch wire.RequestCode(cmd.Code) {
	case wire.GetRouteInfoByTopic:
		return n.route(cmd)
	case wire.GetBrokerClusterInfo:
		return n.clusterInfo()
	case wire.GetAllTopicListFromNameServer:
		return n.topicList()
	case wire.PutKVConfig, wire.GetKVConfig, wire.DeleteKVConfig, wire.GetKVListByNamespace:
		return n.keyValue(cmd)
	case wire.DeleteTopicInNameServer:
		// The routes are the brokers' own tables: a topic is gone when its brokers have deleted it.
		return accept()
	default:
		return nil
	}
}

// route answers GET_ROUTEINFO_BY_TOPIC (105), always in strictly valid JSON.
func (n *NameServer) route(cmd *wire.Command) *wire.Command {
	var h wire.TopicHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	data := wire.TopicRouteData{}
	for _, r := range n.registered() {
		t := r.topics.get(h.Topic)
		if t == nil {
			continue
		}
		k := slices.IndexFunc(data.Brokers, func(b wire.BrokerData) bool { return b.Broker == r.key.name })
		if k >= 0 {
			data.Brokers[k].Addresses[r.key.id] = r.addr
			continue
		}
		data.Brokers = append(data.Brokers, brokerData(r))
		data.Queues = append(data.Queues, wire.QueueData{
			Broker: r.key.name, ReadQueues: t.readQueues, WriteQueues: t.writeQueues, Perm: t.perm, TopicSysFlag: t.sysFlag,
		})
	}
	if len(data.Brokers) == 0 {
		return refuse(wire.TopicNotExist, fmt.Sprintf("No topic route info in name server for the topic: %s%s", h.Topic, faq))
	}
	return acceptBody(data.Encode())
}

func brokerData(r *registration) wire.BrokerData {
	return wire.BrokerData{Broker: r.key.name, Cluster: r.cluster, Addresses: map[int64]string{r.key.id: r.addr}}
}

// clusterInfo answers GET_BROKER_CLUSTER_INFO (106).
func (n *NameServer) clusterInfo() *wire.Command {
	info := wire.ClusterInfo{Brokers: map[string]wire.BrokerData{}, Clusters: map[string][]string{}}
	for _, r := range n.registered() {
		if known, ok := info.Brokers[r.key.name]; ok {
			known.Addresses[r.key.id] = r.addr
			continue
		}
		info.Brokers[r.key.name] = brokerData(r)
		info.Clusters[r.cluster] = append(info.Clusters[r.cluster], r.key.name)
	}
	return acceptBody(info.Encode())
}

// topicList answers GET_ALL_TOPIC_LIST_FROM_NAMESERVER (206).
func (n *NameServer) topicList() *wire.Command {
	set := map[string]struct{}{}
	for _, r := range n.registered() {
		for _, name := range r.topics.names() {
			set[name] = struct{}{}
		}
	}
	list := wire.TopicList{Topics: slices.Sorted(maps.Keys(set))}
	return acceptBody(list.Encode())
}

// keyValue answers PUT_, GET_ and DELETE_KV_CONFIG (100 to 102) and GET_KVLIST_BY_NAMESPACE (219).
func (n *NameServer) keyValue(cmd *wire.Command) *wire.Command {
	var h wire.KVConfigHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	table := n.kv[h.Namespace]
	switch wire.RequestCode(cmd.Code) {
	case wire.PutKVConfig:
		if table == nil {
			table = map[string]string{}
			n.kv[h.Namespace] = table
		}
		table[h.Key] = h.Value
	case wire.DeleteKVConfig:
		delete(table, h.Key)
	case wire.GetKVConfig:
		value, ok := table[h.Key]
		if !ok {
			return refuse(wire.QueryNotFound, fmt.Sprintf("No config item, Namespace: %s Key: %s", h.Namespace, h.Key))
		}
		answer := accept()
		answer.Ext.Set("value", value)
		return answer
	default: // GetKVListByNamespace
		if len(table) == 0 {
			return refuse(wire.QueryNotFound, "No config item, Namespace: "+h.Namespace)
		}
		list := wire.KVTable{Table: table}
		return acceptBody(list.Encode())
	}
	return accept()
}
