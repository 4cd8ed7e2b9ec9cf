package actors_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
)

var _ = Describe("The last word on an offset", func() {
	It("is repeated if a pull under way has overtaken it with an older one", func() {
		bubble(func() {
			key := linktest.Key("orders", "a", 0)
			s := newStage("orders")
			s.cluster.Topic("orders", 1, "a")
			s.cluster.Fill(key, 10)
			s.start()
			s.pass(10 * time.Second)
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
			overtaken := false
			s.cluster.On(linktest.Committed, func(c linktest.Call) *linktest.Answer {
				if c.Queue == key && !overtaken {
					overtaken = true
					s.cluster.SetOffset(group, key, 3)
				}
				return nil
			})
			s.stop(time.Second)
			Expect(overtaken).To(BeTrue())
			Expect(s.cluster.Offset(group, key)).To(Equal(int64(10)))
		})
	})
})
