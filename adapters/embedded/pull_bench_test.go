package embedded_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// BenchmarkPull drains 8 queues of 256-byte messages over loopback, one pull of 32 after the other for each queue, without
// decoding anything: the raw loop that bounds every client. It reports messages per second.
func BenchmarkPull(b *testing.B) {
	const queues, perQueue = 8, 25_000
	ctx := context.Background()
	broker, err := embedded.Start(ctx, embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	if err := broker.CreateTopic("Load", queues); err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 256)
	list := make([]*messages.Message, queues*perQueue)
	for k := range list {
		list[k] = messages.NewMessage("Load", body)
	}
	if err := broker.Publish(list...); err != nil {
		b.Fatal(err)
	}
	client := remoting.NewClient(remoting.ClientConfig{})
	defer func() { _ = client.Close() }()
	var total atomic.Int64
	b.ReportAllocs()
	for b.Loop() {
		var wg sync.WaitGroup
		for queue := range queues {
			wg.Go(func() {
				for offset := int64(0); offset < perQueue; {
					cmd := wire.NewRequest(wire.PullMessage)
					h := wire.PullRequestHeader{
						Group: "load", Topic: "Load", QueueID: int32(queue), QueueOffset: offset, MaxMessages: 32,
						SysFlag: wire.PullSubscription, Subscription: "*", ExpressionType: wire.ExpressionTag,
					}
					h.AppendTo(&cmd.Ext)
					answer, err := client.Call(ctx, broker.Addr(), cmd)
					if err == nil && answer.Code != int32(wire.Success) {
						err = fmt.Errorf("%d %s", answer.Code, answer.Remark)
					}
					if err != nil {
						b.Error(err)
						return
					}
					next, err := answer.Ext.Int("nextBeginOffset")
					if err != nil {
						b.Error(err)
						return
					}
					total.Add(next - offset)
					offset = next
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(total.Load())/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkPublish stores 256-byte messages directly.
func BenchmarkPublish(b *testing.B) {
	broker, err := embedded.Start(context.Background(), embedded.Config{RetainBytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	list := make([]*messages.Message, 1000)
	for k := range list {
		list[k] = messages.NewMessage("Load", make([]byte, 256))
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := broker.Publish(list...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(list))/b.Elapsed().Seconds(), "messages/s")
}
