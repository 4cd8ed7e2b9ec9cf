package wire_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
)

var _ = Describe("An offset message id", func() {
	DescribeTable("names a place in the commit log", func(id string, want int64) {
		Expect(wire.CommitLogOffset(id)).To(Equal(want))
	},
		// Captured: 5.3.3/322-CONSUME_MESSAGE_DIRECTLY-request-push-from-broker.bin.
		Entry("of a broker with an IPv4 address", "7F000001000051AF00000000000000F5", int64(0xF5)),
		Entry("of a broker with an IPv6 address", "00000000000000000000000000000001000051AF00000001000000F5", int64(0x1_0000_00F5)),
	)
	DescribeTable("is no other text", func(id string) {
		_, err := wire.CommitLogOffset(id)
		Expect(err).To(MatchError(ContainSubstring(id)))
	},
		Entry("none", ""),
		Entry("of another length", "7F000001000051AF00000000000000F"),
		Entry("not hexadecimal", "7F000001000051AF00000000000000FX"),
	)
})
