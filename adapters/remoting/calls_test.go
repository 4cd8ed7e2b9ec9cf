package remoting_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
)

var _ = Describe("A call", func() {
	ctx := context.Background()

	It("brings the answer that belongs to it", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			c := s.client()
			for _, name := range []string{"a", "b"} {
				answer, err := c.Call(ctx, brokerAddress, request(name))
				Expect(err).NotTo(HaveOccurred())
				Expect(answer.IsResponse()).To(BeTrue())
				Expect(answer.Ext.Text("name")).To(Equal(name))
				Expect(answer.Body).To(Equal([]byte("body of " + name)))
				Expect(answer.Serialize).To(Equal(wire.JSON))
			}
			Expect(s.net.Dials(brokerAddress)).To(Equal(1), "one connection serves both")
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is answered in JSON also if it is asked in binary", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			c := s.client()
			cmd := request("a")
			cmd.Serialize = wire.ROCKETMQ
			answer, err := c.Call(ctx, brokerAddress, cmd)
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Serialize).To(Equal(wire.JSON))
			Expect(answer.Ext.Text("name")).To(Equal("a"))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	When("answers come in another order", func() {
		It("still gets its own", func() {
			inVirtualTime(func() {
				var held []*wire.Command
				s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
					held = append(held, cmd)
					if len(held) == 3 {
						for i := len(held) - 1; i >= 0; i-- {
							answer := echo(x, held[i])
							answer.Opaque = held[i].Opaque
							_ = x.Send(answer) // the spec fails for want of it
						}
					}
					return nil
				})
				c := s.client()
				got := make(chan string, 3)
				for _, name := range []string{"a", "b", "c"} {
					c.Start(brokerAddress, request(name), time.Second, func(answer *wire.Command, err error) {
						if err == nil && string(answer.Body) == "body of "+name {
							got <- answer.Ext.Text("name")
						}
					})
				}
				Expect([]string{<-got, <-got, <-got}).To(ConsistOf("a", "b", "c"))
				Expect(pending(c)).To(BeZero())
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the answer does not come", func() {
		It("ends at the deadline of its context, and is forgotten", func() {
			inVirtualTime(func() {
				s := newStage(silent)
				c := s.client()
				begun := time.Now()
				ctx, cancel := within(700 * time.Millisecond)
				defer cancel()
				_, err := c.Call(ctx, brokerAddress, request("a"))
				Expect(time.Since(begun)).To(Equal(700 * time.Millisecond))
				ne := networkError(err)
				Expect(ne.GetTimedOut()).To(BeTrue())
				Expect(ne.GetNotSent()).To(BeFalse())
				Expect(ne.GetRequest()).To(Equal("GET_MAX_OFFSET"))
				Expect(ne.GetAddress()).To(Equal(brokerAddress))
				Expect(err).To(MatchError(context.DeadlineExceeded))
				Expect(pending(c)).To(BeZero())
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})

		It("ends after 3 s if its context has no deadline", func() {
			inVirtualTime(func() {
				s := newStage(silent)
				c := s.client()
				begun := time.Now()
				_, err := c.Call(ctx, brokerAddress, request("a"))
				Expect(networkError(err).GetTimedOut()).To(BeTrue())
				Expect(time.Since(begun)).To(BeNumerically("~", 3*time.Second, 50*time.Millisecond))
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})

		It("ends when its context is cancelled, with the cause", func() {
			inVirtualTime(func() {
				s := newStage(silent)
				c := s.client()
				cause := errors.New("enough")
				ctx, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(time.Second, func() { cancel(cause) })
				_, err := c.Call(ctx, brokerAddress, request("a"))
				Expect(err).To(MatchError(cause))
				Expect(err).To(MatchError(ContainSubstring("GET_MAX_OFFSET 10.0.0.1:10911: cancelled")))
				Expect(pending(c)).To(BeZero())
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the context has ended before", func() {
		It("sends nothing", func() {
			inVirtualTime(func() {
				s := newStage(echo)
				c := s.client()
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				_, err := c.Call(ctx, brokerAddress, request("a"))
				Expect(err).To(MatchError(context.Canceled))
				Expect(s.net.Dials(brokerAddress)).To(BeZero())
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the connection is cut", func() {
		It("ends at once, and so do all others", func() {
			inVirtualTime(func() {
				s := newStage(silent)
				c := s.client()
				ends := make(chan error, 100)
				for range 100 {
					c.Start(brokerAddress, request("a"), 30*time.Second, func(_ *wire.Command, err error) { ends <- err })
				}
				synctest.Wait()
				Expect(pending(c)).To(BeEquivalentTo(100))
				begun := time.Now()
				s.net.Cut(brokerAddress)
				for range 100 {
					ne := networkError(<-ends)
					Expect(ne.GetReason()).To(Equal("connection lost: connection reset by the peer"))
					Expect(ne.GetTimedOut()).To(BeFalse())
					Expect(ne.GetNotSent()).To(BeFalse())
				}
				Expect(time.Since(begun)).To(BeZero())
				Expect(pending(c)).To(BeZero())
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the request does not fit into a frame", func() {
		It("fails as not sent and leaves the connection alone", func() {
			inVirtualTime(func() {
				s := newStage(echo)
				c := s.client()
				cmd := request("a")
				cmd.Body = make([]byte, wire.MaxFrame)
				_, err := c.Call(ctx, brokerAddress, cmd)
				Expect(networkError(err).GetNotSent()).To(BeTrue())
				_, err = c.Call(ctx, brokerAddress, request("b"))
				Expect(err).NotTo(HaveOccurred())
				Expect(s.net.Dials(brokerAddress)).To(Equal(1))
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the answer does not fit into a frame", func() {
		It("is told so by the server", func() {
			inVirtualTime(func() {
				s := newStage(func(*remoting.Session, *wire.Command) *wire.Command {
					answer := wire.NewResponse(wire.Success, "")
					answer.Body = make([]byte, wire.MaxFrame)
					return answer
				})
				c := s.client()
				answer, err := c.Call(ctx, brokerAddress, request("a"))
				Expect(err).NotTo(HaveOccurred())
				Expect(answer.Code).To(BeEquivalentTo(wire.SystemError))
				Expect(answer.Remark).To(ContainSubstring("16 MiB"))
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the answer is several megabytes", func() {
		It("arrives whole", func() {
			inVirtualTime(func() {
				s := newStage(echo)
				c := s.client()
				cmd := request("a")
				cmd.Body = make([]byte, 5<<20)
				for i := range cmd.Body {
					cmd.Body[i] = byte(i >> 8)
				}
				answer, err := c.Call(ctx, brokerAddress, cmd)
				Expect(err).NotTo(HaveOccurred())
				Expect(answer.Body).To(Equal(cmd.Body))
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the handler panics", func() {
		It("gets SYSTEM_ERROR with the text, and the session goes on", func() {
			inVirtualTime(func() {
				s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
					if cmd.Ext.Text("name") == "a" {
						panic("no such luck")
					}
					return echo(x, cmd)
				})
				c := s.client()
				answer, err := c.Call(ctx, brokerAddress, request("a"))
				Expect(err).NotTo(HaveOccurred())
				Expect(answer.Code).To(BeEquivalentTo(wire.SystemError))
				Expect(answer.Remark).To(Equal("no such luck"))
				_, err = c.Call(ctx, brokerAddress, request("b"))
				Expect(err).NotTo(HaveOccurred())
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})
})

var _ = Describe("A started request", func() {
	It("is settled exactly once, whatever comes together", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			c := s.client()
			var settled atomic.Int64
			for i := range 300 {
				cancel := c.Start(brokerAddress, request("a"), 25*time.Millisecond, func(*wire.Command, error) { settled.Add(1) })
				switch i % 3 {
				case 0:
					cancel()
					cancel()
				case 1:
					s.net.Cut(brokerAddress)
				}
			}
			time.Sleep(time.Minute)
			Expect(settled.Load()).To(BeEquivalentTo(300))
			Expect(pending(c)).To(BeZero())
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("never blocks and is never settled on the caller's goroutine", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			s.net.Blackhole(brokerAddress)
			c := s.client()
			begun := time.Now()
			gate := make(chan struct{})
			for range 10 {
				c.Start(brokerAddress, request("a"), time.Second, func(*wire.Command, error) { <-gate })
			}
			Expect(time.Since(begun)).To(BeZero())
			close(gate)
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("ends at its time-out, at most 50 ms late and never early, whatever else is pending", func() {
		inVirtualTime(func() {
			s := newStage(silent)
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Idle, cfg.HalfOpen = time.Hour, time.Hour })
			random := rand.New(rand.NewPCG(3, 4))
			var ended, early, late atomic.Int64
			for range 5000 {
				timeout := time.Duration(random.Int64N(int64(5 * time.Minute)))
				begun := time.Now()
				c.Start(brokerAddress, request("a"), timeout, func(*wire.Command, error) {
					ended.Add(1)
					switch took := time.Since(begun); {
					case took < timeout:
						early.Add(1)
					case took > timeout+50*time.Millisecond:
						late.Add(1)
					}
				})
				if random.IntN(10) == 0 {
					time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
				}
			}
			for range 6 { // or the server closes the connection as idle
				Expect(c.OneWay(context.Background(), brokerAddress, request("a"))).To(Succeed())
				time.Sleep(time.Minute)
			}
			Expect(ended.Load()).To(BeEquivalentTo(5000))
			Expect(early.Load()).To(BeZero())
			Expect(late.Load()).To(BeZero())
			Expect(pending(c)).To(BeZero())
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	When("it is cancelled", func() {
		It("ends soon, and its late answer is ignored and counted", func() {
			inVirtualTime(func() {
				var held *wire.Command
				s := newStage(func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
					if cmd.Ext.Text("name") == "held" {
						held = cmd
						return nil
					}
					return echo(nil, cmd)
				})
				c := s.client()
				end := make(chan error, 1)
				cancel := c.Start(brokerAddress, request("held"), time.Hour, func(_ *wire.Command, err error) { end <- err })
				session := <-s.opened
				synctest.Wait()
				cancel()
				Expect(<-end).To(MatchError(ContainSubstring("cancelled")))
				Expect(pending(c)).To(BeZero())
				answer := echo(session, held)
				answer.Opaque = held.Opaque
				Expect(session.Send(answer)).To(Succeed())
				synctest.Wait()
				Expect(c.LateAnswers()).To(BeEquivalentTo(1))
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the client is closed", func() {
		It("ends with an error, and so does one that comes later", func() {
			inVirtualTime(func() {
				s := newStage(silent)
				c := s.client()
				ends := make(chan error, 2)
				c.Start(brokerAddress, request("a"), time.Hour, func(_ *wire.Command, err error) { ends <- err })
				synctest.Wait()
				Expect(c.Close()).To(Succeed())
				Expect(networkError(<-ends).GetReason()).To(ContainSubstring("closed"))
				c.Start(brokerAddress, request("a"), time.Hour, func(_ *wire.Command, err error) { ends <- err })
				ne := networkError(<-ends)
				Expect(ne.GetNotSent()).To(BeTrue())
				Expect(ne.GetReason()).To(Equal("closed"))
				Expect(c.Close()).To(Succeed(), "again")
				s.stop()
			})
		})
	})
})

var _ = Describe("A one-way request", func() {
	ctx := context.Background()

	It("carries the flag and is not answered", func() {
		inVirtualTime(func() {
			flags := make(chan int32, 2)
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				flags <- cmd.Flag
				return echo(x, cmd)
			})
			c := s.client()
			Expect(c.OneWay(ctx, brokerAddress, request("a"))).To(Succeed())
			Expect(<-flags).To(BeEquivalentTo(2))
			_, err := c.Call(ctx, brokerAddress, request("b"))
			Expect(err).NotTo(HaveOccurred())
			Expect(<-flags).To(BeZero())
			Expect(c.LateAnswers()).To(BeZero())
			Expect(pending(c)).To(BeZero())
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("still leaves when the client is closed right behind it", func() {
		inVirtualTime(func() {
			got := make(chan string, 100)
			s := newStage(func(_ *remoting.Session, cmd *wire.Command) *wire.Command {
				got <- cmd.Ext.Text("name")
				return nil
			})
			c := s.client()
			for range 100 {
				Expect(c.OneWay(ctx, brokerAddress, request("a"))).To(Succeed())
			}
			Expect(c.Close()).To(Succeed())
			synctest.Wait()
			Expect(got).To(HaveLen(100))
			s.stop()
		})
	})

	When("the port is refused", func() {
		It("fails as not sent", func() {
			inVirtualTime(func() {
				s := newStage(echo)
				s.net.Refuse(brokerAddress)
				c := s.client()
				ne := networkError(c.OneWay(ctx, brokerAddress, request("a")))
				Expect(ne.GetNotSent()).To(BeTrue())
				Expect(ne.GetReason()).To(Equal("connection refused"))
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})
})

var _ = Describe("The signature hook", func() {
	It("sees every request last, and what it adds is sent", func() {
		inVirtualTime(func() {
			seen := make(chan string, 2)
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				seen <- cmd.Ext.Text("Signature")
				return echo(x, cmd)
			})
			c := s.client(func(cfg *remoting.ClientConfig) {
				cfg.Sign = func(cmd *wire.Command) { cmd.Ext.Set("Signature", "by "+cmd.Ext.Text("name")) }
			})
			_, err := c.Call(context.Background(), brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			Expect(c.OneWay(context.Background(), brokerAddress, request("b"))).To(Succeed())
			Expect([]string{<-seen, <-seen}).To(Equal([]string{"by a", "by b"}))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})
})

var _ = Describe("A frame that is none", func() {
	// serveRaw answers every connection with the bytes given.
	serveRaw := func(l net.Listener, b []byte) {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = conn.Write(b)
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}()
		}
	}

	DescribeTable("closes the connection with a clear cause",
		func(b []byte, cause string) {
			inVirtualTime(func() {
				s := newStage(echo)
				l, err := s.net.Listen("10.0.0.2:10911")
				Expect(err).NotTo(HaveOccurred())
				go serveRaw(l, b)
				down := make(chan error, 1)
				c := s.client(func(cfg *remoting.ClientConfig) {
					cfg.Changed = func(_ string, up bool, cause error) {
						if !up {
							down <- cause
						}
					}
				})
				_, err = c.Call(context.Background(), "10.0.0.2:10911", request("a"))
				Expect(networkError(err).GetReason()).To(ContainSubstring(cause))
				Expect(<-down).To(MatchError(ContainSubstring(cause)))
				Expect(l.Close()).To(Succeed())
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		},
		Entry("too large", []byte{1, 0, 0, 1, 0, 0, 0, 0}, "undecodable frame: length 16777217"),
		Entry("the full limit, which leaves no room for the length", []byte{1, 0, 0, 0, 0, 0, 0, 0}, "undecodable frame: length 16777216"),
		Entry("negative", []byte{0xFF, 0xFF, 0xFF, 0xFF}, "undecodable frame: length -1"),
		Entry("too short", []byte{0, 0, 0, 3, 0, 0, 0}, "undecodable frame: length 3"),
		Entry("header longer than the frame", []byte{0, 0, 0, 4, 0, 0, 0, 9}, "undecodable frame: header of 9 bytes"),
		Entry("unknown serialize type", []byte{0, 0, 0, 4, 7, 0, 0, 0}, "undecodable frame: unknown serialize type 7"),
		Entry("not JSON", []byte{0, 0, 0, 6, 0, 0, 0, 2, '[', ']'}, "undecodable frame"),
	)

	It("closes the session of a server too", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			conn, err := s.net.Dial(context.Background(), "tcp", brokerAddress)
			Expect(err).NotTo(HaveOccurred())
			_, err = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			Expect(err).NotTo(HaveOccurred())
			_, err = conn.Read(make([]byte, 1))
			Expect(err).To(MatchError(io.EOF))
			<-s.ended
			Expect(conn.Close()).To(Succeed())
			s.stop()
		})
	})
})
