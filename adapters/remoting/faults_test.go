package remoting_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
)

var _ = Describe("Requests under random faults", Label("A39", "A40"), func() {
	for seed := range uint64(12) {
		It("each end exactly once within their time-out, and nothing is left of them", func() {
			inVirtualTime(func() {
				random := rand.New(rand.NewPCG(seed, 1))
				chance := func(n int) bool { return random.IntN(n) == 0 }
				s := newStage(func(x *remoting.Session, cmd *wire.Command) *wire.Command {
					switch cmd.Opaque % 7 {
					case 0:
						return nil
					case 1: // late or not at all, from another goroutine
						time.AfterFunc(time.Duration(cmd.Opaque%5)*time.Second, func() {
							answer := echo(x, cmd)
							answer.Opaque = cmd.Opaque
							_ = x.Send(answer) // the session may have ended
						})
						return nil
					case 2:
						if cmd.Opaque%5 == 0 {
							return wire.NewResponse(wire.GoAway, "")
						}
					case 3:
						if cmd.Opaque%11 == 0 {
							x.Close()
						}
					default:
					}
					return echo(x, cmd)
				})
				c := s.client(func(cfg *remoting.ClientConfig) { cfg.Jitter = func() float64 { return float64(seed) / 12 } })

				var begun, ended, good, twice, late atomic.Int64
				for range 2000 {
					time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
					switch {
					case chance(50):
						s.net.Cut(brokerAddress)
					case chance(60):
						s.net.Blackhole(brokerAddress)
					case chance(20):
						s.net.Heal(brokerAddress)
					case chance(60):
						s.net.Refuse(brokerAddress)
					case chance(20):
						s.net.Accept(brokerAddress)
					case chance(60):
						s.net.Delay(brokerAddress, time.Duration(random.IntN(2000))*time.Millisecond)
					case chance(80):
						s.stop()
						synctest.Wait()
						s.listen(func(x *remoting.Session, cmd *wire.Command) *wire.Command { return echo(x, cmd) })
					case chance(80):
						c.Disconnect(brokerAddress, nil)
					case chance(100):
						c.Forget(brokerAddress)
					}
					timeout := time.Duration(random.IntN(20_000)) * time.Millisecond
					start := time.Now()
					var settled atomic.Bool
					begun.Add(1)
					cancel := c.Start(brokerAddress, request("a"), timeout+time.Millisecond, func(_ *wire.Command, err error) {
						if settled.Swap(true) {
							twice.Add(1)
						}
						if time.Since(start) > timeout+51*time.Millisecond {
							late.Add(1)
						}
						if err == nil {
							good.Add(1)
						}
						ended.Add(1)
					})
					if chance(10) {
						cancel()
					}
				}
				time.Sleep(21 * time.Second)
				Expect(ended.Load()).To(Equal(begun.Load()))
				Expect(twice.Load()).To(BeZero())
				Expect(late.Load()).To(BeZero())
				Expect(good.Load()).To(BeNumerically(">", 100))
				Expect(pending(c)).To(BeZero())

				s.net.Heal(brokerAddress)
				s.net.Accept(brokerAddress)
				s.net.Delay(brokerAddress, 0)
				time.Sleep(4 * time.Second)
				ctx, stop := within(5 * time.Second)
				defer stop()
				for { // some opaques are never answered, see above
					if _, err := c.Call(ctx, brokerAddress, request("a")); err == nil {
						break
					}
					Expect(ctx.Err()).NotTo(HaveOccurred(), "all is well again, but no call succeeds")
				}
				Expect(c.Close()).To(Succeed())
				s.stop()
			})
		})
	}
})
