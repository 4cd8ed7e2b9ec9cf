package kit_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/troupe-mq/troupe/actors/kit"
)

var _ = Describe("The dispatcher", func() {
	It("lets no blocked actor starve the others", func() {
		bubble(func() {
			r := new(recorder)
			s := kit.New(kit.Config{MaxIdle: 1})
			gate := make(chan struct{})
			for i := range 50 {
				s.Spawn(tame("blocked"+strconv.Itoa(i), new(recorder))).Tell(hold{gate})
			}
			s.Spawn(tame("free", r)).Tell(1)
			synctest.Wait()
			Expect(r.all()).To(Equal([]string{"free: kit.Started", "free: 1"}))
			close(gate)
			end(s)
		})
	})

	DescribeTable("keeps goroutines for the next turn, but no more than allowed", func(config kit.Config, want int) {
		s := kit.New(config)
		defer end(s)
		before := dispatched()
		gate, ready := make(chan struct{}), make(chan struct{})
		refs := make([]kit.Ref, 20)
		for i := range refs {
			refs[i] = s.Spawn(plays(strconv.Itoa(i), func(_ *kit.Context, m kit.Message) {
				if h, ok := m.(hold); ok {
					ready <- struct{}{}
					<-h.until
				}
			}))
			refs[i].Tell(hold{gate})
		}
		for range refs {
			<-ready
		}
		Expect(dispatched() - before).To(BeNumerically(">=", 20))
		close(gate)
		Eventually(func() int { return dispatched() - before }).Should(Equal(want))
		Consistently(func() int { return dispatched() - before }, "20ms").Should(Equal(want))
	},
		Entry("5", kit.Config{MaxIdle: 5}, 5),
		Entry("none, as the library's own does", kit.Config{DefaultDispatcher: true}, 0),
	)

	It("lets others run while one actor has endless work", func() {
		old := runtime.GOMAXPROCS(1)
		defer runtime.GOMAXPROCS(old)
		s := kit.New(kit.Config{})
		defer end(s)
		stop := make(chan struct{})
		s.Spawn(plays("endless", func(c *kit.Context, _ kit.Message) {
			select {
			case <-stop:
			default:
				c.Tell(c.Self(), 1)
			}
		}))
		done := make(chan struct{})
		s.Spawn(plays("other", func(*kit.Context, kit.Message) { close(done) }))
		Eventually(done).Should(BeClosed())
		close(stop)
	})
})

// dispatched counts the goroutines that run turns or wait for one.
func dispatched() (n int) {
	for _, g := range gleak.Goroutines() {
		if strings.Contains(g.Backtrace, "kit.(*dispatcher).run") {
			n++
		}
	}
	return n
}
