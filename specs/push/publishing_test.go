package push_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	troupe "github.com/troupe-mq/troupe/runtime"
)

var _ = Describe("A Publisher in trouble", func() {
	publisher := func(ctx context.Context, b *embedded.Broker, cfg troupe.PublisherConfig) *troupe.Publisher {
		GinkgoHelper()
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		start(ctx, rt)
		return rt.Publisher(cfg)
	}

	It("says that nobody has the topic where brokers make none by themselves", func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{NoTopicCreation: true})
		_, err := publisher(ctx, b, troupe.PublisherConfig{}).Send(ctx, troupe.NewMessage("nowhere", []byte("x")))
		Expect(err).To(MatchError(troupe.ErrNoRoute))
		Expect(err).To(MatchError(And(ContainSubstring("nowhere"), ContainSubstring(b.Addr()))))
		Expect(b.Topics()).NotTo(ContainElement("nowhere"))
	}, SpecTimeout(time.Minute))

	It("passes on what the broker has against a message", func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{MaxMessageBytes: 1000})
		Expect(b.CreateTopic("t", 1)).To(Succeed())
		_, err := publisher(ctx, b, troupe.PublisherConfig{}).Send(ctx, troupe.NewMessage("t", make([]byte, 1001)))
		var refused *troupe.BrokerError
		Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
		Expect(refused.Code).To(Equal(int32(wire.MessageIllegal)))
		Expect(b.CountMessages("t")).To(BeZero())
		Expect(b.Faults().Seen(wire.SendMessageV2)).To(Equal(int64(1)), "what is wrong stays wrong: it is not tried again")
	}, SpecTimeout(time.Minute))

	It("tries again what may go well the next time, and no more often than it was told", func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{})
		Expect(b.CreateTopic("t", 2)).To(Succeed())
		p := publisher(ctx, b, troupe.PublisherConfig{Retries: 2})
		b.Faults().Answer(2, wire.SendMessageV2, wire.SystemBusy, "scripted")
		_, err := p.Send(ctx, troupe.NewMessage("t", []byte("x")))
		Expect(err).NotTo(HaveOccurred())
		Expect(b.Faults().Seen(wire.SendMessageV2)).To(Equal(int64(3)))
		Expect(b.CountMessages("t")).To(Equal(int64(1)))
		b.Faults().Answer(3, wire.SendMessageV2, wire.SystemBusy, "scripted")
		_, err = p.Send(ctx, troupe.NewMessage("t", []byte("x")))
		var refused *troupe.BrokerError
		Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
		Expect(refused.Remark).To(Equal("scripted"))
		Expect(b.Faults().Seen(wire.SendMessageV2)).To(Equal(int64(6)))
	}, SpecTimeout(time.Minute))

	It("ends with its context while the broker is silent, and goes on afterwards", func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{})
		Expect(b.CreateTopic("t", 1)).To(Succeed())
		p := publisher(ctx, b, troupe.PublisherConfig{})
		b.Faults().Add(embedded.Fault{Match: embedded.Match{Code: wire.SendMessageV2}, Times: 1, Silent: true})
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		_, err := p.Send(short, troupe.NewMessage("t", []byte("x")))
		Expect(err).To(MatchError(context.DeadlineExceeded))
		_, err = p.Send(ctx, troupe.NewMessage("t", []byte("y")))
		Expect(err).NotTo(HaveOccurred())
	}, SpecTimeout(time.Minute))

	It("says so when its Runtime does not run", func(ctx SpecContext) {
		b := broker(ctx, embedded.Config{})
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{})
		Expect(err).NotTo(HaveOccurred())
		p := rt.Publisher(troupe.PublisherConfig{})
		_, err = p.Send(ctx, troupe.NewMessage("t", []byte("x")))
		Expect(err).To(MatchError(troupe.ErrNotStarted))
		Expect(rt.Shutdown(ctx)).To(Succeed())
		_, err = p.Send(ctx, troupe.NewMessage("t", []byte("x")))
		Expect(err).To(MatchError(troupe.ErrClosed))
	}, SpecTimeout(time.Minute))
})
