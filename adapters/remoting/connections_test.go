package remoting_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// changes records what a client tells of its connections.
type changes struct {
	mu    sync.Mutex
	lines []string
}

func (c *changes) note(address string, up bool, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := fmt.Sprintf("%s %t", address, up)
	if cause != nil {
		line += " " + cause.Error()
	}
	c.lines = append(c.lines, line)
}

func (c *changes) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...)
}

var _ = Describe("A half-open connection", Label("A39"), func() {
	// Pain A39: packets to a broker are dropped without a reset, under load.
	It("fails each request within its own time-out, is closed within 60 s, and is replaced within 5 s of the link's return", func() {
		inVirtualTime(func() {
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				if cmd.Code == int32(wire.PullMessage) {
					time.AfterFunc(15*time.Second, func() { // a long poll that ends in nothing
						answer := wire.NewResponse(wire.PullNotFound, "")
						answer.Opaque = cmd.Opaque
						_ = x.Send(answer) // its connection may be gone
					})
					return nil
				}
				return echo(x, cmd)
			})
			var told changes
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Changed = told.note })

			// The load: 16 long polls of 30 s, a commit every 5 s, a heartbeat of 3 s every 30 s, as a consumer has it.
			ctx, stop := context.WithCancel(context.Background())
			var late atomic.Int64 // requests that outlived their time-out
			var answered atomic.Int64
			var load sync.WaitGroup
			call := func(cmd *wire.Command, timeout time.Duration) {
				begun := time.Now()
				done := make(chan error, 1)
				c.Start(brokerAddress, cmd, timeout, func(_ *wire.Command, err error) { done <- err })
				err := <-done
				if time.Since(begun) > timeout+50*time.Millisecond {
					late.Add(1)
				}
				if err == nil {
					answered.Add(1)
				}
			}
			repeat := func(every time.Duration, once func()) {
				load.Add(1)
				go func() {
					defer load.Done()
					for ctx.Err() == nil {
						once()
						select {
						case <-ctx.Done():
						case <-time.After(every):
						}
					}
				}()
			}
			for range 16 {
				repeat(time.Second, func() { call(wire.NewRequest(wire.PullMessage), 30*time.Second) })
			}
			repeat(5*time.Second, func() { _ = c.OneWay(ctx, brokerAddress, request("commit")) }) // may fail while cut off
			repeat(30*time.Second, func() { call(wire.NewRequest(wire.HeartBeat), 3*time.Second) })

			time.Sleep(47 * time.Second)
			Expect(told.seen()).To(Equal([]string{brokerAddress + " true"}))
			Expect(answered.Load()).To(BeNumerically(">", 30))

			s.net.Blackhole(brokerAddress)
			time.Sleep(60 * time.Second)
			Expect(told.seen()).To(HaveLen(2))
			Expect(told.seen()[1]).To(HavePrefix(brokerAddress + " false nothing was read while requests timed out"))
			time.Sleep(3 * time.Minute)
			Expect(told.seen()).To(HaveLen(2), "nothing comes up while the link is down")

			before := answered.Load()
			s.net.Heal(brokerAddress)
			time.Sleep(5 * time.Second)
			Expect(told.seen()).To(HaveLen(3))
			Expect(told.seen()[2]).To(Equal(brokerAddress + " true"))
			time.Sleep(15 * time.Second)
			Expect(answered.Load()).To(BeNumerically(">=", before+16))
			Expect(late.Load()).To(BeZero())

			stop()
			Expect(c.Close()).To(Succeed())
			load.Wait()
			s.stop()
		})
	})

	It("is not suspected while other answers come", func() {
		inVirtualTime(func() {
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				if cmd.Ext.Text("name") == "unanswered" {
					return nil
				}
				return echo(x, cmd)
			})
			c := s.client()
			for range 60 {
				c.Start(brokerAddress, request("unanswered"), 3*time.Second, func(*wire.Command, error) {})
				_, err := c.Call(context.Background(), brokerAddress, request("a"))
				Expect(err).NotTo(HaveOccurred())
				time.Sleep(10 * time.Second)
			}
			Expect(s.net.Dials(brokerAddress)).To(Equal(1))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is closed although nothing but one request was sent", func() {
		inVirtualTime(func() {
			s := newStage(silent)
			var told changes
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Changed = told.note })
			_, err := c.Call(context.Background(), brokerAddress, request("a"))
			Expect(networkError(err).GetTimedOut()).To(BeTrue())
			time.Sleep(26 * time.Second)
			Expect(told.seen()).To(HaveLen(1))
			time.Sleep(2 * time.Second)
			Expect(told.seen()).To(HaveLen(2))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})
})

