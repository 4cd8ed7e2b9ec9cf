package kit_test

import (
	"fmt"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
)

var _ = Describe("An actor", func() {
	It("gets Started, its messages in order, and Stopping", func() {
		bubble(func() {
			s := kit.New(kit.Config{})
			var got []string
			r := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) { got = append(got, fmt.Sprintf("%T%v", m, m)) }))
			for i := range 3 {
				r.Tell(i)
			}
			end(s)
			Expect(got).To(Equal([]string{"kit.Started{}", "int0", "int1", "int2", "kit.Stopping{}"}))
			Expect(r.Done()).To(BeClosed())
		})
	})

	It("is restarted after the back-off when it panics, and goes on with its mailbox", func() {
		bubble(func() {
			var events []string
			s := kit.New(kit.Config{Jitter: func() float64 { return 0.5 }, OnEvent: func(e kit.Event) {
				events = append(events, fmt.Sprint(e.Kind, " ", e.Actor, " ", e.Message, " ", e.Wait))
			}})
			var got []string
			begin := time.Now()
			r := s.Spawn(plays("a", func(c *kit.Context, m kit.Message) {
				if m == 1 {
					panic("one")
				}
				got = append(got, fmt.Sprintf("%v:%T%v@%v", c.Incarnation(), m, m, time.Since(begin)))
			}))
			r.Tell(0)
			r.Tell(1)
			r.Tell(2)
			time.Sleep(time.Second)
			synctest.Wait()
			end(s)
			Expect(got).To(Equal([]string{"1:kit.Started{}@0s", "1:int0@0s", "2:kit.Started{}@100ms", "2:int2@100ms", "2:kit.Stopping{}@1s"}))
			Expect(events).To(Equal([]string{"failed a int 100ms", "restarted a  0s"}))
		})
	})
})
