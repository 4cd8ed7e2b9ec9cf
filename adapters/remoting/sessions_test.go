package remoting_test

import (
	"context"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
)

var _ = Describe("A request that the server makes of a client", func() {
	ctx := context.Background()

	// connected gives a client that has a session, and that session.
	connected := func(s *stage, requests func(context.Context, string, *wire.Command) *wire.Command) (*remoting.Client, *remoting.Session) {
		GinkgoHelper()
		c := s.client(func(cfg *remoting.ClientConfig) { cfg.Requests = requests })
		_, err := c.Call(ctx, brokerAddress, request("a"))
		Expect(err).NotTo(HaveOccurred())
		return c, <-s.opened
	}

	It("is answered by the client's function, while the connection goes on reading", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			var c *remoting.Client
			c, session := connected(s, func(ctx context.Context, address string, cmd *wire.Command) *wire.Command {
				// The function itself may use the connection.
				if _, err := c.Call(ctx, address, request("b")); err != nil {
					return wire.NewResponse(wire.SystemError, err.Error())
				}
				answer := wire.NewResponse(wire.Success, "from "+address)
				answer.Body = cmd.Body
				return answer
			})
			cmd := wire.NewRequest(wire.GetConsumerRunningInfo)
			cmd.Body = []byte("who")
			answer, err := session.Request(ctx, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Remark).To(Equal("from " + brokerAddress))
			Expect(answer.Body).To(Equal([]byte("who")))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is not answered if it is one-way", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			got := make(chan int32, 1)
			c, session := connected(s, func(_ context.Context, _ string, cmd *wire.Command) *wire.Command {
				got <- cmd.Code
				return wire.NewResponse(wire.Success, "")
			})
			cmd := wire.NewRequest(wire.NotifyConsumerIDsChanged)
			cmd.MarkOneWay()
			Expect(session.Send(cmd)).To(Succeed())
			Expect(<-got).To(BeEquivalentTo(40))
			synctest.Wait()
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is refused by a client that serves nothing", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			c, session := connected(s, nil)
			answer, err := session.Request(ctx, wire.NewRequest(wire.GetConsumerRunningInfo))
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Code).To(BeEquivalentTo(wire.RequestCodeNotSupported))
			Expect(answer.Remark).To(Equal(" request type 307 not supported"))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("ends after 10 s if the client stays silent", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			c, session := connected(s, func(ctx context.Context, _ string, _ *wire.Command) *wire.Command {
				<-ctx.Done()
				return nil
			})
			begun := time.Now()
			_, err := session.Request(ctx, wire.NewRequest(wire.GetConsumerRunningInfo))
			Expect(networkError(err).GetTimedOut()).To(BeTrue())
			Expect(time.Since(begun)).To(BeNumerically("~", 10*time.Second, 50*time.Millisecond))
			Expect(c.Close()).To(Succeed(), "the function's context has ended")
			s.stop()
		})
	})

	It("ends at once if the client is gone", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			c, session := connected(s, func(ctx context.Context, _ string, _ *wire.Command) *wire.Command {
				<-ctx.Done()
				return nil
			})
			time.AfterFunc(time.Second, func() { s.net.Cut(brokerAddress) })
			begun := time.Now()
			_, err := session.Request(ctx, wire.NewRequest(wire.GetConsumerRunningInfo))
			Expect(networkError(err).GetReason()).To(HavePrefix("connection lost"))
			Expect(time.Since(begun)).To(Equal(time.Second))
			Expect(<-s.ended).To(BeIdenticalTo(session))
			err = session.Send(wire.NewRequest(wire.NotifyConsumerIDsChanged))
			Expect(networkError(err).GetNotSent()).To(BeTrue())
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is answered SYSTEM_BUSY beyond 64 at a time", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			gate := make(chan struct{})
			c, session := connected(s, func(context.Context, string, *wire.Command) *wire.Command {
				<-gate
				return wire.NewResponse(wire.Success, "")
			})
			var good, busy atomic.Int64
			for range 70 {
				go func() {
					answer, err := session.Request(ctx, wire.NewRequest(wire.GetConsumerRunningInfo))
					switch {
					case err != nil:
					case answer.Code == int32(wire.SystemBusy):
						busy.Add(1)
					default:
						good.Add(1)
					}
				}()
			}
			synctest.Wait()
			Expect(busy.Load()).To(BeEquivalentTo(6))
			close(gate)
			synctest.Wait()
			Expect(good.Load()).To(BeEquivalentTo(64))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})
})

var _ = Describe("A server", func() {
	It("handles the requests of one session in the order they came", func() {
		inVirtualTime(func() {
			var seen []string
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				seen = append(seen, cmd.Ext.Text("name"))
				return echo(x, cmd)
			})
			c := s.client()
			for _, name := range []string{"a", "b", "c", "d"} {
				Expect(c.OneWay(context.Background(), brokerAddress, request(name))).To(Succeed())
			}
			_, err := c.Call(context.Background(), brokerAddress, request("e"))
			Expect(err).NotTo(HaveOccurred())
			Expect(seen).To(Equal([]string{"a", "b", "c", "d", "e"}))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("knows its sessions by address and number", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			a, b := s.client(), s.client(func(cfg *remoting.ClientConfig) { cfg.Dial = s.net.Dialer("10.0.0.9") })
			_, err := a.Call(context.Background(), brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			_, err = b.Call(context.Background(), brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			first, second := <-s.opened, <-s.opened
			Expect(first.ID()).NotTo(Equal(second.ID()))
			Expect(first.RemoteAddr().String()).To(HavePrefix("127.0.0.1:"))
			Expect(second.RemoteAddr().String()).To(HavePrefix("10.0.0.9:"))
			Expect(second.LocalAddr().String()).To(Equal(brokerAddress))
			Expect(a.Close()).To(Succeed())
			Expect(<-s.ended).To(BeIdenticalTo(first))
			Expect(b.Close()).To(Succeed())
			s.stop()
		})
	})

	It("goes on serving after CloseSessions", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			c := s.client()
			for range 3 {
				_, err := c.Call(context.Background(), brokerAddress, request("a"))
				Expect(err).NotTo(HaveOccurred())
				s.server.CloseSessions()
				<-s.ended
				synctest.Wait()
			}
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("stops reading from a client that does not read its answers", func() {
		inVirtualTime(func() {
			var served atomic.Int64
			s := newStage(func(*remoting.Session, *wire.Command) *wire.Command {
				served.Add(1)
				answer := wire.NewResponse(wire.Success, "")
				answer.Body = make([]byte, 1<<20)
				return answer
			})
			conn, err := s.net.Dial(context.Background(), "tcp", brokerAddress)
			Expect(err).NotTo(HaveOccurred())
			frame, err := wire.NewRequest(wire.GetMaxOffset).AppendFrame(nil)
			Expect(err).NotTo(HaveOccurred())
			for range 100 {
				_, err = conn.Write(frame)
				Expect(err).NotTo(HaveOccurred())
			}
			synctest.Wait()
			Expect(served.Load()).To(BeNumerically("<", 10))
			Expect(conn.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is closed twice without harm, and serves nothing afterwards", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			s.stop()
			Expect(s.server.Close()).To(Succeed())
			l, err := s.net.Listen(brokerAddress)
			Expect(err).NotTo(HaveOccurred())
			Expect(s.server.Serve(l)).To(MatchError(remoting.ErrServerClosed))
		})
	})
})
