package wire_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("The answer to a pull", func() {
	var g *goldenFrame
	BeforeEach(func() {
		g = nil
		for _, f := range golden(11, false) {
			if f.BodyKind == "messages" && f.HeaderFormat == "JSON" && len(f.Messages) > 2 && !messagesCompressed(f) {
				g = f
				break
			}
		}
		Expect(g).NotTo(BeNil())
	})

	It("costs no allocation for its header", func() {
		Expect(testing.AllocsPerRun(100, func() {
			var c wire.Command
			var h wire.PullResponseHeader
			must(wire.DecodeCommand(g.bytes[4:], &c))
			must(h.ReadFrom(&c.Ext))
		})).To(BeZero())
	})

	It("costs one allocation for all its messages, none with a slab that is used again", func() {
		c, err := decode(g.bytes)
		Expect(err).NotTo(HaveOccurred())
		o := &wire.DecodeOptions{Topic: g.Messages[0].Topic, Broker: "broker-a"}
		var slab []messages.Message
		Expect(testing.AllocsPerRun(100, func() {
			slab, _, err = wire.DecodeMessages(nil, c.Body, o)
			must(err)
		})).To(BeEquivalentTo(1))
		Expect(slab).To(HaveLen(len(g.Messages)))
		Expect(cap(slab)).To(Equal(len(slab)))
		Expect(testing.AllocsPerRun(100, func() {
			slab, _, err = wire.DecodeMessages(slab[:0], c.Body, o)
			must(err)
		})).To(BeZero())
	})
})

func messagesCompressed(f *goldenFrame) bool {
	for _, s := range f.Stored {
		if s.SysFlag&wire.FlagCompressed != 0 {
			return true
		}
	}
	return false
}
