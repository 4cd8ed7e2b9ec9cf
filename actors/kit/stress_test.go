package kit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
)

// token is a message that is to be accounted for.
type token struct{ fate int }

// Fates of a token.
const (
	calm = iota
	panics
	leaves
	stopsSelf
	spawns
	works
	fates
)

var _ = Describe("Many actors under random panics, stops and spawns", func() {
	DescribeTable("account for every message: processed, lost in a panic, or a dead letter", func(config kit.Config) {
		seed := uint64(GinkgoRandomSeed())
		var told, processed, lost, dead, results, late, started atomic.Int64
		config.OnEvent = func(e kit.Event) {
			switch {
			case e.Kind == kit.EventDeadLetter && e.Message == "kit_test.token":
				dead.Add(1)
			case (e.Kind == kit.EventFailed || e.Kind == kit.EventGaveUp) && e.Message == "kit_test.token":
				lost.Add(1)
			case e.Kind == kit.EventLateResult:
				late.Add(1)
			}
		}
		s := kit.New(config)
		var mu sync.Mutex
		var refs []kit.Ref
		var names atomic.Int64
		var spec func(depth int) kit.Spec
		spec = func(depth int) kit.Spec {
			return kit.Spec{
				Role:     "stressed",
				Name:     fmt.Sprint(names.Add(1)),
				Strategy: kit.Strategy{Initial: time.Microsecond, Max: time.Millisecond, GiveUpAfter: 20},
				New: func() kit.Actor {
					return script(func(c *kit.Context, m kit.Message) {
						switch m := m.(type) {
						case kit.Started:
							mu.Lock()
							refs = append(refs, c.Self())
							mu.Unlock()
						case token:
							switch m.fate {
							case panics:
								panic("stress")
							case leaves:
								runtime.Goexit()
							case stopsSelf:
								c.StopSelf()
							case spawns:
								if depth > 0 {
									child := c.Spawn(spec(depth - 1))
									told.Add(1)
									child.Tell(token{panics})
								}
							case works:
								started.Add(1)
								c.Go(time.Second, func(context.Context) kit.Message { return "result" })
							}
							processed.Add(1)
						case string:
							results.Add(1)
						case kit.ChildStopped:
							for _, child := range c.Children() {
								c.Stop(child)
							}
						}
					})
				},
			}
		}
		for range 20 {
			s.Spawn(spec(2))
		}
		var senders sync.WaitGroup
		for n := range 4 {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			senders.Go(func() {
				for range 10_000 {
					fate := calm
					if x := random.IntN(100); x < 10 {
						fate = 1 + x%(fates-1)
					}
					if fate == stopsSelf && random.IntN(20) > 0 {
						fate = calm
					}
					mu.Lock()
					var ref kit.Ref
					if len(refs) > 0 {
						ref = refs[random.IntN(len(refs))]
					}
					mu.Unlock()
					if !ref.IsZero() {
						told.Add(1)
						ref.Tell(token{fate})
					}
					switch random.IntN(200) {
					case 0:
						s.Snapshot()
					case 1:
						s.Spawn(spec(2))
					}
				}
			})
		}
		senders.Wait()
		end(s)
		AddReportEntry("balance", fmt.Sprintf("told %d processed %d lost %d dead %d; works %d results %d late %d; actors %d",
			told.Load(), processed.Load(), lost.Load(), dead.Load(), started.Load(), results.Load(), late.Load(), names.Load()))
		Expect(processed.Load() + lost.Load() + dead.Load()).To(Equal(told.Load()))
		Expect(results.Load() + late.Load()).To(Equal(started.Load()))
		Expect(processed.Load()).NotTo(BeZero())
		Expect(lost.Load()).NotTo(BeZero())
		Expect(dead.Load()).NotTo(BeZero())
		Expect(s.Snapshot()).To(BeEmpty())
	},
		Entry("on parked goroutines", kit.Config{}),
		Entry("on few parked goroutines, one message a time", kit.Config{MaxIdle: 1, Throughput: 1}),
		Entry("on fresh goroutines", kit.Config{DefaultDispatcher: true}),
	)
})
