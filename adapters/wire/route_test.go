package wire_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// oneBroker is the route that most of the bodies below mean.
func oneBroker(addresses map[int64]string) *wire.TopicRouteData {
	return &wire.TopicRouteData{
		Queues:  []wire.QueueData{{Broker: "broker-a", ReadQueues: 8, WriteQueues: 4, Perm: 6}},
		Brokers: []wire.BrokerData{{Broker: "broker-a", Cluster: "C", Addresses: addresses}},
	}
}

func routeBody(addresses string) string {
	return `{"brokerDatas":[{"brokerAddrs":` + addresses + `,"brokerName":"broker-a","cluster":"C"}],"filterServerTable":{},` +
		`"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":4}]}`
}

var _ = Describe("A route", Label("A42"), func() {
	DescribeTable("is understood however a name server writes it", func(body string, want *wire.TopicRouteData) {
		Expect(wire.DecodeTopicRouteData([]byte(body))).To(Equal(want))
	},
		Entry("ids quoted", routeBody(`{"0":"10.0.0.1:10911"}`), oneBroker(map[int64]string{0: "10.0.0.1:10911"})),
		Entry("ids not quoted", routeBody(`{0:"10.0.0.1:10911"}`), oneBroker(map[int64]string{0: "10.0.0.1:10911"})),
		Entry("ids above 1, in any order", routeBody(`{12:"10.0.0.3:1",0:"10.0.0.1:1",5:"10.0.0.2:1"}`),
			oneBroker(map[int64]string{0: "10.0.0.1:1", 5: "10.0.0.2:1", 12: "10.0.0.3:1"})),
		Entry("host names", routeBody(`{0:"broker-a.mq.svc.cluster.local:10911"}`), oneBroker(map[int64]string{0: "broker-a.mq.svc.cluster.local:10911"})),
		Entry("IPv6 in brackets", routeBody(`{0:"[2001:db8::1]:10911"}`), oneBroker(map[int64]string{0: "[2001:db8::1]:10911"})),
		Entry("names that hold , : { and quotes",
			`{"brokerDatas":[{"brokerAddrs":{0:"h:1"},"brokerName":"a,b:{0:\"x\"}","cluster":"C}]"}],"queueDatas":[{"brokerName":"a,b:{0:\"x\"}","perm":6,"readQueueNums":8,"writeQueueNums":4}]}`,
			&wire.TopicRouteData{
				Queues:  []wire.QueueData{{Broker: `a,b:{0:"x"}`, ReadQueues: 8, WriteQueues: 4, Perm: 6}},
				Brokers: []wire.BrokerData{{Broker: `a,b:{0:"x"}`, Cluster: "C}]", Addresses: map[int64]string{0: "h:1"}}},
			}),
		Entry("unknown nested fields", `{"topicQueueMappingByBroker":{"broker-a":{"bname":"x","currIdMap":{0:1},"deep":[[{}]]}},`+routeBody(`{"0":"h:1"}`)[1:],
			oneBroker(map[int64]string{0: "h:1"})),
		Entry("null tables", `{"brokerDatas":null,"filterServerTable":null,"orderTopicConf":null,"queueDatas":null}`, &wire.TopicRouteData{}),
		Entry("a broker without addresses", routeBody(`{}`), oneBroker(nil)),
		Entry("no brokers", `{"brokerDatas":[],"queueDatas":[]}`, &wire.TopicRouteData{}),
		Entry("white space everywhere", " {\r\n\t\"brokerDatas\" : [ { \"brokerAddrs\" : { 0 : \"h:1\" } , \"brokerName\" : \"broker-a\" , \"cluster\" : \"C\" } ] ,\n"+
			" \"queueDatas\" : [ { \"brokerName\":\"broker-a\", \"perm\" : 6 , \"readQueueNums\": 8 , \"writeQueueNums\" :4 } ] } \n",
			oneBroker(map[int64]string{0: "h:1"})),
		Entry("keys in another order, with the order configuration", `{"queueDatas":[{"writeQueueNums":4,"readQueueNums":8,"perm":6,"brokerName":"broker-a"}],`+
			`"orderTopicConf":"broker-a:8","brokerDatas":[{"zoneName":"z","cluster":"C","enableActingMaster":true,"brokerName":"broker-a","brokerAddrs":{"0":"h:1"}}]}`,
			&wire.TopicRouteData{
				OrderConf: "broker-a:8",
				Queues:    []wire.QueueData{{Broker: "broker-a", ReadQueues: 8, WriteQueues: 4, Perm: 6}},
				Brokers:   []wire.BrokerData{{Broker: "broker-a", Cluster: "C", Addresses: map[int64]string{0: "h:1"}, ActingMaster: true, Zone: "z"}},
			}),
	)

	DescribeTable("is an error otherwise", func(body string) {
		_, err := wire.DecodeTopicRouteData([]byte(body))
		Expect(err).To(MatchError(HavePrefix("route: ")))
	},
		Entry("empty", ``),
		Entry("cut", routeBody(`{0:"h:1"}`)[:60]),
		Entry("an id that is no number", routeBody(`{"master":"h:1"}`)),
		Entry("HTML", `<html>502 Bad Gateway</html>`),
	)

	It("is given to the actors with every broker and queue", func() {
		r := oneBroker(map[int64]string{0: "h:1", 1: "h:2"}).Route("orders")
		Expect(r.GetTopic()).To(Equal("orders"))
		Expect(r.GetQueues()).To(HaveLen(1))
		Expect(r.GetQueues()[0].GetReadQueues()).To(BeEquivalentTo(8))
		Expect(r.GetQueues()[0].GetWriteQueues()).To(BeEquivalentTo(4))
		Expect(r.GetQueues()[0].GetPerm()).To(BeEquivalentTo(6))
		Expect(r.GetBrokers()[0].GetCluster()).To(Equal("C"))
		Expect(r.GetBrokers()[0].GetAddresses()).To(Equal(map[int64]string{0: "h:1", 1: "h:2"}))
	})
})
