package rocketmq_test

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// methods are the questions a broker answers, with their names on the wire and the time-out of the Java client (protocol.md
// 2.9).
var methods = []struct {
	name    string
	request string
	timeout time.Duration
	queue   bool // the question is about a queue
	ask     func(actors.Link) error
}{
	{"Heartbeat", "HEART_BEAT", 3 * time.Second, false, func(l actors.Link) error {
		return l.Heartbeat(ctx, brokerAddress, &messages.Heartbeat{})
	}},
	{"Unregister", "UNREGISTER_CLIENT", 3 * time.Second, false, func(l actors.Link) error {
		return l.Unregister(ctx, brokerAddress, "g", "")
	}},
	{"Members", "GET_CONSUMER_LIST_BY_GROUP", 3 * time.Second, false, func(l actors.Link) error {
		_, err := l.Members(ctx, brokerAddress, "g")
		return err
	}},
	{"Committed", "QUERY_CONSUMER_OFFSET", 5 * time.Second, true, func(l actors.Link) error {
		_, err := l.Committed(ctx, brokerAddress, "g", queue)
		return err
	}},
	{"Commit", "UPDATE_CONSUMER_OFFSET", 5 * time.Second, true, func(l actors.Link) error {
		return l.Commit(ctx, brokerAddress, "g", queue, 1)
	}},
	{"MinOffset", "GET_MIN_OFFSET", 6 * time.Second, true, func(l actors.Link) error {
		_, err := l.MinOffset(ctx, brokerAddress, queue)
		return err
	}},
	{"MaxOffset", "GET_MAX_OFFSET", 6 * time.Second, true, func(l actors.Link) error {
		_, err := l.MaxOffset(ctx, brokerAddress, queue)
		return err
	}},
	{"OffsetAt", "SEARCH_OFFSET_BY_TIMESTAMP", 6 * time.Second, true, func(l actors.Link) error {
		_, err := l.OffsetAt(ctx, brokerAddress, queue, time.Now())
		return err
	}},
	{"Pull", "PULL_MESSAGE", 30 * time.Second, true, func(l actors.Link) error {
		_, err := pullNow(l, &messages.PullRequest{Address: brokerAddress, Group: "g", Queue: queue})
		return err
	}},
	{"SendBack", "CONSUMER_SEND_MSG_BACK", 5 * time.Second, false, func(l actors.Link) error {
		return l.SendBack(ctx, &messages.SendBack{Address: brokerAddress, Broker: "broker-a", Group: "g"})
	}},
	{"Send", "SEND_MESSAGE_V2", 3 * time.Second, true, func(l actors.Link) error {
		_, err := l.Send(ctx, &messages.SendRequest{Address: brokerAddress, Queue: queue})
		return err
	}},
}

var _ = Describe("A question to a broker", func() {
	for _, m := range methods {
		Describe(m.name, func() {
			It("turns a refusal into a broker error with all that is known", func() {
				inVirtualTime(func() {
					s := newStage()
					s.serve(brokerAddress, code(wire.NoPermission, "the broker [10.0.0.2] is forbidden"))
					link := s.open()
					err := m.ask(link)
					var refused *messages.BrokerError
					Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
					Expect(refused.GetCode()).To(BeEquivalentTo(16))
					Expect(refused.GetCodeName()).To(Equal("NO_PERMISSION"))
					Expect(refused.GetRequest()).To(Equal(m.request))
					Expect(refused.GetAddress()).To(Equal(brokerAddress))
					Expect(refused.GetRemark()).To(Equal("the broker [10.0.0.2] is forbidden"))
					if m.queue {
						Expect(refused.GetQueue()).To(Equal(queue))
						Expect(refused.GetBroker()).To(Equal("broker-a"))
					}
					Expect(link.Close()).To(Succeed())
					s.stop()
				})
			})

			It("gives a refused connection as not sent", func() {
				inVirtualTime(func() {
					s := newStage()
					link := s.open()
					err := m.ask(link)
					var ne *messages.NetworkError
					Expect(errors.As(err, &ne)).To(BeTrue(), "%v", err)
					Expect(ne.GetNotSent()).To(BeTrue())
					Expect(ne.GetRequest()).To(Equal(m.request))
					Expect(ne.GetAddress()).To(Equal(brokerAddress))
					Expect(link.Close()).To(Succeed())
					s.stop()
				})
			})

			It("waits as long as the Java client does", func() {
				inVirtualTime(func() {
					s := newStage()
					s.serve(brokerAddress, silent)
					link := s.open()
					begun := time.Now()
					err := m.ask(link)
					Expect(err).To(MatchError(context.DeadlineExceeded))
					Expect(time.Since(begun)).To(BeNumerically("~", m.timeout, 50*time.Millisecond))
					Expect(link.Close()).To(Succeed())
					s.stop()
				})
			})
		})
	}

	for _, m := range methods {
		switch m.name {
		case "Heartbeat", "Unregister", "Commit", "SendBack":
			continue // their success says nothing else
		}
		It("takes a success that cannot be read for a fault: "+m.name, func() {
			inVirtualTime(func() {
				s := newStage()
				s.serve(brokerAddress, func(*remoting.Session, *wire.Command) *wire.Command {
					answer := wire.NewResponse(wire.Success, "")
					answer.Ext.Set("offset", "many")
					answer.Body = []byte("{")
					return answer
				})
				link := s.open()
				err := m.ask(link)
				var ne *messages.NetworkError
				Expect(errors.As(err, &ne)).To(BeTrue(), "%v", err)
				Expect(ne.GetReason()).To(HavePrefix("malformed answer"))
				Expect(ne.GetRequest()).To(Equal(m.request))
				Expect(link.Close()).To(Succeed())
				s.stop()
			})
		})
	}
})