var _ = Describe("The table of pending calls", Label("A40"), func() {
	It("never holds more than is in flight and is empty at the end, though every other call is never answered", func() {
		inVirtualTime(func() {
			const calls, inFlight = 100_000, 200
			var count atomic.Int64
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				if count.Add(1)%2 == 0 {
					if cmd.Opaque%1000 == 0 { // and some answers come too late
						time.AfterFunc(10*time.Second, func() {
							answer := wire.NewResponse(wire.Success, "")
							answer.Opaque = cmd.Opaque
							_ = x.Send(answer) // the spec fails for want of it
						})
					}
					return nil
				}
				return wire.NewResponse(wire.Success, "")
			})
			c := s.client()
			slots := make(chan struct{}, inFlight)
			var good, bad atomic.Int64
			cmd := wire.NewRequest(wire.GetMaxOffset)
			var most int64
			for i := range calls {
				slots <- struct{}{}
				c.Start(brokerAddress, cmd, time.Second, func(_ *wire.Command, err error) {
					if err == nil {
						good.Add(1)
					} else {
						bad.Add(1)
					}
					<-slots
				})
				if i%100 == 0 {
					most = max(most, pending(c))
				}
			}
			for range inFlight {
				slots <- struct{}{}
			}
			Expect(good.Load()).To(BeEquivalentTo(calls / 2))
			Expect(bad.Load()).To(BeEquivalentTo(calls / 2))
			Expect(most).To(BeNumerically(">", 0))
			Expect(most).To(BeNumerically("<=", inFlight))
			Expect(pending(c)).To(BeZero())
			time.Sleep(11 * time.Second)
			Expect(c.LateAnswers()).To(BeNumerically(">", 0))
			Expect(good.Load() + bad.Load()).To(BeEquivalentTo(calls))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})
})

var _ = Describe("A refused port", Label("A40"), func() {
	It("is dialled at most once a second, with at most two log lines a minute, for ten minutes", func() {
		inVirtualTime(func() {
			log, lines := logtest.NewNullLogger()
			log.SetLevel(logrus.DebugLevel)
			s := newStage(echo)
			s.net.Refuse(brokerAddress)
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Log = log })
			for range 10 * 60 * 5 { // five requests a second
				_, err := c.Call(context.Background(), brokerAddress, request("a"))
				ne := networkError(err)
				Expect(ne.GetNotSent()).To(BeTrue())
				Expect(ne.GetTimedOut()).To(BeFalse())
				Expect(ne.GetReason()).To(Equal("connection refused"))
				time.Sleep(200 * time.Millisecond)
			}
			Expect(s.net.Dials(brokerAddress)).To(BeNumerically("<=", 10*60/3+3), "the back-off has grown to 3 s")
			Expect(s.net.Dials(brokerAddress)).To(BeNumerically(">=", 10*60/4), "and not beyond")
			Expect(len(lines.AllEntries())).To(BeNumerically("<=", 20))
			Expect(lines.AllEntries()).To(ContainElement(HaveField("Data", HaveKey("suppressed"))))

			s.net.Accept(brokerAddress)
			time.Sleep(4 * time.Second)
			_, err := c.Call(context.Background(), brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("spreads the next dial by jitter of up to a quarter, and never earlier than a second", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			s.net.Refuse(brokerAddress)
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Jitter = func() float64 { return 0.8 } })
			begun := time.Now()
			var at []time.Duration
			for len(at) < 5 {
				before := s.net.Dials(brokerAddress)
				_, err := c.Call(context.Background(), brokerAddress, request("a"))
				Expect(networkError(err).GetNotSent()).To(BeTrue())
				if s.net.Dials(brokerAddress) > before {
					at = append(at, time.Since(begun))
				}
				time.Sleep(50 * time.Millisecond)
			}
			ms := time.Millisecond
			Expect(at).To(Equal([]time.Duration{0, 1200 * ms, 3600 * ms, 7200 * ms, 10800 * ms}), "1, 2, 3, 3 s and a fifth each")
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})
})

