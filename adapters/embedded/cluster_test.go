package embedded_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("a broker's lives", func() {
	It("keep messages, topics and offsets over a restart; members, locks and held pulls are gone", func() {
		inWorld(embedded.Config{}, func(w *world) {
			Expect(w.broker.Publish(texts("Orders", 0, "a", "b")...)).To(Succeed())
			p := w.peer("one")
			p.join("billing", sub{topic: "Orders", version: 1})
			lock(p, wire.LockBatchMQ, "billing", "one", 0)
			w.broker.Commit("billing", "Orders", 0, 1)
			answer := p.later(pull("billing", "Orders", 0, 2, "sysFlag", "2"))
			synctest.Wait()
			Expect(w.broker.Stop()).To(Succeed())
			Expect(w.broker.Stop()).To(Succeed())
			Eventually(answer).Should(BeClosed())
			Expect(w.broker.Publish(texts("Orders", 0, "x")...)).To(MatchError(embedded.ErrStopped))
			Expect(w.broker.Restart(context.Background(), w.listen(brokerAddr))).To(Succeed())
			time.Sleep(5 * time.Second)
			refusal := p.ask(pull("billing", "Orders", 0, 1))
			Expect(code(refusal)).To(Equal(wire.SubscriptionNotExist))
			Expect(refusal.Remark).To(HavePrefix("the consumer's group info not exist"))
			Expect(w.broker.Members("billing")).To(BeEmpty())
			Expect(w.broker.LockHolder("billing", "Orders", 0)).To(BeEmpty())
			p.join("billing", sub{topic: "Orders", version: 1})
			Expect(bodies(received(p.ask(pull("billing", "Orders", 0, 1))))).To(Equal([]string{"b"}))
			Expect(first(w.broker.Committed("billing", "Orders", 0))).To(Equal(int64(1)))
		})
	})
	It("may go on at another address, which routes then name", func() {
		b := startBroker(embedded.Config{})
		Expect(b.CreateTopic("Orders", 1)).To(Succeed())
		old := b.Addr()
		Expect(b.Restart(context.Background(), nil)).NotTo(Succeed())
		Expect(b.Stop()).To(Succeed())
		l, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		Expect(b.Restart(context.Background(), l)).To(Succeed())
		Expect(b.Addr()).NotTo(Equal(old))
		answer := connect(b, "one").ask(request(wire.GetRouteInfoByTopic, map[string]string{"topic": "Orders"}, ""))
		Expect(string(answer.Body)).To(ContainSubstring(b.Addr()))
		Expect(b.Stop()).To(Succeed())
		Expect(b.Restart(context.Background(), nil)).To(Succeed())
		Expect(b.Addr()).To(Equal(l.Addr().String()))
	})
	It("end with Close", func() {
		b := startBroker(embedded.Config{})
		Expect(b.Close()).To(Succeed())
		Expect(b.Close()).To(Succeed())
		Expect(b.Restart(context.Background(), nil)).To(MatchError(ContainSubstring("closed")))
	})
	It("do not begin at an address that is taken", func() {
		b := startBroker(embedded.Config{})
		_, err := embedded.Start(context.Background(), embedded.Config{Listen: b.Addr()})
		Expect(err).To(MatchError(ContainSubstring("broker broker-a")))
	})
})

