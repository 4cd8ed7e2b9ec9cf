package messages_test

import (
	"encoding/hex"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/messages"
)

func withText(text string) *messages.Message { return &messages.Message{RawProperties: []byte(text)} }

var _ = Describe("Properties", Label("A42"), func() {
	DescribeTable("are what Java reads", func(text string, want map[string]string) {
		m := withText(text)
		Expect(maps.Collect(m.Properties())).To(Equal(want))
		for name, value := range want {
			Expect(m.Property(name)).To(Equal(value))
		}
		Expect(m.Property("missing")).To(BeEmpty())
		Expect(m.Property("")).To(BeEmpty())
	},
		Entry("none", "", map[string]string{}),
		Entry("with the last separator", "x\x01y\x02TAGS\x01TagA\x02", map[string]string{"x": "y", "TAGS": "TagA"}),
		Entry("without the last separator", "x\x01y\x02TAGS\x01TagA", map[string]string{"x": "y", "TAGS": "TagA"}),
		Entry("with entries that have no name, no value or neither", "a\x01b\x02c\x01\x02\x01d\x02ee\x01f", map[string]string{"a": "b", "ee": "f"}),
		Entry("with a name's end within the value", "k\x01v\x01w\x02", map[string]string{"k": "v\x01w"}),
		Entry("with a name twice: the last counts", "k\x011\x02a\x01b\x02k\x012\x02", map[string]string{"k": "2", "a": "b"}),
		Entry("with a name twice, the second time without value", "k\x011\x02k\x01\x02", map[string]string{"k": "1"}),
		Entry("with names that begin alike", "TAGSX\x011\x02XTAGS\x012\x02TAGS\x013\x02", map[string]string{"TAGSX": "1", "XTAGS": "2", "TAGS": "3"}),
		Entry("with text beyond ASCII", "schlüssel\x01wert世😀\x02", map[string]string{"schlüssel": "wert世😀"}),
		Entry("with words that are no entry", "nonsense\x02\x02\x02a\x01b", map[string]string{"a": "b"}),
	)

	It("may be 32 KiB long", func() {
		value := strings.Repeat("v", 32<<10)
		m := withText("first\x01" + value + "\x02last\x01x\x02")
		Expect(m.Property("first")).To(Equal(value))
		Expect(m.Property("last")).To(Equal("x"))
	})

	It("have the bytes of the vector", func() {
		m := messages.NewMessage("T", nil).WithProperty("x", "y").WithTag("TagA")
		Expect(hex.EncodeToString(m.RawProperties)).To(Equal("7801790254414753015461674102"))
	})

	It("can be looked up without allocating", func() {
		m := withText("a\x01b\x02KEYS\x01k1 k2\x02TAGS\x01TagA\x02")
		Expect(testing.AllocsPerRun(100, func() { m.RetryTopicBytes() })).To(BeZero())
		Expect(testing.AllocsPerRun(100, func() {
			if m.Tag() != "TagA" {
				panic("tag")
			}
		})).To(BeNumerically("<=", 1))
	})

	It("end early when the loop does", func() {
		n := 0
		for range withText("a\x01b\x02c\x01d\x02").Properties() {
			n++
			break
		}
		Expect(n).To(Equal(1))
	})
})

