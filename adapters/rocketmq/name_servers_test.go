package rocketmq_test

import (
	"context"
	"fmt"
	"maps"
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

var _ = Describe("A list of name servers", func() {
	addresses := []string{"10.0.1.1:9876", "10.0.1.2:9876", "10.0.1.3:9876"}

	// among opens a link to the three, and counts what each is asked.
	among := func(s *stage, handle map[string]script) (link actors.Link, asked func() map[string]int) {
		GinkgoHelper()
		var mu sync.Mutex
		counts := map[string]int{}
		for _, a := range addresses {
			next := handle[a]
			if next == nil {
				next = knows("broker-of-" + a)
			}
			s.serve(a, func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				mu.Lock()
				counts[a]++
				mu.Unlock()
				return next(x, cmd)
			})
		}
		link = s.open(func(c *rocketmq.Cluster, cfg *actors.LinkConfig) {
			c.NameServers = addresses
			cfg.Jitter = func() float64 { return 0.99 } // the order stays as given
		})
		return link, func() map[string]int {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(counts)
		}
	}

	It("is asked at one address as long as that answers", func() {
		inVirtualTime(func() {
			s := newStage()
			link, asked := among(s, nil)
			for range 10 {
				route, err := link.Route(ctx, "orders")
				Expect(err).NotTo(HaveOccurred())
				Expect(route.GetTopic()).To(Equal("orders"))
				Expect(route.GetQueues()[0].GetBroker()).To(Equal("broker-of-" + addresses[0]))
			}
			Expect(asked()).To(Equal(map[string]int{addresses[0]: 10}))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is shuffled, so that clients spread", func() {
		inVirtualTime(func() {
			first := map[string]int{}
			for i := range 30 {
				s := newStage()
				for _, a := range addresses {
					s.serve(a, knows(a))
				}
				link := s.open(func(c *rocketmq.Cluster, cfg *actors.LinkConfig) {
					c.NameServers = addresses
					n := i
					cfg.Jitter = func() float64 { n = n*7 + 3; return float64(n%10) / 10 }
				})
				route, err := link.Route(ctx, "orders")
				Expect(err).NotTo(HaveOccurred())
				first[route.GetQueues()[0].GetBroker()]++
				Expect(link.NameServers()).To(Equal(addresses), "as configured")
				Expect(link.Close()).To(Succeed())
				s.stop()
			}
			Expect(first).To(HaveLen(3))
		})
	})

	It("goes on to the next when one fails, and stays there", func() {
		inVirtualTime(func() {
			s := newStage()
			link, asked := among(s, nil)
			s.net.Refuse(addresses[0])
			for range 5 {
				route, err := link.Route(ctx, "orders")
				Expect(err).NotTo(HaveOccurred())
				Expect(route.GetQueues()[0].GetBroker()).To(Equal("broker-of-" + addresses[1]))
			}
			s.net.Accept(addresses[0])
			time.Sleep(time.Hour)
			_, err := link.Route(ctx, "orders")
			Expect(err).NotTo(HaveOccurred())
			Expect(asked()).To(Equal(map[string]int{addresses[1]: 6}))

			s.net.Refuse(addresses[1])
			s.net.CutAll()
			synctest.Wait()
			_, err = link.Route(ctx, "orders")
			Expect(err).NotTo(HaveOccurred())
			Expect(asked()).To(HaveKeyWithValue(addresses[2], 1))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("goes on after 3 s when one is silent, and asks that one last afterwards", func() {
		inVirtualTime(func() {
			s := newStage()
			link, _ := among(s, map[string]script{addresses[0]: silent})
			begun := time.Now()
			_, err := link.Route(ctx, "orders")
			Expect(err).NotTo(HaveOccurred())
			Expect(time.Since(begun)).To(Equal(3 * time.Second))
			_, err = link.Route(ctx, "orders")
			Expect(err).NotTo(HaveOccurred())
			Expect(time.Since(begun)).To(Equal(3 * time.Second))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("goes on when one refuses to serve", func() {
		inVirtualTime(func() {
			s := newStage()
			link, _ := among(s, map[string]script{addresses[0]: code(wire.SystemError, "name server not ready")})
			_, err := link.Route(ctx, "orders")
			Expect(err).NotTo(HaveOccurred())
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	It("knows no route only if nobody knows one", func() {
		inVirtualTime(func() {
			s := newStage()
			unknown := code(wire.TopicNotExist, "No topic route info in name server for the topic: orders")
			link, asked := among(s, map[string]script{addresses[0]: unknown, addresses[1]: unknown})
			_, err := link.Route(ctx, "orders")
			Expect(err).NotTo(HaveOccurred(), "the third knows it")
			Expect(asked()).To(Equal(map[string]int{addresses[0]: 1, addresses[1]: 1, addresses[2]: 1}))
			Expect(link.Close()).To(Succeed())
			s.stop()

			s = newStage()
			link, _ = among(s, map[string]script{addresses[0]: unknown, addresses[1]: silent, addresses[2]: unknown})
			_, err = link.Route(ctx, "orders")
			Expect(err).To(MatchError(messages.ErrNoRoute))
			begun := time.Now()
			_, err = link.Route(ctx, "orders")
			Expect(err).To(MatchError(messages.ErrNoRoute))
			Expect(time.Since(begun)).To(BeZero(), "the silent one is not waited for again")
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})

	When("all fail", func() {
		It("says why, and answers again as soon as one is back", func() {
			inVirtualTime(func() {
				s := newStage()
				link, _ := among(s, nil)
				for _, a := range addresses {
					s.net.Refuse(a)
				}
				_, err := link.Route(ctx, "orders")
				var ne *messages.NetworkError
				Expect(err).To(BeAssignableToTypeOf(ne))
				Expect(err).To(MatchError(ContainSubstring("GET_ROUTEINFO_BY_TOPIC")))
				Expect(err).To(MatchError(ContainSubstring("connection refused")))
				Expect(err).NotTo(MatchError(messages.ErrNoRoute))
				s.net.Accept(addresses[1])
				time.Sleep(2 * time.Second)
				_, err = link.Route(ctx, "orders")
				Expect(err).NotTo(HaveOccurred())
				Expect(link.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the caller's context ends", func() {
		It("is not asked further", func() {
			inVirtualTime(func() {
				s := newStage()
				link, asked := among(s, map[string]script{addresses[0]: silent})
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				begun := time.Now()
				_, err := link.Route(short, "orders")
				Expect(err).To(MatchError(context.DeadlineExceeded))
				Expect(time.Since(begun)).To(Equal(time.Second))
				Expect(asked()).To(Equal(map[string]int{addresses[0]: 1}))
				Expect(link.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	It("takes a body that is no route for a fault of that name server", func() {
		inVirtualTime(func() {
			s := newStage()
			bad := func(*remoting.Session, *wire.Command) *wire.Command {
				answer := wire.NewResponse(wire.Success, "")
				answer.Body = []byte(`{"queueDatas":[{`)
				return answer
			}
			link, _ := among(s, map[string]script{addresses[0]: bad, addresses[1]: bad, addresses[2]: bad})
			_, err := link.Route(ctx, "orders")
			Expect(err).To(MatchError(ContainSubstring("malformed answer")))
			Expect(fmt.Sprintf("%T", err)).To(Equal("*messages.NetworkError"))
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})
})
