package rocketmq_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("The VIP channel", func() {
	It("takes what Java sends there, and neither heartbeats nor pulls", func() {
		inVirtualTime(func() {
			s := newStage()
			const vip = "10.0.0.2:10909"
			var mu sync.Mutex
			seen := map[string][]string{}
			note := func(address string) script {
				return func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
					mu.Lock()
					defer mu.Unlock()
					seen[address] = append(seen[address], wire.RequestCode(cmd.Code).String())
					return wire.NewResponse(wire.SystemError, "")
				}
			}
			s.serve(brokerAddress, note("plain"))
			s.serve(vip, note("vip"))
			s.serve(nameServer, note("name server"))
			link := s.open(func(c *rocketmq.Cluster, _ *actors.LinkConfig) { c.VIPChannel = true })
			for _, m := range methods {
				_ = m.ask(link) // the answer is of no interest
			}
			_, _ = link.Route(ctx, "orders")
			_, _ = link.Lock(ctx, brokerAddress, "g", []*messages.Queue{queue})
			_ = link.Unlock(ctx, brokerAddress, "g", "c", []*messages.Queue{queue})
			Expect(link.CommitOneWay(ctx, brokerAddress, "g", queue, 1)).To(Succeed())
			link.KeepBrokers([]string{brokerAddress})
			Expect(link.Facts()).To(HaveLen(3), "the second listener belongs to the broker")
			link.KeepBrokers(nil)
			Expect(link.Facts()).To(HaveLen(1))
			Expect(link.Close()).To(Succeed())
			s.stop()
			// The callers of MixAll.brokerVIPChannel in 4.9.7 and 5.3.3.
			Expect(seen["plain"]).To(ConsistOf("HEART_BEAT", "UNREGISTER_CLIENT", "PULL_MESSAGE"))
			Expect(seen["name server"]).To(ConsistOf("GET_ROUTEINFO_BY_TOPIC"))
			Expect(seen["vip"]).To(ConsistOf("GET_CONSUMER_LIST_BY_GROUP", "QUERY_CONSUMER_OFFSET", "UPDATE_CONSUMER_OFFSET",
				"UPDATE_CONSUMER_OFFSET", "GET_MIN_OFFSET", "GET_MAX_OFFSET", "SEARCH_OFFSET_BY_TIMESTAMP", "CONSUMER_SEND_MSG_BACK",
				"SEND_MESSAGE_V2", "LOCK_BATCH_MQ", "UNLOCK_BATCH_MQ"))
		})
	})
})

