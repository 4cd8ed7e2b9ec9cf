package embedded_test

import (
	"maps"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// Source: ProducerManager, ClientManageProcessor and AdminBrokerProcessor of 5.3.3.
var _ = Describe("the producers of a group", func() {
	list := func(p *peer, group string) *wire.Command {
		GinkgoHelper()
		return p.ask(request(wire.GetProducerConnectionList, map[string]string{"producerGroup": group}, ""))
	}
	clients := func(p *peer, group string) (ids []string) {
		GinkgoHelper()
		answer := list(p, group)
		if code(answer) != wire.Success {
			return nil
		}
		body, err := wire.DecodeProducerConnection(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		for _, c := range body.Connections {
			ids = append(ids, c.ClientID)
		}
		return ids
	}

	It("are listed by connection, each with what it said of itself", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, two := w.peer("one"), w.peer("two")
			answer := list(one, "PG")
			Expect(code(answer)).To(Equal(wire.SystemError))
			Expect(answer.Remark).To(Equal("the producer group[PG] not exist"))
			one.produces("PG")
			two.produces("PG")
			one.produces("PG")
			answer = list(one, "PG")
			Expect(code(answer)).To(Equal(wire.Success))
			body, err := wire.DecodeProducerConnection(answer.Body)
			Expect(err).NotTo(HaveOccurred())
			Expect(body.Connections).To(HaveLen(2))
			addresses := map[string]bool{}
			for k, id := range []string{"one", "two"} {
				c := body.Connections[k]
				Expect(c.ClientID).To(Equal(id))
				sent := wire.NewRequest(wire.HeartBeat)
				Expect([]any{c.Language, c.Version}).To(Equal([]any{sent.Language.String(), sent.Version}))
				addresses[c.ClientAddr] = true
			}
			Expect(addresses).To(HaveLen(2))
			Expect(maps.Keys(addresses)).NotTo(ContainElement(""))
			Expect(clients(one, "CLIENT_INNER_PRODUCER")).To(Equal([]string{"one", "two"}))
		})
	})
	It("are there until they say that they go, or their connection ends", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, two, looker := w.peer("one"), w.peer("two"), w.peer("looker")
			one.produces("PG")
			two.produces("PG")
			leave := request(wire.UnregisterClient, map[string]string{"clientID": "one", "producerGroup": "PG"}, "")
			Expect(code(one.ask(leave))).To(Equal(wire.Success))
			Expect(clients(looker, "PG")).To(Equal([]string{"two"}))
			Expect(clients(looker, "CLIENT_INNER_PRODUCER")).To(Equal([]string{"one", "two"}))
			two.close()
			synctest.Wait()
			Expect(code(list(looker, "PG"))).To(Equal(wire.SystemError))
			Expect(clients(looker, "CLIENT_INNER_PRODUCER")).To(Equal([]string{"one"}))
		})
	})
	It("are put out, with their connection, after 120 s without a heartbeat", func() {
		inWorld(embedded.Config{}, func(w *world) {
			one, two := w.peer("one"), w.peer("two")
			one.produces("PG")
			two.produces("PG")
			time.Sleep(100 * time.Second)
			two.produces("PG")
			time.Sleep(19 * time.Second)
			Expect(clients(one, "PG")).To(Equal([]string{"one", "two"}), "any other request keeps the connection, but is no heartbeat")
			time.Sleep(11*time.Second + time.Millisecond)
			synctest.Wait()
			Expect(clients(two, "PG")).To(Equal([]string{"two"}))
			Expect(one.lost).To(Receive())
			Expect(two.lost).NotTo(Receive())
		})
	})
})
