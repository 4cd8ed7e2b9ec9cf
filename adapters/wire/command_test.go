package wire_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// unhex reads hexadecimal with blanks in it.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	must(err)
	return b
}

func sha(b []byte) string {
	sum := sha1.Sum(b)
	return hex.EncodeToString(sum[:])
}

func fieldsOf(c *wire.Command) map[string]string {
	m := maps.Collect(c.Ext.All())
	if len(m) == 0 {
		return nil
	}
	return m
}

// decode takes a frame with its length.
func decode(frame []byte) (*wire.Command, error) {
	c := &wire.Command{}
	return c, wire.DecodeCommand(frame[4:], c)
}

var _ = Describe("A command", func() {
	When("it was sent by Apache's clients and brokers", func() {
		It("decodes to what Apache's own decoder makes of it", func() {
			Expect(goldenFrames()).To(HaveLen(946))
			for _, g := range goldenFrames() {
				Expect(g.bytes).To(HaveLen(g.FrameLen), g.File)
				Expect(binary.BigEndian.Uint32(g.bytes)).To(BeEquivalentTo(len(g.bytes)-4), g.File)
				c, err := decode(g.bytes)
				Expect(err).NotTo(HaveOccurred(), g.File)
				Expect(c.Code).To(Equal(g.Code), g.File)
				Expect(c.Language.String()).To(Equal(g.Language), g.File)
				Expect(c.Version).To(Equal(g.Version), g.File)
				Expect(c.Opaque).To(Equal(g.Opaque), g.File)
				Expect(c.Flag).To(Equal(g.Flag), g.File)
				Expect(c.IsOneWay()).To(Equal(g.OneWay), g.File)
				Expect(c.IsResponse()).To(Equal(!g.request()), g.File)
				Expect(c.Remark).To(Equal(g.Remark), g.File)
				Expect(c.Serialize == wire.ROCKETMQ).To(Equal(g.HeaderFormat != "JSON"), g.File)
				want := g.ExtFields
				if len(want) == 0 {
					want = nil
				}
				Expect(fieldsOf(c)).To(Equal(want), g.File)
				Expect(c.Ext.Len()).To(Equal(len(want)), g.File)
				Expect(c.Body).To(HaveLen(g.BodyLen), g.File)
				if g.BodyLen > 0 {
					Expect(sha(c.Body)).To(Equal(g.BodySha1), g.File)
					Expect(cap(c.Body)).To(Equal(len(c.Body)), g.File)
				}
			}
		})

		It("encodes to a frame that decodes to the same, in either encoding", func() {
			for _, g := range goldenFrames() {
				c, err := decode(g.bytes)
				Expect(err).NotTo(HaveOccurred(), g.File)
				for _, s := range []wire.SerializeType{wire.JSON, wire.ROCKETMQ} {
					c.Serialize = s
					frame, err := c.AppendFrame([]byte("before"))
					if g.Code > 32767 && s == wire.ROCKETMQ {
						Expect(err).To(MatchError(ContainSubstring("does not fit")), g.File)
						Expect(frame).To(Equal([]byte("before")))
						continue
					}
					Expect(err).NotTo(HaveOccurred(), g.File)
					Expect(string(frame[:6])).To(Equal("before"))
					frame = frame[6:]
					Expect(binary.BigEndian.Uint32(frame)).To(BeEquivalentTo(len(frame) - 4))
					again, err := decode(frame)
					Expect(err).NotTo(HaveOccurred(), g.File)
					Expect(again.Serialize).To(Equal(s))
					Expect(again.Code).To(Equal(g.Code), g.File)
					Expect(again.Language.String()).To(Equal(g.Language), g.File)
					Expect(again.Version).To(Equal(g.Version), g.File)
					Expect(again.Opaque).To(Equal(g.Opaque), g.File)
					Expect(again.Flag).To(Equal(g.Flag), g.File)
					Expect(again.Remark).To(Equal(g.Remark), g.File)
					Expect(fieldsOf(again)).To(Equal(fieldsOf(c)), g.File)
					Expect(again.Body).To(Equal(c.Body), g.File)
				}
			}
		})
	})

	When("it is written", func() {
		newCommand := func(s wire.SerializeType) *wire.Command {
			c := wire.NewRequest(wire.HeartBeat)
			c.Opaque, c.Serialize = 1, s
			c.Ext.Set("a", "b")
			return c
		}

		It("has the bytes of the binary vector", func() {
			Expect(newCommand(wire.ROCKETMQ).AppendFrame(nil)).To(Equal(unhex(
				"00000021 0100001D 0022 09 01DF 00000001 00000000 00000000 00000008 0001 61 00000001 62")))
		})

		It("has the bytes of the JSON vector", func() {
			text := `{"code":34,"extFields":{"a":"b"},"flag":0,"language":"GO","opaque":1,"serializeTypeCurrentRPC":"JSON","version":479}`
			Expect(newCommand(wire.JSON).AppendFrame(nil)).To(Equal(append(unhex("00000078 00000074"), text...)))
		})

		It("escapes what JSON does not allow in text", func() {
			c := wire.NewRequest(wire.SendMessageV2)
			c.Ext.Set("i", "k\x01v\x02\"\\\n\t\r\x7fé世😀")
			c.Remark = "bad \xff byte"
			frame, err := c.AppendFrame(nil)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(frame)).To(ContainSubstring(`"k\u0001v\u0002\"\\\n\t\r` + "\x7fé世😀\""))
			again, err := decode(frame)
			Expect(err).NotTo(HaveOccurred())
			Expect(again.Ext.Text("i")).To(Equal("k\x01v\x02\"\\\n\t\r\x7fé世😀"))
			Expect(again.Remark).To(Equal("bad \uFFFD byte"))
		})

		It("keeps a negative code in 16 bits", func() {
			c := wire.NewResponse(-1004, "")
			c.Serialize = wire.ROCKETMQ
			frame, err := c.AppendFrame(nil)
			Expect(err).NotTo(HaveOccurred())
			again, err := decode(frame)
			Expect(err).NotTo(HaveOccurred())
			Expect(again.Code).To(BeEquivalentTo(-1004))
		})

		It("refuses a frame of more than 16 MiB", func() {
			c := wire.NewRequest(wire.SendMessageV2)
			c.Body = make([]byte, wire.MaxFrame)
			frame, err := c.AppendFrame(nil)
			Expect(err).To(MatchError(wire.ErrFrameTooLarge))
			Expect(frame).To(BeEmpty())
		})

		It("says what kind it is", func() {
			c := wire.NewRequest(wire.UpdateConsumerOffset)
			Expect(c.IsResponse()).To(BeFalse())
			c.MarkOneWay()
			Expect(c.Flag).To(BeEquivalentTo(2))
			r := wire.NewResponse(wire.SystemBusy, "later")
			Expect(r.IsResponse()).To(BeTrue())
			Expect(r.Flag).To(BeEquivalentTo(1))
			Expect(r.Remark).To(Equal("later"))
			Expect(r.Version).To(BeEquivalentTo(479))
			Expect(r.Language).To(Equal(wire.Go))
		})
	})

	header := func(text string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
	}

	DescribeTable("is read with tolerance", func(text string, check func(*wire.Command)) {
		var c wire.Command
		Expect(wire.DecodeCommand(header(text), &c)).To(Succeed())
		check(&c)
	},
		Entry("unknown keys, any depth", `{"code":11,"new":{"x":[1,{"y":null}]},"opaque":7}`, func(c *wire.Command) {
			Expect(c.Code).To(BeEquivalentTo(11))
			Expect(c.Opaque).To(BeEquivalentTo(7))
		}),
		Entry("null everywhere", `{"code":0,"extFields":null,"remark":null,"language":null,"version":null}`, func(c *wire.Command) {
			Expect(c.Ext.Len()).To(BeZero())
			Expect(c.Remark).To(BeEmpty())
		}),
		Entry("null, number and boolean as ext values", `{"code":0,"extFields":{"a":null,"b":5,"c":true,"d":""}}`, func(c *wire.Command) {
			Expect(fieldsOf(c)).To(Equal(map[string]string{"b": "5", "c": "true", "d": ""}))
			Expect(c.Ext.Int("b")).To(BeEquivalentTo(5))
			Expect(c.Ext.Bool("c")).To(BeTrue())
		}),
		Entry("white space and escapes", " {\n\t\"code\" : 1 , \"remark\" : \"a\\u00e9\\ud83d\\ude00\\/\\x41\" } ", func(c *wire.Command) {
			Expect(c.Remark).To(Equal("aé😀/A"))
		}),
		Entry("a repeated name: the last counts, as in a Java map", `{"extFields":{"a":"1","a":"2"}}`, func(c *wire.Command) {
			Expect(c.Ext.Text("a")).To(Equal("2"))
		}),
		Entry("a language of the future", `{"code":1,"language":"KLINGON"}`, func(c *wire.Command) {
			Expect(c.Language).To(Equal(wire.Other))
		}),
		Entry("an escaped name", `{"extFields":{"\u0061":"1"}}`, func(c *wire.Command) {
			Expect(c.Ext.Int("a")).To(BeEquivalentTo(1))
		}),
	)

	DescribeTable("is refused", func(frame []byte, reason string) {
		var c wire.Command
		Expect(wire.DecodeCommand(frame, &c)).To(MatchError(ContainSubstring(reason)))
	},
		Entry("empty", []byte{}, "no header length"),
		Entry("header longer than the frame", unhex("000000FF 7B7D"), "header of 255 bytes in a frame of 6"),
		Entry("unknown serialize type", unhex("02000000"), "unknown serialize type 2"),
		Entry("no JSON", header(`hello`), "want an object"),
		Entry("unfinished JSON", header(`{"code":1,"extFields":{"a":"b"`), "unexpected end"),
		Entry("bytes behind the header", header(`{"code":1} x`), "want end"),
		Entry("a code that is no number", header(`{"code":"x"}`), `code is "x"`),
		Entry("a code beyond 32 bits", header(`{"code":4294967296}`), "code is"),
		Entry("ext fields without end", header(`{"extFields":{`+strings.Repeat(`"a":"",`, 5000)+`}}`), "more than 4096 ext fields"),
		Entry("nested without end", header(strings.Repeat(`{"a":`, 100000)), "nested too deep"),
		Entry("objects as keys without end", header(strings.Repeat(`{`, 100000)), "nested too deep"),
		Entry("a short binary header", unhex("01000003 000000"), "binary header of 3 bytes"),
		Entry("a binary remark beyond the header", unhex("01000015 0022 09 01DF 00000001 00000000 FFFFFFFF 00000000"), "remark"),
		Entry("binary ext fields beyond the header", unhex("01000015 0022 09 01DF 00000001 00000000 00000000 00000001"), "ext fields"),
		Entry("a binary ext field beyond the others", unhex("0100001D 0022 09 01DF 00000001 00000000 00000000 00000008 0001 61 000000FF 62"), "malformed ext field"),
	)
})