var _ = Describe("A pull", func() {
	It("ends soon when it is cancelled, once, and its late answer is ignored", func() {
		inVirtualTime(func() {
			s := newStage()
			s.serve(brokerAddress, silent)
			link := s.open()
			ends := make(chan error, 8)
			underway := link.Pull(&messages.PullRequest{Address: brokerAddress, Group: "g", Queue: queue, TimeoutMillis: 60_000},
				actors.PullFunc(func(_ *messages.PullReply, err error) { ends <- err }))
			synctest.Wait()
			Expect(ends).To(BeEmpty())
			underway.Cancel()
			underway.Cancel()
			synctest.Wait()
			Expect(ends).To(HaveLen(1))
			Expect(<-ends).To(MatchError(ContainSubstring("cancelled")))
			Expect(link.Close()).To(Succeed())
			Expect(ends).To(BeEmpty())
			s.stop()
		})
	})

	It("takes its own time-out", func() {
		inVirtualTime(func() {
			s := newStage()
			s.serve(brokerAddress, silent)
			link := s.open()
			begun := time.Now()
			_, err := pullNow(link, &messages.PullRequest{Address: brokerAddress, Group: "g", Queue: queue, TimeoutMillis: 20_000})
			Expect(err).To(MatchError(context.DeadlineExceeded))
			Expect(time.Since(begun)).To(BeNumerically("~", 20*time.Second, 50*time.Millisecond))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("reports a corrupt record by its offset and delivers the others", func() {
		inVirtualTime(func() {
			g := loadGolden()["5.3.3/059-PULL_MESSAGE-response-push-sysflag2-batch-SUCCESS.bin"]
			records := append([]byte(nil), g.decoded().Body...)
			records[339+4] ^= 0xFF // the magic code of the second record
			s := newStage()
			link := s.open()
			slab, corrupt := link.Decode(&messages.PullReply{Records: records}, queue, "g")
			Expect(slab).To(HaveLen(3))
			Expect(slab[1].GetQueueOffset()).To(BeEquivalentTo(2))
			Expect(corrupt).To(HaveLen(1))
			Expect(corrupt[0].Reason).To(ContainSubstring("magic"))
			slab, corrupt = link.Decode(&messages.PullReply{Records: records[:400]}, queue, "g")
			Expect(slab).To(HaveLen(1))
			Expect(corrupt).To(HaveLen(1), "what is cut off")
			Expect(link.Close()).To(Succeed())
		})
	})
})

var _ = Describe("A send", func() {
	DescribeTable("that the broker stored with a caveat is a success with that caveat",
		func(c wire.ResponseCode, caveat string) {
			inVirtualTime(func() {
				s := newStage()
				s.serve(brokerAddress, func(*remoting.Session, *wire.Command) *wire.Command {
					answer := wire.NewResponse(c, "")
					answer.Ext.Set("msgId", "7F000001000051AF0000000000000000")
					answer.Ext.SetInt("queueId", 2)
					answer.Ext.SetInt("queueOffset", 41)
					return answer
				})
				link := s.open()
				receipt, err := link.Send(ctx, &messages.SendRequest{Address: brokerAddress, Queue: queue})
				Expect(err).NotTo(HaveOccurred())
				Expect(receipt.GetCaveat()).To(Equal(caveat))
				Expect(receipt.GetQueue().Text()).To(Equal("orders@broker-a/2"))
				Expect(receipt.GetQueueOffset()).To(BeEquivalentTo(41))
				Expect(link.Close()).To(Succeed())
				s.stop()
			})
		},
		Entry(nil, wire.Success, ""),
		Entry(nil, wire.ResponseCode(10), "FLUSH_DISK_TIMEOUT"),
		Entry(nil, wire.ResponseCode(11), "SLAVE_NOT_AVAILABLE"),
		Entry(nil, wire.ResponseCode(12), "FLUSH_SLAVE_TIMEOUT"),
	)

	It("carries the attempts of a message that goes back by publishing", func() {
		inVirtualTime(func() {
			s := newStage()
			got := make(chan *wire.Command, 1)
			s.serve(brokerAddress, func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
				got <- cmd
				return nil
			})
			link := s.open()
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := link.Send(short, &messages.SendRequest{Address: brokerAddress, Queue: queue, ReconsumeTimes: 3, MaxReconsumeTimes: 2})
			Expect(err).To(MatchError(context.DeadlineExceeded))
			cmd := <-got
			Expect(cmd.Ext.Text("j")).To(Equal("3")) // as observed.md 4 has it for orderly dead letters
			Expect(cmd.Ext.Text("l")).To(Equal("2"))
			Expect(cmd.Ext.Text("c")).To(Equal("TBW102"))
			Expect(cmd.Ext.Text("d")).To(Equal("4"))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("encodes a batch as Java does", func() {
		inVirtualTime(func() {
			link := newStage().open()
			body, err := link.EncodeBatch([]*messages.Message{ // protocol.md appendix A
				{Body: []byte("b1"), RawProperties: []byte("KEYS\x01K1\x02WAIT\x01true\x02TAGS\x01A\x02")},
				{Body: []byte("b22"), RawProperties: []byte("KEYS\x01K2\x02WAIT\x01true\x02TAGS\x01B\x02")},
			})
			Expect(err).NotTo(HaveOccurred())
			Expect(hex.EncodeToString(body)).To(Equal("0000003100000000000000000000000000000002623100194b455953014b310257414954017472756502544147530141" + "02" +
				"000000320000000000000000000000000000000362323200194b455953014b320257414954017472756502544147530142" + "02"))
			_, err = link.EncodeBatch([]*messages.Message{{}, {RawProperties: make([]byte, 70_000)}})
			Expect(err).To(MatchError(ContainSubstring("message 1 of the batch")))
			Expect(link.Close()).To(Succeed())
		})
	})

	It("gives ids that begin with the client's address and never repeat", func() {
		inVirtualTime(func() {
			link := newStage().open()
			seen := map[string]bool{}
			for range 10_000 {
				id := link.UniqueID()
				Expect(id).To(MatchRegexp("^0A000009[0-9A-F]{24}$"))
				seen[id] = true
			}
			Expect(seen).To(HaveLen(10_000))
			Expect(link.Close()).To(Succeed())
		})
	})
})

var _ = Describe("The connections of a link", func() {
	It("are told of, with their role and state, and closed when no route needs them any more", func() {
		inVirtualTime(func() {
			s := newStage()
			const other = "10.0.0.3:10911"
			s.serve(nameServer, knows("broker-a"))
			s.serve(brokerAddress, code(wire.Success, ""))
			s.serve(other, code(wire.Success, ""))
			var mu sync.Mutex
			var changes []string
			link := s.open(func(_ *rocketmq.Cluster, cfg *actors.LinkConfig) {
				cfg.Changed = func(c *messages.ConnectionChanged) {
					mu.Lock()
					defer mu.Unlock()
					state := " down: " + c.GetReason()
					if c.GetUp() {
						state = " up"
					}
					changes = append(changes, c.GetAddress()+state)
				}
			})
			_, err := link.Route(ctx, "orders")
			Expect(err).NotTo(HaveOccurred())
			Expect(link.Heartbeat(ctx, brokerAddress, &messages.Heartbeat{})).To(Succeed())
			Expect(link.Heartbeat(ctx, other, &messages.Heartbeat{})).To(Succeed())
			Expect(link.Facts()).To(HaveExactElements(
				And(HaveField("Address", nameServer), HaveField("Role", "name server"), HaveField("Up", true)),
				And(HaveField("Address", brokerAddress), HaveField("Role", "broker"), HaveField("Up", true)),
				And(HaveField("Address", other), HaveField("Role", "broker"), HaveField("Up", true)),
			))
			link.KeepBrokers([]string{other})
			synctest.Wait()
			Expect(link.Facts()).To(HaveExactElements(HaveField("Address", nameServer), HaveField("Address", other)))
			Expect(s.net.Connections(brokerAddress)).To(BeZero())
			Expect(s.net.Connections(nameServer)).To(Equal(1))

			s.net.Cut(other)
			synctest.Wait()
			Expect(changes).To(HaveExactElements(
				nameServer+" up", brokerAddress+" up", other+" up", brokerAddress+" down: closed", HavePrefix(other+" down: ")))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})
})
