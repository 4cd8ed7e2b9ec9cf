package wire_test

import (
	"encoding/hex"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var vectorRecord = `0000006C DAA320A7 00000000 00000003 00000000 0000000000000005 00000000000003E8 00000000
0000018BCFE56800 0A000009 00001388 0000018BCFE56801 0A000001 00002A9F 00000000 0000000000000000
00000002 6869 01 54 000E 7801790254414753015461674102`

// record makes a stored record of a message with two properties.
func record(change func(*messages.Message)) []byte {
	m := messages.NewMessage("orders", []byte("hello")).WithTag("TagA").WithProperty("k", "v")
	m.QueueOffset, m.CommitLogOffset, m.BornTimestamp, m.StoreTimestamp = 7, 1000, 11, 12
	m.BornHost, m.StoreHost = unhex("0A000009 00001388"), unhex("0A000001 00002A9F")
	if change != nil {
		change(m)
	}
	b, err := wire.AppendMessage(nil, m)
	Expect(err).NotTo(HaveOccurred())
	return b
}

func at(offset int64) func(*messages.Message) {
	return func(m *messages.Message) { m.QueueOffset = offset }
}

// decodeAll decodes records that must be without fault.
func decodeAll(records []byte, o wire.DecodeOptions) []messages.Message {
	slab, corrupt, err := wire.DecodeMessages(nil, records, &o)
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	ExpectWithOffset(1, corrupt).To(BeEmpty())
	return slab
}

var _ = Describe("Stored messages", func() {
	When("Apache's brokers served them", func() {
		It("decode to what Apache's own decoder makes of them", func() {
			count, compressed, retried := 0, 0, 0
			for _, g := range goldenFrames() {
				if g.BodyKind != "messages" {
					continue
				}
				c, err := decode(g.bytes)
				Expect(err).NotTo(HaveOccurred())
				Expect(wire.CountRecords(c.Body)).To(Equal(len(g.Messages)), g.File)
				options := wire.DecodeOptions{Topic: g.Messages[0].Topic, Broker: "broker-a", OwnQueueID: true, VerifyCRC: true}
				slab := decodeAll(c.Body, options)
				Expect(slab).To(HaveLen(len(g.Messages)), g.File)
				options.KeepCompressed = true
				stored := decodeAll(c.Body, options)
				for i, want := range g.Messages {
					m := &slab[i]
					Expect(m.CommitLogOffset).To(Equal(want.CommitLogOffset))
					Expect(m.QueueOffset).To(Equal(want.QueueOffset))
					Expect(m.QueueId).To(Equal(want.QueueID))
					Expect(m.Broker).To(Equal("broker-a"))
					Expect(m.MessageID()).To(Equal(want.ID))
					Expect(m.OffsetID()).To(Equal(want.OffsetID))
					Expect(m.Flag).To(Equal(want.Flag))
					Expect(m.SysFlag).To(Equal(want.SysFlag), g.File)
					Expect(m.BodyCrc).To(Equal(want.BodyCRC))
					Expect(m.Body).To(HaveLen(want.BodyLen), g.File)
					Expect(sha(m.Body)).To(Equal(want.BodySha1))
					Expect(m.BornTimestamp).To(Equal(want.BornTimestamp))
					Expect(m.StoreTimestamp).To(Equal(want.StoreTimestamp))
					Expect("/" + m.BornAddr().String()).To(Equal(want.BornHost))
					Expect("/" + m.StoreAddr().String()).To(Equal(want.StoreHost))
					Expect(m.ReconsumeTimes).To(Equal(want.ReconsumeTimes))
					Expect(m.PreparedTransactionOffset).To(Equal(want.Prepared))
					Expect(m.Tag()).To(Equal(want.Tags))
					Expect(strings.Join(m.Keys(), " ")).To(Equal(want.Keys))
					Expect(maps.Collect(m.Properties())).To(Equal(want.Properties), g.File)
					if want.Tags != "" {
						Expect(wire.TagCode(m.Tag())).To(Equal(want.TagsCode))
					}
					if original, ok := want.Properties["RETRY_TOPIC"]; ok && strings.HasPrefix(want.Topic, "%RETRY%") {
						Expect(m.Topic).To(Equal(original), g.File)
						retried++
					} else {
						Expect(m.Topic).To(Equal(want.Topic))
					}
					s := g.Stored
					if len(s) > 0 {
						Expect(stored[i].SysFlag).To(Equal(s[i].SysFlag))
						Expect(stored[i].Body).To(HaveLen(s[i].BodyLen))
						Expect(sha(stored[i].Body)).To(Equal(s[i].BodySha1))
					}
					if m.SysFlag != stored[i].SysFlag {
						compressed++
					}
					count++
				}
			}
			Expect(count).To(Equal(272))
			Expect(compressed).To(Equal(14))
			Expect(retried).To(BeNumerically(">", 3))
		})

		It("encode to the bytes the broker served", func() {
			for _, g := range goldenFrames() {
				if g.BodyKind != "messages" {
					continue
				}
				c, err := decode(g.bytes)
				Expect(err).NotTo(HaveOccurred())
				slab := decodeAll(c.Body, wire.DecodeOptions{OwnQueueID: true, KeepCompressed: true})
				var again []byte
				for i := range slab {
					start := len(again)
					again, err = wire.AppendMessage(again, &slab[i])
					Expect(err).NotTo(HaveOccurred())
					Expect(len(again) - start).To(Equal(g.Messages[i].StoreSize))
				}
				Expect(again).To(Equal(c.Body), g.File)
			}
		})
	})

	It("have the bytes of the vector", func() {
		want := unhex(vectorRecord)
		m := decodeAll(want, wire.DecodeOptions{Topic: "T", QueueID: 3})
		Expect(m).To(HaveLen(1))
		Expect(m[0].Body).To(Equal([]byte("hi")))
		Expect(m[0].QueueOffset).To(BeEquivalentTo(5))
		Expect(m[0].OffsetID()).To(Equal("0A00000100002A9F00000000000003E8"))
		Expect(m[0].BornAddr().String()).To(Equal("10.0.0.9:5000"))
		Expect(maps.Collect(m[0].Properties())).To(Equal(map[string]string{"x": "y", "TAGS": "TagA"}))
		Expect(wire.AppendMessage(nil, &m[0])).To(Equal(want))
	})

	It("have their fields where the constants say", func() {
		for _, v6 := range []bool{false, true} {
			b := record(func(m *messages.Message) {
				m.QueueId, m.Flag, m.BodyCrc = 3, 4, 5
				if v6 {
					m.BornHost = unhex("20010DB8000000000000000000000001 00001388")
				}
			})
			u32 := func(pos int) string { return hex.EncodeToString(b[pos : pos+4]) }
			Expect(u32(wire.RecordMagicPos)).To(Equal("daa320a7"))
			Expect(u32(wire.RecordBodyCRCPos)).To(Equal("00000005"))
			Expect(u32(wire.RecordQueueIDPos)).To(Equal("00000003"))
			Expect(u32(wire.RecordFlagPos)).To(Equal("00000004"))
			Expect(u32(wire.RecordQueueOffsetPos + 4)).To(Equal("00000007"))
			Expect(u32(wire.RecordCommitLogOffsetPos + 4)).To(Equal("000003e8"))
			Expect(u32(wire.RecordBornTimestampPos + 4)).To(Equal("0000000b"))
			flag := int32(0)
			if v6 {
				flag = wire.FlagBornHostV6
			}
			Expect(b[wire.RecordSysFlagPos+3]).To(BeEquivalentTo(flag))
			Expect(u32(wire.StoreTimestampPos(flag) + 4)).To(Equal("0000000c"))
			Expect(u32(wire.StoreTimestampPos(flag) + 8)).To(Equal("0a000001"))
		}
	})

	It("carry addresses of IP version 6", func() {
		born, store := unhex("20010DB8000000000000000000000001 00001388"), unhex("20010DB8000000000000000000000002 00002A9F")
		m := decodeAll(record(func(m *messages.Message) { m.BornHost, m.StoreHost = born, store }), wire.DecodeOptions{})
		Expect(m[0].BornAddr().String()).To(Equal("[2001:db8::1]:5000"))
		Expect(m[0].StoreAddr().String()).To(Equal("[2001:db8::2]:10911"))
		Expect(m[0].OffsetID()).To(Equal("20010DB800000000000000000000000200002A9F00000000000003E8"))
		Expect(m[0].Body).To(Equal([]byte("hello")))
		Expect(m[0].Tag()).To(Equal("TagA"))
	})

	It("carry topics of more than 127 bytes in the second layout", func() {
		topic := strings.Repeat("x", 300)
		b := record(func(m *messages.Message) { m.Topic = topic })
		Expect(hex.EncodeToString(b[4:8])).To(Equal("daa320ab"))
		m := decodeAll(b, wire.DecodeOptions{})
		Expect(m[0].Topic).To(Equal(topic))
		Expect(m[0].Tag()).To(Equal("TagA"))
	})

	DescribeTable("are decompressed", func(c wire.Compression) {
		text := []byte(strings.Repeat("compress me, please. ", 1000))
		packed, err := wire.Compress(c, text)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(packed)).To(BeNumerically("<", len(text)))
		b := record(func(m *messages.Message) { m.Body, m.SysFlag = packed, c.SysFlag()|wire.FlagTransactionCommit })
		for range 3 { // readers are used again
			m := decodeAll(b, wire.DecodeOptions{})
			Expect(m[0].Body).To(Equal(text))
			Expect(m[0].SysFlag & wire.FlagCompressed).To(BeZero())
			Expect(m[0].SysFlag & wire.FlagTransactionCommit).NotTo(BeZero())
		}

		By("refusing a body beyond the limit, and only that one")
		slab, corrupt, err := wire.DecodeMessages(nil, append(b, record(at(8))...), &wire.DecodeOptions{MaxBody: len(text) - 1})
		Expect(err).NotTo(HaveOccurred())
		Expect(corrupt).To(HaveLen(1))
		Expect(corrupt[0].Err).To(MatchError(wire.ErrBodyTooLarge))
		Expect(corrupt[0].QueueOffset).To(BeEquivalentTo(7))
		Expect(slab).To(HaveLen(1))
		Expect(slab[0].QueueOffset).To(BeEquivalentTo(8))
		Expect(decodeAll(b, wire.DecodeOptions{MaxBody: len(text)})[0].Body).To(HaveLen(len(text)))

		By("reporting a body that is damaged")
		packed[len(packed)/2] ^= 0xFF
		packed = packed[:len(packed)-5]
		_, corrupt, err = wire.DecodeMessages(nil, record(func(m *messages.Message) { m.Body, m.SysFlag = packed, c.SysFlag() }), &wire.DecodeOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(corrupt).To(HaveLen(1))
	},
		Entry("from the zlib of old clients", wire.LegacyZlib),
		Entry("from LZ4 frames", wire.LZ4),
		Entry("from zstd", wire.Zstd),
		Entry("from zlib", wire.Zlib),
	)

	It("are reported if the compression is not known", func() {
		_, corrupt, err := wire.DecodeMessages(nil, record(func(m *messages.Message) { m.SysFlag = 0x701 }), &wire.DecodeOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(corrupt[0].Err).To(MatchError(ContainSubstring("unknown compression 7")))
	})

	It("come out of an inner batch with consecutive offsets", func() {
		var list []byte
		for _, text := range []string{"a", "b", "c"} {
			var err error
			list, err = wire.AppendBatch(list, wire.BatchPart{Flag: 9, Body: []byte(text), Properties: []byte("KEYS\x01" + text + "\x02")})
			Expect(err).NotTo(HaveOccurred())
		}
		batch := record(func(m *messages.Message) {
			m.Body, m.SysFlag = list, wire.FlagInnerBatch|wire.FlagNeedUnwrap
		})
		records := append(append(record(at(6)), batch...), record(at(10))...)
		slab := decodeAll(records, wire.DecodeOptions{Topic: "orders", Broker: "b", QueueID: 2})
		Expect(slab).To(HaveLen(5))
		for i, offset := range []int64{6, 7, 8, 9, 10} {
			Expect(slab[i].QueueOffset).To(Equal(offset))
			Expect(slab[i].Topic).To(Equal("orders"))
			Expect(slab[i].QueueId).To(BeEquivalentTo(2))
			Expect(slab[i].StoreAddr().String()).To(Equal("10.0.0.1:10911"))
			Expect(slab[i].SysFlag).To(BeZero())
		}
		Expect(slab[2].Body).To(Equal([]byte("b")))
		Expect(slab[3].Keys()).To(Equal([]string{"c"}))
		Expect(slab[3].Flag).To(BeEquivalentTo(9))
		Expect(slab[4].Body).To(Equal([]byte("hello")))
	})

	It("share the queue's topic and broker strings and grant no room to write", func() {
		slab := decodeAll(append(record(nil), record(at(8))...), wire.DecodeOptions{Topic: "orders", Broker: "b", QueueID: 5})
		for i := range slab {
			Expect(slab[i].QueueId).To(BeEquivalentTo(5))
			for _, b := range [][]byte{slab[i].Body, slab[i].RawProperties, slab[i].BornHost, slab[i].StoreHost} {
				Expect(cap(b)).To(Equal(len(b)))
			}
		}
	})

	It("get back their topic when they come from the retry topic, and only then", func() {
		retried := func(m *messages.Message) {
			m.Topic = "%RETRY%billing"
			m.SetProperty(messages.PropertyRetryTopic, "orders")
		}
		bare := func(m *messages.Message) { m.Topic = "%RETRY%billing" }
		records := append(record(retried), record(bare)...)
		slab := decodeAll(records, wire.DecodeOptions{Topic: "%RETRY%billing"})
		Expect(slab[0].Topic).To(Equal("orders"))
		Expect(slab[1].Topic).To(Equal("%RETRY%billing"))
		other := decodeAll(record(func(m *messages.Message) { m.SetProperty(messages.PropertyRetryTopic, "x") }), wire.DecodeOptions{Topic: "orders"})
		Expect(other[0].Topic).To(Equal("orders"))
	})

	It("overwrite whatever was in a slab that is used again", func() {
		full := record(func(m *messages.Message) {
			m.ReconsumeTimes, m.PreparedTransactionOffset, m.BodyCrc, m.Flag = 3, 4, 5, 6
		})
		slab := decodeAll(append(full, full...), wire.DecodeOptions{Topic: "orders", Broker: "b", QueueID: 1})
		first := &slab[0]
		again, _, err := wire.DecodeMessages(slab[:0], unhex(vectorRecord), &wire.DecodeOptions{Topic: "T"})
		Expect(err).NotTo(HaveOccurred())
		Expect(&again[0]).To(BeIdenticalTo(first))
		want := decodeAll(unhex(vectorRecord), wire.DecodeOptions{Topic: "T"})
		Expect(again[0].Clone()).To(Equal(want[0].Clone()))
	})

	When("a record is damaged", func() {
		// damage decodes three records, the middle one damaged.
		damage := func(change func(rec []byte), o wire.DecodeOptions) ([]int64, []wire.Corrupt, error) {
			middle := record(at(8))
			change(middle)
			records := append(append(record(at(7)), middle...), record(at(9))...)
			slab, corrupt, err := wire.DecodeMessages(nil, records, &o)
			var offsets []int64
			for i := range slab {
				offsets = append(offsets, slab[i].QueueOffset)
			}
			return offsets, corrupt, err
		}

		DescribeTable("delivers the others and reports it", func(offset int, change func([]byte), reason string) {
			offsets, corrupt, err := damage(change, wire.DecodeOptions{VerifyCRC: true})
			Expect(err).NotTo(HaveOccurred())
			Expect(offsets).To(Equal([]int64{7, 9}))
			Expect(corrupt).To(HaveLen(1))
			Expect(corrupt[0].QueueOffset).To(BeEquivalentTo(offset))
			Expect(corrupt[0].Position).To(Equal(len(record(nil))))
			Expect(corrupt[0].Size).To(Equal(len(record(nil))))
			Expect(corrupt[0].Err).To(MatchError(ContainSubstring(reason)))
		},
			Entry("magic", -1, func(b []byte) { b[5]++ }, "magic"),
			Entry("queue offset", -1, func(b []byte) { b[20] = 0xFF }, "queue offset"),
			Entry("negative body length", 8, func(b []byte) { b[84] = 0xFF }, "body of"),
			Entry("body length beyond the record", 8, func(b []byte) { b[86] = 1 }, "body of"),
			Entry("topic length beyond the record", 8, func(b []byte) { b[93] = 127 }, "topic of"),
			Entry("negative topic length", 8, func(b []byte) { b[93] = 200 }, "topic of"),
			Entry("properties beyond the record", 8, func(b []byte) { b[100]++ }, "properties of"),
			Entry("negative properties length", 8, func(b []byte) { b[100] = 0xFF }, "properties of"),
			Entry("compressed, but it is not", 8, func(b []byte) { b[39] = 1 }, "decompress"),
			Entry("an inner batch, but it is not", 8, func(b []byte) { b[39] = 0x80 }, "inner batch"),
			Entry("checksum", 8, func(b []byte) { b[11] = 1 }, "checksum"),
		)

		It("delivers what came before it if its size cannot be right", func() {
			for _, size := range []byte{0, 3, 0xFF} {
				offsets, corrupt, err := damage(func(b []byte) { b[0], b[3] = size, 90 }, wire.DecodeOptions{})
				if size == 0 {
					Expect(offsets).To(Equal([]int64{7}))
				}
				Expect(err).To(MatchError(ContainSubstring("claims")))
				Expect(corrupt).To(HaveLen(1))
				Expect(corrupt[0].Size).To(Equal(2 * len(record(nil))))
			}
		})

		It("reports an incomplete tail", func() {
			records := append(record(at(7)), record(at(8))[:40]...)
			slab, corrupt, err := wire.DecodeMessages(nil, records, &wire.DecodeOptions{})
			Expect(err).To(HaveOccurred())
			Expect(slab).To(HaveLen(1))
			Expect(corrupt[0].Size).To(Equal(40))
		})
	})

	It("cannot be written with fields that do not fit", func() {
		for _, m := range []*messages.Message{
			{Topic: strings.Repeat("x", 40000)},
			{RawProperties: make([]byte, 40000)},
			{BornHost: []byte{1}},
			{StoreHost: []byte{1}},
		} {
			out, err := wire.AppendMessage([]byte("x"), m)
			Expect(err).To(HaveOccurred())
			Expect(out).To(Equal([]byte("x")))
		}
	})
})

var _ = Describe("A send batch", func() {
	vector := `00000031 00000000 00000000 00000000 00000002 6231 0019 4B455953014B31025741495401747275650254414753014102
00000032 00000000 00000000 00000000 00000003 623232 0019 4B455953014B32025741495401747275650254414753014202`

	It("has the bytes of the vector", func() {
		var b []byte
		for _, p := range []wire.BatchPart{
			{Body: []byte("b1"), Properties: []byte("KEYS\x01K1\x02WAIT\x01true\x02TAGS\x01A\x02")},
			{Body: []byte("b22"), Properties: []byte("KEYS\x01K2\x02WAIT\x01true\x02TAGS\x01B\x02")},
		} {
			var err error
			b, err = wire.AppendBatch(b, p)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(b).To(Equal(unhex(vector)))
		list, err := wire.DecodeBatch(b)
		Expect(err).NotTo(HaveOccurred())
		Expect(list).To(HaveLen(2))
		Expect(list[1].Body).To(Equal([]byte("b22")))
		Expect(list[1].Tag()).To(Equal("B"))
		for i := range list {
			Expect(cap(list[i].Body)).To(Equal(len(list[i].Body)))
			Expect(cap(list[i].RawProperties)).To(Equal(len(list[i].RawProperties)))
		}
	})

	It("of Apache's client is taken apart and put together", func() {
		n := 0
		for _, g := range goldenFrames() {
			if g.BodyKind != "sendBatch" {
				continue
			}
			n++
			c, err := decode(g.bytes)
			Expect(err).NotTo(HaveOccurred())
			Expect(wire.CountBatch(c.Body)).To(Equal(len(g.Messages)))
			list, err := wire.DecodeBatch(c.Body)
			Expect(err).NotTo(HaveOccurred())
			var again []byte
			for i, want := range g.Messages {
				Expect(hex.EncodeToString(list[i].Body)).To(Equal(want.BodyHex))
				Expect(maps.Collect(list[i].Properties())).To(Equal(want.Properties))
				again, err = wire.AppendBatch(again, wire.BatchPart{Flag: list[i].Flag, Body: list[i].Body, Properties: list[i].RawProperties})
				Expect(err).NotTo(HaveOccurred())
			}
			Expect(again).To(Equal(c.Body))
		}
		Expect(n).To(BeNumerically(">", 2))
	})

	DescribeTable("that is damaged is refused", func(change func([]byte) []byte) {
		_, err := wire.DecodeBatch(change(unhex(vector)))
		Expect(err).To(HaveOccurred())
	},
		Entry("cut", func(b []byte) []byte { return b[:len(b)-1] }),
		Entry("size too small", func(b []byte) []byte { b[3] = 5; return b }),
		Entry("body too long", func(b []byte) []byte { b[19] = 0xFF; return b }),
		Entry("properties too long", func(b []byte) []byte { b[23] = 0xFF; return b }),
	)
})