var _ = Describe("A received message", func() {
	newMessage := func() *messages.Message {
		return &messages.Message{
			Topic: "orders", Body: []byte("body"), Broker: "broker-a", QueueId: 3, QueueOffset: 5, CommitLogOffset: 1000,
			Flag: 1, SysFlag: 2, BornTimestamp: 1700000000000, StoreTimestamp: 1700000000001, ReconsumeTimes: 4,
			PreparedTransactionOffset: 6, BodyCrc: 7,
			BornHost:      messages.HostBytes(netip.MustParseAddrPort("10.0.0.9:5000")),
			StoreHost:     messages.HostBytes(netip.MustParseAddrPort("10.0.0.1:10911")),
			RawProperties: []byte("KEYS\x01 k1  k2\x02DELAY\x013\x02RETRY_TOPIC\x01orders\x02"),
		}
	}

	It("tells its ids", func() {
		m := newMessage()
		Expect(m.OffsetID()).To(Equal("0A00000100002A9F00000000000003E8"))
		Expect(m.MessageID()).To(Equal(m.OffsetID()))
		m.SetProperty(messages.PropertyUniqueKey, "AC")
		Expect(m.MessageID()).To(Equal("AC"))
		Expect((&messages.Message{}).OffsetID()).To(BeEmpty())
	})

	It("tells addresses, times, keys, delay level and retry topic", func() {
		m := newMessage()
		Expect(m.BornAddr().String()).To(Equal("10.0.0.9:5000"))
		Expect(m.StoreAddr().String()).To(Equal("10.0.0.1:10911"))
		Expect(m.BornTime()).To(BeTemporally("==", time.UnixMilli(1700000000000)))
		Expect(m.StoreTime().Sub(m.BornTime())).To(Equal(time.Millisecond))
		Expect(m.Keys()).To(Equal([]string{"k1", "k2"}))
		Expect(m.DelayLevel()).To(Equal(3))
		Expect(m.RetryTopic()).To(Equal("orders"))
		Expect(m.Tag()).To(BeEmpty())
		m.BornHost = messages.HostBytes(netip.MustParseAddrPort("[2001:db8::1]:5000"))
		Expect(m.BornHost).To(HaveLen(20))
		Expect(m.BornAddr().String()).To(Equal("[2001:db8::1]:5000"))
	})

	It("tells nothing when it knows nothing", func() {
		var m messages.Message
		Expect(m.BornAddr().IsValid()).To(BeFalse())
		Expect(m.StoreTime().IsZero()).To(BeTrue())
		Expect(m.DelayLevel()).To(BeZero())
		Expect(m.Keys()).To(BeEmpty())
		Expect((*messages.Message)(nil).Clone()).To(BeNil())
	})

	It("is copied deeply", func() {
		m := newMessage()
		c := m.Clone()
		Expect(proto.Equal(c, m)).To(BeTrue())
		for _, b := range [][]byte{m.Body, m.RawProperties, m.BornHost, m.StoreHost} {
			clear(b)
		}
		Expect(c.Body).To(Equal([]byte("body")))
		Expect(c.RetryTopic()).To(Equal("orders"))
		Expect(c.OffsetID()).To(Equal("0A00000100002A9F00000000000003E8"))
		Expect(c.BornAddr().Port()).To(BeEquivalentTo(5000))
	})

	It("is copied with every field the type has", func() {
		m := newMessage()
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			Expect(m.ProtoReflect().Has(fields.Get(i))).To(BeTrue(), "give newMessage the field %s", fields.Get(i).Name())
		}
	})
})