var _ = Describe("A connection", func() {
	ctx := context.Background()

	It("is made again at once after it was lost", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			var told changes
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Changed = told.note })
			begun := time.Now()
			for range 3 {
				_, err := c.Call(ctx, brokerAddress, request("a"))
				Expect(err).NotTo(HaveOccurred())
				s.net.Cut(brokerAddress)
				synctest.Wait()
			}
			Expect(time.Since(begun)).To(BeZero())
			up, down := brokerAddress+" true", ContainSubstring("false")
			Expect(told.seen()).To(HaveExactElements(up, down, up, down, up, down))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("counts as refused if it ends at once without a word", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			l, err := s.net.Listen("10.0.0.2:10911")
			Expect(err).NotTo(HaveOccurred())
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_ = conn.Close() // as a proxy without a back end does
				}
			}()
			c := s.client()
			for range 60 * 20 {
				_, err := c.Call(ctx, "10.0.0.2:10911", request("a"))
				Expect(err).To(HaveOccurred())
				time.Sleep(50 * time.Millisecond)
			}
			Expect(s.net.Dials("10.0.0.2:10911")).To(BeNumerically("<=", 61))
			Expect(l.Close()).To(Succeed())
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is closed after 120 s without traffic, by both ends", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			var told changes
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Changed = told.note })
			_, err := c.Call(ctx, brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			time.Sleep(119 * time.Second)
			Expect(told.seen()).To(HaveLen(1))
			time.Sleep(2 * time.Second)
			// Both ends come to it in the same moment: whoever is second sees the other's end.
			Expect(told.seen()).To(HaveExactElements(
				Equal(brokerAddress+" true"), BeElementOf(brokerAddress+" false closed as idle", brokerAddress+" false EOF")))
			<-s.ended

			conn, err := s.net.Dial(ctx, "tcp", brokerAddress)
			Expect(err).NotTo(HaveOccurred())
			begun := time.Now()
			<-s.ended
			Expect(time.Since(begun)).To(BeNumerically("~", 120*time.Second, time.Second))
			Expect(conn.Close()).To(Succeed())
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is kept while there is traffic", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			c := s.client()
			for range 20 {
				Expect(c.OneWay(ctx, brokerAddress, request("a"))).To(Succeed())
				time.Sleep(100 * time.Second)
			}
			Expect(s.net.Dials(brokerAddress)).To(Equal(1))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is given up after 3 s of dialling", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			s.net.Blackhole(brokerAddress)
			c := s.client()
			begun := time.Now()
			ctx, cancel := within(10 * time.Second)
			defer cancel()
			_, err := c.Call(ctx, brokerAddress, request("a"))
			ne := networkError(err)
			Expect(time.Since(begun)).To(Equal(3 * time.Second))
			Expect(ne.GetNotSent()).To(BeTrue())
			Expect(ne.GetReason()).To(Equal("timed out"))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is closed on Disconnect, and made anew by the next request", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			var told changes
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Changed = told.note })
			c.Disconnect(brokerAddress, nil)
			_, err := c.Call(ctx, brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			c.Disconnect(brokerAddress, errors.New("master moved"))
			_, err = c.Call(ctx, brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			Expect(told.seen()).To(HaveExactElements(brokerAddress+" true", brokerAddress+" false master moved", brokerAddress+" true"))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is closed on Forget, and its address is no longer told of", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			var told changes
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Changed = told.note })
			_, err := c.Call(ctx, brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			Expect(c.Facts()).To(ConsistOf(And(HaveField("Address", brokerAddress), HaveField("Up", true), HaveField("Pending", BeZero()))))
			c.Forget(brokerAddress)
			<-s.ended
			Expect(c.Facts()).To(BeEmpty())
			synctest.Wait()
			Expect(told.seen()).To(Equal([]string{brokerAddress + " true", brokerAddress + " false closed"}))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("tells its last error in the facts", func() {
		inVirtualTime(func() {
			s := newStage(echo)
			s.net.Refuse(brokerAddress)
			c := s.client()
			_, err := c.Call(ctx, brokerAddress, request("a"))
			Expect(err).To(HaveOccurred())
			Expect(c.Facts()).To(ConsistOf(And(HaveField("Up", false), HaveField("LastError", "connection refused"))))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	When("the server is restarted at its address", func() {
		It("comes back with the first request", func() {
			inVirtualTime(func() {
				s := newStage(echo)
				c := s.client()
				for range 5 {
					_, err := c.Call(ctx, brokerAddress, request("a"))
					Expect(err).NotTo(HaveOccurred())
					s.stop()
					synctest.Wait()
					s.listen(echo)
					synctest.Wait()
				}
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})

	When("the peer does not read", func() {
		It("takes what fits the buffers and then refuses, without blocking anyone", func() {
			inVirtualTime(func() {
				s := newStage(echo)
				c := s.client()
				_, err := c.Call(ctx, brokerAddress, request("a"))
				Expect(err).NotTo(HaveOccurred())
				s.net.Blackhole(brokerAddress)
				cmd := request("a")
				cmd.Body = make([]byte, 8<<20)
				begun := time.Now()
				for range 20 {
					if err = c.OneWay(ctx, brokerAddress, cmd); err != nil {
						break
					}
				}
				Expect(networkError(err).GetReason()).To(ContainSubstring("does not read"))
				Expect(time.Since(begun)).To(BeZero())
				time.Sleep(31 * time.Second)
				Expect(c.Facts()).To(ConsistOf(HaveField("Up", false)), "a write that makes no way ends the connection")
				s.net.Heal(brokerAddress)
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	})
})

var _ = Describe("GO_AWAY", func() {
	It("makes the client connect anew and send the request once more, unnoticed", func() {
		inVirtualTime(func() {
			var old *remoting.Session
			var opaques []int32
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				if old == nil {
					old = x
				}
				if x == old && cmd.Ext.Text("name") == "a" {
					opaques = append(opaques, cmd.Opaque)
					return wire.NewResponse(wire.GoAway, "please go away")
				}
				if x == old {
					return nil
				}
				opaques = append(opaques, cmd.Opaque)
				return echo(x, cmd)
			})
			var told changes
			c := s.client(func(cfg *remoting.ClientConfig) { cfg.Changed = told.note })
			held := make(chan error, 1)
			c.Start(brokerAddress, request("held"), time.Hour, func(_ *wire.Command, err error) { held <- err })
			synctest.Wait()
			answer, err := c.Call(context.Background(), brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Code).To(BeEquivalentTo(wire.Success))
			Expect(opaques).To(HaveLen(2))
			Expect(opaques[0]).NotTo(Equal(opaques[1]), "a fresh opaque")
			Expect(told.seen()).To(HaveExactElements(brokerAddress+" true", ContainSubstring("false the broker is going away"), brokerAddress+" true"))

			// What waits on the old connection may still be answered there; then it is closed.
			Expect(s.net.Connections(brokerAddress)).To(Equal(2))
			late := wire.NewResponse(wire.Success, "")
			late.Opaque = 1
			Expect(old.Send(late)).To(Succeed())
			Expect(<-held).To(Succeed())
			synctest.Wait()
			Expect(s.net.Connections(brokerAddress)).To(Equal(1))
			Expect(told.seen()).To(HaveLen(3))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("leaves no old connection behind when what waits there times out", func() {
		inVirtualTime(func() {
			var old *remoting.Session
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				if old == nil {
					old = x
				}
				switch {
				case cmd.Ext.Text("name") == "held":
					return nil
				case x == old:
					return wire.NewResponse(wire.GoAway, "")
				}
				return echo(x, cmd)
			})
			c := s.client()
			c.Start(brokerAddress, request("held"), 10*time.Second, func(*wire.Command, error) {})
			synctest.Wait()
			_, err := c.Call(context.Background(), brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			Expect(s.net.Connections(brokerAddress)).To(Equal(2))
			time.Sleep(11 * time.Second)
			Expect(s.net.Connections(brokerAddress)).To(Equal(1))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})

	It("is the answer if it comes again", func() {
		inVirtualTime(func() {
			var count atomic.Int64
			s := newStage(func(*remoting.Session, *wire.Command) *wire.Command {
				count.Add(1)
				return wire.NewResponse(wire.GoAway, "")
			})
			c := s.client()
			answer, err := c.Call(context.Background(), brokerAddress, request("a"))
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Code).To(BeEquivalentTo(wire.GoAway))
			Expect(count.Load()).To(BeEquivalentTo(2))
			Expect(pending(c)).To(BeZero())
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})
})

// composed is a Settler that composes its request.
type composed struct {
	remoting.Exchange
	times int
	ended chan error
}

func (c *composed) Compose(x *remoting.Exchange) {
	c.times++
	x.Request.Ext.Set("name", "composed")
	x.Request.Ext.SetInt("times", int64(c.times))
}

func (c *composed) Settled(_ *remoting.Exchange, err error) { c.ended <- err }

var _ = Describe("A request that is composed", func() {
	It("keeps no ext fields while it waits, and is composed and signed anew when the broker goes away", func() {
		inVirtualTime(func() {
			var old *remoting.Session
			var got []string
			var waits chan *wire.Command
			s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				got = append(got, cmd.Ext.Text("name")+" "+cmd.Ext.Text("times")+" "+cmd.Ext.Text("signed"))
				if old == nil {
					old = x
					return wire.NewResponse(wire.GoAway, "please go away")
				}
				answer := wire.NewResponse(wire.Success, "")
				answer.Opaque = cmd.Opaque
				waits <- answer
				return nil
			})
			waits = make(chan *wire.Command, 1)
			c := s.client(func(cfg *remoting.ClientConfig) {
				cfg.Sign = func(cmd *wire.Command) { cmd.Ext.Set("signed", "for "+cmd.Ext.Text("times")) }
			})
			x := &composed{ended: make(chan error, 1)}
			x.Request = *request("")
			x.Request.Ext = wire.Ext{}
			c.Begin(brokerAddress, &x.Exchange, time.Hour, x)
			synctest.Wait()
			Expect(got).To(HaveExactElements("composed 1 for 1", "composed 2 for 2"))
			Expect(x.Request.Ext.Has("name")).To(BeFalse(), "given back")
			Expect(x.ended).NotTo(Receive())
			c.Cancel(&x.Exchange)
			Expect(<-x.ended).To(MatchError(ContainSubstring("cancelled")))
			Expect(c.Close()).To(Succeed())
			s.stop()
		})
	})
})
