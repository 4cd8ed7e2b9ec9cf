package wire_test

import (
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
)

var _ = Describe("Hash codes", func() {
	DescribeTable("are Java's", func(text string, want int) {
		Expect(wire.HashCode(text)).To(BeEquivalentTo(want))
		Expect(wire.TagCode(text)).To(BeEquivalentTo(want))
	},
		Entry("of a tag", "TagA", 2598919),
		Entry("of the smallest number", "polygenelubricants", -2147483648),
		Entry("of text beyond ASCII and beyond 16 bits", "TAGé世😀", -804712726),
		Entry("of text whose last bits count", "😁𐏿", 1705528419), // 31-polynomial over D83D DE01 D800 DFFF by hand
		Entry("of nothing", "", 0),
	)
})

var _ = Describe("Checksums", func() {
	It("are CRC-32 without the highest bit", func() {
		Expect(wire.BodyCRC([]byte("hi"))).To(BeEquivalentTo(1486039724))
		Expect(wire.BodyCRC([]byte("hello"))).To(BeEquivalentTo(907060870))
	})
})

var _ = Describe("Signatures", func() {
	newCommand := func() *wire.Command {
		c := wire.NewRequest(wire.PullMessage)
		c.Ext.Set("topic", "T")
		c.Ext.Set("consumerGroup", "G")
		c.Ext.SetInt("queueId", 0)
		c.Body = []byte("hello")
		return c
	}

	It("are those of the vector", func() {
		c := newCommand()
		wire.Sign(c, "ak", "sk", "")
		Expect(c.Ext.Text("AccessKey")).To(Equal("ak"))
		Expect(c.Ext.Text("Signature")).To(Equal("k9UnFuZlL6lQ0Z/mpxYnURJSkfE="))
		Expect(c.Ext.Has("SecurityToken")).To(BeFalse())
	})

	It("are replaced when a command is signed again", func() {
		c := newCommand()
		wire.Sign(c, "ak", "sk", "")
		c.Ext.SetInt("queueId", 5)
		wire.Sign(c, "ak", "sk", "")
		c.Ext.SetInt("queueId", 0)
		wire.Sign(c, "ak", "sk", "")
		Expect(c.Ext.Text("Signature")).To(Equal("k9UnFuZlL6lQ0Z/mpxYnURJSkfE="))
	})

	It("cover the security token", func() {
		c := newCommand()
		wire.Sign(c, "ak", "sk", "token")
		Expect(c.Ext.Text("SecurityToken")).To(Equal("token"))
		Expect(c.Ext.Text("Signature")).NotTo(Equal("k9UnFuZlL6lQ0Z/mpxYnURJSkfE="))
	})
})

var _ = Describe("Unique ids", func() {
	It("are made of address, process, instance, time of the month and counter", func() {
		now := time.Date(2026, 12, 1, 0, 0, 1, 0, time.Local)
		ids := wire.NewUniqueIDs(netip.MustParseAddr("10.0.0.9"), 0x12345, 0xAABBCCDD, func() time.Time { return now })
		Expect(ids.Next()).To(Equal("0A000009" + "2345" + "AABBCCDD" + "000003E8" + "0001"))
		Expect(ids.Next()).To(HaveSuffix("0002"))
		for range 65535 {
			ids.Next()
		}
		Expect(ids.Next()).To(HaveSuffix("0002"))
	})

	It("have 56 characters for an address of IP version 6, and work without an address", func() {
		Expect(wire.NewUniqueIDs(netip.MustParseAddr("2001:db8::1"), 1, 1, nil).Next()).To(HaveLen(56))
		Expect(wire.NewUniqueIDs(netip.Addr{}, 1, 1, nil).Next()).To(HaveLen(32))
	})
})