var _ = Describe("A message to be published", func() {
	It("takes tag, keys, properties and delay level, the last value winning", func() {
		m := messages.NewMessage("orders", []byte("x")).WithTag("a").WithKeys("k1", "k2").WithProperty("p", "1").WithDelayLevel(3).
			WithTag("b").WithProperty("p", "2")
		Expect(m.Validate()).To(Succeed())
		Expect(maps.Collect(m.Properties())).To(Equal(map[string]string{"TAGS": "b", "KEYS": "k1 k2", "p": "2", "DELAY": "3"}))
		m.WithTag("").WithKeys().WithDelayLevel(0)
		Expect(maps.Collect(m.Properties())).To(Equal(map[string]string{"p": "2"}))
	})

	It("adds to properties that lack the last separator", func() {
		m := withText("a\x01b")
		m.Topic = "t"
		Expect(maps.Collect(m.WithTag("x").Properties())).To(Equal(map[string]string{"a": "b", "TAGS": "x"}))
	})

	It("does not write into properties that another message shares", func() {
		shared := make([]byte, 0, 100)
		shared = append(shared, "a\x01b\x02"...)
		one, other := &messages.Message{RawProperties: shared}, &messages.Message{RawProperties: shared}
		one.WithTag("one")
		other.WithTag("other")
		Expect(one.Tag()).To(Equal("one"))
	})

	DescribeTable("is faulted, and stores nothing wrong", func(build func() *messages.Message, fault string) {
		m := build()
		Expect(m.Validate()).To(MatchError(ContainSubstring(fault)))
		Expect(m.Property("injected")).To(BeEmpty())
	},
		Entry("without topic", func() *messages.Message { return messages.NewMessage("", nil) }, "topic is empty"),
		Entry("with too long a topic", func() *messages.Message { return messages.NewMessage(strings.Repeat("x", 128), nil) }, "topic has 128 bytes"),
		Entry("with a strange topic", func() *messages.Message { return messages.NewMessage("a b", nil) }, "other than letters"),
		Entry("with too large a body", func() *messages.Message { return messages.NewMessage("t", make([]byte, messages.MaxBodySize+1)) }, "body has"),
		Entry("with too many properties", func() *messages.Message {
			return messages.NewMessage("t", nil).WithProperty("p", strings.Repeat("x", 40000))
		}, "properties have"),
		Entry("with a separator in a value", func() *messages.Message {
			return messages.NewMessage("t", nil).WithProperty("p", "x\x02injected\x01y")
		}, `property "p" has no name, or one of the characters`),
		Entry("with a separator in a name", func() *messages.Message {
			return messages.NewMessage("t", nil).WithProperty("injected\x01y\x02p", "x")
		}, "or one of the characters"),
		Entry("with a separator in the tag", func() *messages.Message { return messages.NewMessage("t", nil).WithTag("x\x02injected\x01y") }, "TAGS"),
		Entry("with a reserved name", func() *messages.Message { return messages.NewMessage("t", nil).WithProperty("UNIQ_KEY", "x") }, "UNIQ_KEY is reserved"),
		Entry("with a blank name", func() *messages.Message { return messages.NewMessage("t", nil).WithProperty(" ", "x") }, "blank"),
		Entry("with an empty value", func() *messages.Message { return messages.NewMessage("t", nil).WithProperty("p", "") }, "empty value"),
		Entry("with a blank in a key", func() *messages.Message { return messages.NewMessage("t", nil).WithKeys("a b") }, `key "a b"`),
		Entry("with a negative delay level", func() *messages.Message { return messages.NewMessage("t", nil).WithDelayLevel(-1) }, "delay level"),
		Entry("with torn property text", func() *messages.Message {
			m := withText("nonsense\x02")
			m.Topic = "t"
			return m
		}, "no name or no value"),
	)

	It("reports all its faults at once", func() {
		err := messages.NewMessage("", nil).WithKeys("").WithProperty("TAGS", "x").Validate()
		Expect(err).To(MatchError(And(ContainSubstring("topic is empty"), ContainSubstring(`key ""`), ContainSubstring("TAGS is reserved"))))
	})
})

// javaProperties is the rule of protocol.md 4.3, word by word.
func javaProperties(text string) map[string]string {
	m := map[string]string{}
	for _, entry := range strings.Split(text, "\x02") {
		name, value, ok := strings.Cut(entry, "\x01")
		if ok && name != "" && value != "" {
			m[name] = value
		}
	}
	return m
}

// FuzzProperties: any bytes are read as Java reads them, and a property that is set is there afterwards, with the others.
func FuzzProperties(f *testing.F) {
	for _, text := range []string{
		"", "x\x01y\x02TAGS\x01TagA\x02", "a\x01b\x02c\x01\x02\x01d\x02ee\x01f", "k\x01v\x01w\x02", "k\x011\x02k\x012", "\x02\x02", "\x01\x01\x01",
	} {
		f.Add([]byte(text), "TAGS", "v")
	}
	f.Fuzz(func(t *testing.T, text []byte, name, value string) {
		want := javaProperties(string(text))
		m := &messages.Message{RawProperties: text}
		if got := maps.Collect(m.Properties()); !maps.Equal(got, want) {
			t.Fatalf("%q gives %q, want %q", text, got, want)
		}
		for k, v := range want {
			if got := m.Property(k); got != v {
				t.Fatalf("%q in %q is %q, want %q", k, text, got, v)
			}
		}
		m.SetProperty(name, value)
		if name != "" && !strings.ContainsAny(name+value, "\x01\x02") {
			delete(want, name)
			if value != "" {
				want[name] = value
			}
		}
		if got := maps.Collect(m.Properties()); !maps.Equal(got, want) {
			t.Fatalf("%q with %q=%q gives %q, want %q", text, name, value, got, want)
		}
	})
}