var _ = Describe("several brokers behind one name server", func() {
	route := func(p *peer, topic string) *wire.TopicRouteData {
		GinkgoHelper()
		answer := p.ask(request(wire.GetRouteInfoByTopic, map[string]string{"topic": topic}, ""))
		if code(answer) != wire.Success {
			Expect(code(answer)).To(Equal(wire.TopicNotExist))
			return nil
		}
		r, err := wire.DecodeTopicRouteData(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		return r
	}
	It("appear in routes as they come, and disappear as they go", func() {
		n, err := embedded.StartNameServer(context.Background(), embedded.NameServerConfig{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(n.Close)
		a := startBroker(embedded.Config{NameServer: n, BrokerName: "broker-a"})
		p := connect(a, "one")
		p.addr = n.Addr()
		Expect(route(p, "Orders")).To(BeNil())
		Expect(a.CreateTopic("Orders", 4)).To(Succeed())
		Expect(route(p, "Orders").Brokers).To(HaveLen(1))

		b := startBroker(embedded.Config{NameServer: n, BrokerName: "broker-b"})
		Expect(b.CreateTopic("Orders", 2)).To(Succeed())
		slave := startBroker(embedded.Config{NameServer: n, BrokerName: "broker-b", BrokerID: 1})
		Expect(slave.CreateTopic("Orders", 2)).To(Succeed())
		r := route(p, "Orders")
		Expect(r.Queues).To(Equal([]wire.QueueData{
			{Broker: "broker-a", ReadQueues: 4, WriteQueues: 4, Perm: 6}, {Broker: "broker-b", ReadQueues: 2, WriteQueues: 2, Perm: 6},
		}))
		Expect(r.Brokers[1].Addresses).To(Equal(map[int64]string{0: b.Addr(), 1: slave.Addr()}))
		info, err := wire.DecodeClusterInfo(p.ask(request(wire.GetBrokerClusterInfo, nil, "")).Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Clusters).To(Equal(map[string][]string{"DefaultCluster": {"broker-a", "broker-b"}}))
		Expect(info.Brokers["broker-b"].Addresses).To(HaveLen(2))

		Expect(b.Stop()).To(Succeed())
		Expect(route(p, "Orders").Brokers[1].Addresses).To(Equal(map[int64]string{1: slave.Addr()}))
		Expect(slave.Stop()).To(Succeed())
		Expect(route(p, "Orders").Brokers).To(HaveLen(1))
		Expect(b.Restart(context.Background(), nil)).To(Succeed())
		Expect(route(p, "Orders").Brokers).To(HaveLen(2))
	})
	It("are still known when the name server comes back", func() {
		n, err := embedded.StartNameServer(context.Background(), embedded.NameServerConfig{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(n.Close)
		a := startBroker(embedded.Config{NameServer: n})
		Expect(a.CreateTopic("Orders", 1)).To(Succeed())
		p := connect(a, "one")
		Expect(n.Stop()).To(Succeed())
		Expect(n.Restart(context.Background(), nil)).To(Succeed())
		p.addr = n.Addr()
		Expect(route(p, "Orders").Brokers).To(HaveLen(1))
	})
	It("keep values for their clients", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		kv := func(kind wire.RequestCode, ext map[string]string) *wire.Command { return p.ask(request(kind, ext, "")) }
		key := map[string]string{"namespace": "N", "key": "k"}
		Expect(code(kv(wire.GetKVConfig, key))).To(Equal(wire.QueryNotFound))
		Expect(code(kv(wire.GetKVListByNamespace, map[string]string{"namespace": "N"}))).To(Equal(wire.QueryNotFound))
		Expect(code(kv(wire.PutKVConfig, map[string]string{"namespace": "N", "key": "k", "value": "v"}))).To(Equal(wire.Success))
		Expect(kv(wire.GetKVConfig, key).Ext.Text("value")).To(Equal("v"))
		Expect(kv(wire.GetKVListByNamespace, map[string]string{"namespace": "N"}).Body).To(MatchJSON(`{"table":{"k":"v"}}`))
		Expect(code(kv(wire.DeleteKVConfig, key))).To(Equal(wire.Success))
		Expect(code(kv(wire.GetKVConfig, key))).To(Equal(wire.QueryNotFound))
	})
	It("list their topics", func() {
		b := startBroker(embedded.Config{})
		p := connect(b, "one")
		Expect(b.CreateTopic("Orders", 1)).To(Succeed())
		list, err := wire.DecodeTopicList(p.ask(request(wire.GetAllTopicListFromNameServer, nil, "")).Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Topics).To(ContainElements("Orders", "TBW102", "SCHEDULE_TOPIC_XXXX"))
		Expect(code(p.ask(request(wire.DeleteTopicInBroker, map[string]string{"topic": "Orders"}, "")))).To(Equal(wire.Success))
		Expect(route(p, "Orders")).To(BeNil())
		Expect(code(p.ask(request(wire.DeleteTopicInBroker, map[string]string{"topic": "TBW102"}, "")))).To(Equal(wire.InvalidParameter))
	})
	It("suggest another broker when told to", func() {
		b := startBroker(embedded.Config{})
		Expect(b.Publish(texts("Orders", 0, "a")...)).To(Succeed())
		b.SuggestBroker(1)
		p := connect(b, "one")
		Expect(p.ask(pull("g", "Orders", 0, 0, "sysFlag", "4", "subscription", "*")).Ext.Text("suggestWhichBrokerId")).To(Equal("1"))
	})
	It("may be reached by another address than the one they listen at", func() {
		b := startBroker(embedded.Config{Advertise: "192.0.2.7:1234"})
		Expect(b.CreateTopic("Orders", 1)).To(Succeed())
		p := connect(b, "one")
		Expect(route(p, "Orders").Brokers[0].Addresses).To(Equal(map[int64]string{0: "192.0.2.7:1234"}))
		Expect(p.ask(send("Orders", 0, "x", "")).Ext.Text("msgId")).To(HavePrefix("C0000207000004D2"))
	})
})

var _ = Describe("publishing directly", func() {
	It("goes round the queues of the topic, or to the queue that is named", func() {
		b := startBroker(embedded.Config{})
		Expect(b.CreateTopic("Orders", 3)).To(Succeed())
		list := make([]*messages.Message, 6)
		for k := range list {
			list[k] = messages.NewMessage("Orders", []byte(fmt.Sprint(k)))
		}
		Expect(b.Publish(list...)).To(Succeed())
		Expect(bodies(b.MessagesIn("Orders"))).To(Equal([]string{"0", "3", "1", "4", "2", "5"}))
		Expect(b.Publish(texts("Orders", 2, "two")...)).To(Succeed())
		Expect(b.MaxOffset("Orders", 2)).To(Equal(int64(3)))
		Expect(list[0].GetRawProperties()).To(BeEmpty())
	})
	It("says which message cannot be stored", func() {
		b := startBroker(embedded.Config{NoTopicCreation: true})
		Expect(b.Publish(texts("Orders", 0, "x")...)).To(MatchError("publish message 1 of 1 to Orders: topic does not exist"))
		Expect(b.CreateTopic("Orders", 1)).To(Succeed())
		Expect(b.Publish(texts("Orders", 1, "x")...)).To(MatchError(ContainSubstring("queue 1 of 1")))
		Expect(b.CreateTopic("a b", 1)).NotTo(Succeed())
		Expect(b.CreateTopic("Orders", 0)).NotTo(Succeed())
	})
	It("keeps only as much of the log as was asked for", func() {
		inWorld(embedded.Config{RetainBytes: 4 << 20}, func(w *world) {
			body := string(make([]byte, 64<<10))
			for range 160 { // 10 MiB
				Expect(w.broker.Publish(texts("Orders", 0, body)...)).To(Succeed())
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			Expect(w.broker.CountMessages("Orders")).To(And(BeNumerically(">=", 60), BeNumerically("<=", 80)))
			Expect(w.broker.MinOffset("Orders", 0)).To(BeNumerically(">", 0))
			Expect(w.broker.MessagesIn("Orders")).To(HaveLen(int(w.broker.CountMessages("Orders"))))
		})
	})
	It("does not disturb those who read", func() {
		b := startBroker(embedded.Config{})
		Expect(b.CreateTopic("Orders", 2)).To(Succeed())
		p := connect(b, "one")
		p.join("billing", sub{topic: "Orders", version: 1})
		const n = 2000
		var wg sync.WaitGroup
		for queue := range int32(2) {
			wg.Go(func() {
				defer GinkgoRecover()
				for k := range n {
					Expect(b.Publish(texts("Orders", queue, fmt.Sprint(k))...)).To(Succeed())
				}
			})
			wg.Go(func() {
				defer GinkgoRecover()
				for next := int64(0); next < n; {
					answer := p.ask(pull("billing", "Orders", int(queue), next, "sysFlag", "2"))
					if code(answer) != wire.Success {
						continue
					}
					for _, m := range received(answer) {
						Expect(m.GetQueueOffset()).To(Equal(next))
						Expect(string(m.GetBody())).To(Equal(fmt.Sprint(next)))
						next++
					}
				}
			})
		}
		wg.Wait()
	})
})

var _ = Describe("TLS", func() {
	It("carries everything, and plain connections are not taken", func() {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		Expect(err).NotTo(HaveOccurred())
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		Expect(err).NotTo(HaveOccurred())
		cert, err := x509.ParseCertificate(der)
		Expect(err).NotTo(HaveOccurred())
		pool := x509.NewCertPool()
		pool.AddCert(cert)
		b := startBroker(embedded.Config{TLS: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}})
		client := remoting.NewClient(remoting.ClientConfig{TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
		DeferCleanup(client.Close)
		answer, err := client.Call(context.Background(), b.Addr(), send("Orders", 0, "secret", ""))
		Expect(err).NotTo(HaveOccurred())
		Expect(code(answer)).To(Equal(wire.Success))
		Expect(connect(b, "plain").try(send("Orders", 0, "plain", ""), 5*time.Second)).NotTo(Succeed())
	})
})
