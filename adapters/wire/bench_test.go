package wire_test

import (
	"bytes"
	"testing"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// pull32 is the body of a pull's answer: 32 messages of 256 bytes with the properties a 5.x broker stores.
func pull32(b *testing.B) []byte {
	b.Helper()
	m := messages.NewMessage("orders", bytes.Repeat([]byte("x"), 256)).WithTag("paid").WithKeys("order-4711")
	m.SetProperty(messages.PropertyUniqueKey, "7F0000010000000000000000000000000001").
		SetProperty(messages.PropertyWait, "true").
		SetProperty(messages.PropertyRegion, "DefaultRegion").
		SetProperty(messages.PropertyTraceOn, "true").
		SetProperty(messages.PropertyCluster, "DefaultCluster")
	m.BornHost, m.StoreHost = []byte{127, 0, 0, 1, 0, 0, 1, 1}, []byte{127, 0, 0, 1, 0, 0, 1, 2}
	var records []byte
	for i := range 32 {
		m.QueueOffset = int64(i)
		var err error
		if records, err = wire.AppendMessage(records, m); err != nil {
			b.Fatal(err)
		}
	}
	return records
}

// BenchmarkDecodePull32 decodes one pull into a fresh slab and into one that is used again.
func BenchmarkDecodePull32(b *testing.B) {
	records := pull32(b)
	o := &wire.DecodeOptions{Topic: "orders", Broker: "broker-a", QueueID: 3}
	run := func(b *testing.B, slab func() []messages.Message) {
		b.ReportAllocs()
		b.SetBytes(int64(len(records)))
		for b.Loop() {
			got, corrupt, err := wire.DecodeMessages(slab(), records, o)
			if err != nil || len(corrupt) > 0 || len(got) != 32 {
				b.Fatal(len(got), corrupt, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/message")
	}
	b.Run("fresh", func(b *testing.B) { run(b, func() []messages.Message { return nil }) })
	b.Run("reused", func(b *testing.B) {
		slab := make([]messages.Message, 0, 32)
		run(b, func() []messages.Message { return slab })
	})
}

// BenchmarkEncodePullRequest builds and encodes one PULL_MESSAGE.
func BenchmarkEncodePullRequest(b *testing.B) {
	h := wire.PullRequestHeader{
		Group: "billing", Topic: "orders", QueueID: 3, QueueOffset: 123456, MaxMessages: 32, SysFlag: 3, CommitOffset: 123400,
		SuspendMillis: 15000, SubVersion: 1796076214721, ExpressionType: "TAG", MaxBytes: 262144, Broker: "broker-a",
	}
	for name, s := range map[string]wire.SerializeType{"json": wire.JSON, "binary": wire.ROCKETMQ} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				c := wire.NewRequest(wire.PullMessage)
				c.Serialize = s
				h.AppendTo(&c.Ext)
				var err error
				if buf, err = c.AppendFrame(buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecodePullResponseHeader decodes the frame of a pull's answer and its header, not its messages.
func BenchmarkDecodePullResponseHeader(b *testing.B) {
	records := pull32(b)
	for name, s := range map[string]wire.SerializeType{"json": wire.JSON, "binary": wire.ROCKETMQ} {
		b.Run(name, func(b *testing.B) {
			c := wire.NewResponse(wire.Success, "FOUND")
			c.Serialize, c.Body = s, records
			h := wire.PullResponseHeader{NextBeginOffset: 123456, MinOffset: 1, MaxOffset: 9999999}
			h.AppendTo(&c.Ext)
			frame, err := c.AppendFrame(nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var got wire.Command
			for b.Loop() {
				if err := wire.DecodeCommand(frame[4:], &got); err != nil {
					b.Fatal(err)
				}
				if err := h.ReadFrom(&got.Ext); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTag reads the tag of a message as brokers store it.
func BenchmarkTag(b *testing.B) {
	slab, _, err := wire.DecodeMessages(nil, pull32(b), &wire.DecodeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if slab[0].Tag() != "paid" {
			b.Fatal("tag")
		}
	}
}
