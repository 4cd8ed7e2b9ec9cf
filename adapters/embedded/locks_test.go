package embedded_test

import (
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// lock asks to lock or unlock queues of Orders and gives the ids of those that were granted.
func lock(p *peer, kind wire.RequestCode, group, client string, queues ...int32) []int32 {
	GinkgoHelper()
	set := []map[string]any{}
	for _, q := range queues {
		set = append(set, map[string]any{"brokerName": "broker-a", "queueId": q, "topic": "Orders"})
	}
	body, err := json.Marshal(map[string]any{"clientId": client, "consumerGroup": group, "mqSet": set, "onlyThisBroker": false})
	Expect(err).NotTo(HaveOccurred())
	answer := p.ask(request(kind, nil, string(body)))
	Expect(code(answer)).To(Equal(wire.Success))
	if kind == wire.UnlockBatchMQ {
		Expect(answer.Body).To(BeEmpty())
		return nil
	}
	granted, err := wire.DecodeLockResponse(answer.Body)
	Expect(err).NotTo(HaveOccurred())
	ids := []int32{}
	for _, q := range granted.Queues {
		Expect(q.Topic).To(Equal("Orders"))
		Expect(q.Broker).To(Equal("broker-a"))
		ids = append(ids, q.QueueID)
	}
	return ids
}

// Source: protocol.md 7.6, observed.md 5.
var _ = Describe("queue locks", func() {
	It("are granted to one client of a group at a time", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			Expect(lock(p, wire.LockBatchMQ, "g", "one", 0, 1)).To(Equal([]int32{0, 1}))
			Expect(lock(p, wire.LockBatchMQ, "g", "two", 1, 2)).To(Equal([]int32{2}))
			Expect(lock(p, wire.LockBatchMQ, "other", "two", 1)).To(Equal([]int32{1}))
			Expect(lock(p, wire.LockBatchMQ, "g", "one", 0, 1)).To(Equal([]int32{0, 1}))
		})
	})
	It("are freed by their owner alone", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			lock(p, wire.LockBatchMQ, "g", "one", 0)
			lock(p, wire.UnlockBatchMQ, "g", "two", 0)
			Expect(w.broker.LockHolder("g", "Orders", 0)).To(Equal("one"))
			lock(p, wire.UnlockBatchMQ, "g", "one", 0)
			Expect(w.broker.LockHolder("g", "Orders", 0)).To(BeEmpty())
			Expect(lock(p, wire.LockBatchMQ, "g", "two", 0)).To(Equal([]int32{0}))
		})
	})
	It("are free 60 s after they were last renewed", func() {
		inWorld(embedded.Config{}, func(w *world) {
			p := w.peer("one")
			lock(p, wire.LockBatchMQ, "g", "one", 0)
			time.Sleep(40 * time.Second)
			lock(p, wire.LockBatchMQ, "g", "one", 0)
			time.Sleep(60 * time.Second)
			Expect(lock(p, wire.LockBatchMQ, "g", "two", 0)).To(BeEmpty())
			time.Sleep(time.Millisecond)
			Expect(w.broker.LockHolder("g", "Orders", 0)).To(BeEmpty())
			Expect(lock(p, wire.LockBatchMQ, "g", "two", 0)).To(Equal([]int32{0}))
		})
	})
})