var _ = Describe("Time-outs of a cluster", Label("A45"), func() {
	It("bound every request", func() {
		inVirtualTime(func() {
			s := newStage()
			s.serve(brokerAddress, silent)
			s.serve(nameServer, silent)
			link := s.open(func(c *rocketmq.Cluster, _ *actors.LinkConfig) {
				c.RequestTimeout = 800 * time.Millisecond
			})
			for _, m := range methods {
				if m.name == "Pull" {
					continue // it says itself how long it waits
				}
				began := time.Now()
				Expect(m.ask(link)).To(MatchError(context.DeadlineExceeded), m.name)
				Expect(time.Since(began)).To(BeNumerically("~", 800*time.Millisecond, 50*time.Millisecond), m.name)
			}
			began := time.Now()
			_, err := link.Route(ctx, "orders")
			Expect(err).To(MatchError(context.DeadlineExceeded))
			Expect(time.Since(began)).To(BeNumerically("~", 800*time.Millisecond, 50*time.Millisecond))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("bound a connection that is not made", func() {
		inVirtualTime(func() {
			s := newStage()
			link := s.open(func(c *rocketmq.Cluster, _ *actors.LinkConfig) {
				c.DialTimeout = 300 * time.Millisecond
				c.Dialer = hanging
			})
			began := time.Now()
			err := link.Heartbeat(ctx, brokerAddress, &messages.Heartbeat{})
			Expect(err).To(MatchError(ContainSubstring("timed out")))
			Expect(time.Since(began)).To(Equal(300 * time.Millisecond))
			Expect(link.Close()).To(Succeed())
		})
	})
})

// found is a Lookup that gives what it is told to.
type found struct {
	mu    sync.Mutex
	list  []string
	err   error
	asked atomic.Int32
}

func (f *found) Check() string { return "" }

func (f *found) NameServers(context.Context) ([]string, error) {
	f.asked.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list, f.err
}

func (f *found) becomes(list []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list, f.err = list, err
}

var _ = Describe("A lookup of name servers", func() {
	// lookingUp opens a link on two name servers that know different brokers.
	lookingUp := func(s *stage, f rocketmq.Lookup) actors.Link {
		GinkgoHelper()
		s.serve("10.0.1.1:9876", knows("one"))
		s.serve("10.0.1.2:9876", knows("two"))
		return s.open(func(c *rocketmq.Cluster, _ *actors.LinkConfig) { c.NameServers, c.Lookup = nil, f })
	}
	brokerOf := func(link actors.Link) string {
		GinkgoHelper()
		route, err := link.Route(ctx, "orders")
		Expect(err).NotTo(HaveOccurred())
		return route.GetBrokers()[0].GetBroker()
	}

	It("happens at the first question, after 10 s and then each 120 s", func() {
		inVirtualTime(func() {
			s, f := newStage(), &found{list: []string{"10.0.1.1:9876"}}
			link := lookingUp(s, f)
			time.Sleep(time.Hour)
			Expect(f.asked.Load()).To(BeZero())
			Expect(brokerOf(link)).To(Equal("one"))
			Expect(brokerOf(link)).To(Equal("one"))
			Expect(f.asked.Load()).To(BeEquivalentTo(1))
			Expect(link.NameServers()).To(Equal([]string{"10.0.1.1:9876"}))
			for _, at := range []struct {
				after time.Duration
				times int32
			}{{9 * time.Second, 1}, {2 * time.Second, 2}, {118 * time.Second, 2}, {2 * time.Second, 3}, {120 * time.Second, 4}} {
				time.Sleep(at.after)
				Expect(f.asked.Load()).To(Equal(at.times))
			}
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("takes a changed list over and closes the connection to an address that is gone", func() {
		inVirtualTime(func() {
			s, f := newStage(), &found{list: []string{"10.0.1.1:9876"}}
			link := lookingUp(s, f)
			Expect(brokerOf(link)).To(Equal("one"))
			f.becomes([]string{"10.0.1.2:9876"}, nil)
			time.Sleep(11 * time.Second)
			Expect(link.Facts()).To(BeEmpty())
			Expect(brokerOf(link)).To(Equal("two"))
			Expect(link.Facts()).To(HaveExactElements(And(HaveField("Address", "10.0.1.2:9876"), HaveField("Role", "name server"))))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("keeps the last good list when it fails later, and says so in the log", func() {
		inVirtualTime(func() {
			s, f := newStage(), &found{list: []string{"10.0.1.1:9876"}}
			link := lookingUp(s, f)
			Expect(brokerOf(link)).To(Equal("one"))
			for _, broken := range []struct {
				list []string
				err  error
			}{{nil, errors.New("address server on fire")}, {nil, nil}, {[]string{"10.0.1.2"}, nil}} {
				f.becomes(broken.list, broken.err)
				time.Sleep(121 * time.Second)
				Expect(brokerOf(link)).To(Equal("one"))
			}
			Expect(s.lines.AllEntries()).To(ContainElement(HaveField("Data", HaveKeyWithValue("error", MatchError("address server on fire")))))
			Expect(len(s.lines.AllEntries())).To(BeNumerically("<=", 6))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is repeated at each question until there is a list, and names its fault", func() {
		inVirtualTime(func() {
			s, f := newStage(), &found{err: errors.New("address server on fire")}
			link := lookingUp(s, f)
			for i := range 3 {
				_, err := link.Route(ctx, "orders")
				Expect(err).To(MatchError(ContainSubstring("address server on fire")))
				Expect(f.asked.Load()).To(BeEquivalentTo(i + 1))
			}
			f.becomes([]string{"10.0.1.1:9876"}, nil)
			Expect(brokerOf(link)).To(Equal("one"))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("ends with the link, however long the source takes", func() {
		inVirtualTime(func() {
			s := newStage()
			link := s.open(func(c *rocketmq.Cluster, _ *actors.LinkConfig) { c.NameServers, c.Lookup = nil, slow{} })
			began := time.Now()
			_, err := link.Route(ctx, "orders")
			Expect(err).To(HaveOccurred())
			Expect(time.Since(began)).To(Equal(3 * time.Second))
			ended := make(chan error, 1)
			go func() {
				_, err := link.Route(ctx, "orders")
				ended <- err
			}()
			time.Sleep(time.Second)
			Expect(link.Close()).To(Succeed())
			Expect(<-ended).To(HaveOccurred())
			Expect(time.Since(began)).To(Equal(4 * time.Second))
		})
	})
})

// slow is a Lookup that never ends by itself.
type slow struct{}

func (slow) Check() string { return "" }

func (slow) NameServers(ctx context.Context) ([]string, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("slow: %w", ctx.Err())
}