var _ = Describe("Ext fields", func() {
	It("replace a value, whatever its kind, and keep their order", func() {
		var e wire.Ext
		e.SetInt("n", -5)
		e.Set("t", "text")
		e.SetBool("b", true)
		e.SetInt("n", 6)
		Expect(e.Int("n")).To(BeEquivalentTo(6))
		Expect(e.Bool("b")).To(BeTrue())
		Expect(e.Bool("t")).To(BeFalse())
		Expect(e.IntOr("missing", 9)).To(BeEquivalentTo(9))
		e.Delete("t")
		var names []string
		for k := range e.All() {
			names = append(names, k)
		}
		Expect(names).To(Equal([]string{"n", "b"}))
	})

	It("name the field that is missing or malformed", func() {
		var e wire.Ext
		e.Set("offset", "12x")
		_, err := e.Int("offset")
		var field *wire.FieldError
		Expect(errors.As(err, &field)).To(BeTrue())
		Expect(*field).To(Equal(wire.FieldError{Field: "offset", Value: "12x"}))
		_, err = e.Int("queueId")
		Expect(err).To(MatchError("field queueId is missing"))
	})

	It("can be changed after they came from a frame", func() {
		c, err := decode(golden(11, true)[0].bytes)
		Expect(err).NotTo(HaveOccurred())
		n := c.Ext.Len()
		c.Ext.SetInt("queueId", 42)
		c.Ext.Set("new", "x")
		Expect(c.Ext.Len()).To(Equal(n + 1))
		Expect(c.Ext.Int("queueId")).To(BeEquivalentTo(42))
		Expect(c.Ext.Text("consumerGroup")).To(Equal(golden(11, true)[0].ExtFields["consumerGroup"]))
	})

	It("read the numbers Java reads", func() {
		var e wire.Ext
		for text, want := range map[string]int64{"0": 0, "-1": -1, "+7": 7, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63} {
			e.Set("n", text)
			Expect(e.Int("n")).To(Equal(want), text)
		}
		for _, text := range []string{"", "-", "1.0", " 1", "9223372036854775808", "-9223372036854775809", "0x1", "99999999999999999999"} {
			e.Set("n", text)
			_, err := e.Int("n")
			Expect(err).To(HaveOccurred(), text)
		}
	})
})

var _ = Describe("Codes", func() {
	It("have the names of the frames that Apache sent", func() {
		for _, g := range goldenFrames() {
			Expect(wire.RequestCode(g.RequestCode).String()).To(Equal(g.Name), g.File)
			if !g.request() && g.Code != 0 && g.Code != 3 { // 3 is shortened in the file's name
				Expect(g.File).To(HaveSuffix("-" + wire.ResponseCode(g.Code).String() + ".bin"))
			}
		}
	})

	It("tell whether asking again can help", func() {
		Expect(wire.SystemBusy.Retriable()).To(BeTrue())
		Expect(wire.NoPermission.Retriable()).To(BeFalse())
		Expect(wire.ResponseCode(12345).Retriable()).To(BeFalse())
		Expect(wire.ResponseCode(12345).String()).To(Equal("CODE_12345"))
		for c := range wire.ResponseCodes() {
			Expect(c.Meaning()).NotTo(BeEmpty(), c.String())
		}
		Expect(wire.FlushDiskTimeout.Stored()).To(BeTrue())
		Expect(wire.SystemError.Stored()).To(BeFalse())
	})
})
