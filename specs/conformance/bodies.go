package conformance

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/wire"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Bodies specifies that a body reaches the handler as its producer had it, whatever form it was stored in.
func Bodies(cluster func(ctx context.Context) Cluster) {
	// arriving gives what a new group gets of n messages.
	arriving := func(ctx context.Context, b *bench, n int) []*troupe.Message {
		GinkgoHelper()
		got := make(chan *troupe.Message, n+1)
		rt := b.runtime()
		rt.Concurrent(b.group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
			Handle(b.topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error { got <- m; return nil })
		started(ctx, rt)
		var out []*troupe.Message
		for range n {
			var m *troupe.Message
			Eventually(got, within).Should(Receive(&m))
			out = append(out, m)
		}
		return out
	}

	DescribeTable("unpacks a body that its producer had packed",
		func(ctx SpecContext, c wire.Compression) {
			b := newBench(ctx, cluster(ctx), 1)
			text := bytes.Repeat([]byte("a body that can be packed, "), 1000)
			packed, err := wire.Compress(c, text)
			Expect(err).NotTo(HaveOccurred())
			Expect(len(packed)).To(BeNumerically("<", len(text)/10))
			m := troupe.NewMessage(b.topic, packed).WithTag("packed")
			m.SysFlag = c.SysFlag()
			p := b.publisher(ctx, troupe.PublisherConfig{})
			_, err = p.Send(ctx, m)
			Expect(err).NotTo(HaveOccurred())
			_, err = p.Send(ctx, troupe.NewMessage(b.topic, text).WithTag("plain"))
			Expect(err).NotTo(HaveOccurred())
			for _, m := range arriving(ctx, b, 2) {
				Expect(bytes.Equal(m.GetBody(), text)).To(BeTrue(), "the %s message", m.Tag())
			}
		},
		Entry("with zlib, as clients before 5.0 mark it", wire.LegacyZlib, SpecTimeout(time.Minute)),
		Entry("with zlib", wire.Zlib, SpecTimeout(time.Minute)),
		Entry("with LZ4", wire.LZ4, SpecTimeout(time.Minute)),
		Entry("with zstd", wire.Zstd, SpecTimeout(time.Minute)),
	)

	DescribeTable("takes and gives any bytes",
		func(ctx SpecContext, body []byte) {
			b := newBench(ctx, cluster(ctx), 1)
			_, err := b.publisher(ctx, troupe.PublisherConfig{Timeout: 10 * time.Second}).Send(ctx, troupe.NewMessage(b.topic, body))
			Expect(err).NotTo(HaveOccurred())
			Expect(bytes.Equal(arriving(ctx, b, 1)[0].GetBody(), body)).To(BeTrue())
		},
		Entry("one zero byte", []byte{0}, SpecTimeout(time.Minute)),
		Entry("what looks like the start of a record", []byte{0, 0, 0, 91, 0xDA, 0xA3, 0x20, 0xA7}, SpecTimeout(time.Minute)),
		Entry("two megabytes of noise, far beyond what a pull should bring", noise(2<<20), SpecTimeout(time.Minute)),
	)
}

func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // no secret
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(rng.Uint32())
	}
	return out
}
