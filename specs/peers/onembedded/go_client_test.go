package onembedded

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/troupe-mq/troupe/adapters/embedded"
)

const (
	topic  = "orders"
	group  = "billing"
	single = 20
	batch  = 5
)

// inbox is what the consumer has been given.
type inbox struct {
	mu      sync.Mutex
	got     []*primitive.MessageExt
	arrived chan struct{} // has a token after each arrival
}

func (i *inbox) take(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	i.mu.Lock()
	i.got = append(i.got, ms...)
	i.mu.Unlock()
	select {
	case i.arrived <- struct{}{}:
	default:
	}
	for _, m := range ms {
		if m.GetKeys() == "order-3" && m.ReconsumeTimes == 0 {
			return consumer.ConsumeRetryLater, nil
		}
	}
	return consumer.ConsumeSuccess, nil
}

// await waits until n messages have come, deliveries of the same one counted each.
func (i *inbox) await(ctx context.Context, t *testing.T, n int) []*primitive.MessageExt {
	t.Helper()
	for {
		i.mu.Lock()
		got := slices.Clone(i.got)
		i.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-i.arrived:
		case <-ctx.Done():
			t.Fatalf("%d of %d deliveries: %v", len(got), n, ctx.Err())
		}
	}
}

// The Go client publishes single messages, a batch and a delayed message, and consumes them with a tag filter; a refused message comes back,
// and what was consumed is committed when it leaves.
func TestTheGoClientPublishesAndConsumesOnTheEmbeddedBroker(t *testing.T) {
	rlog.SetLogLevel("fatal")
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	levels := make([]time.Duration, 18)
	for i := range levels {
		levels[i] = time.Second
	}
	broker, err := embedded.Start(ctx, embedded.Config{DelayLevels: levels})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := broker.CreateTopic(topic, 4); err != nil {
		t.Fatal(err)
	}

	sent := publish(ctx, t, broker.Addr())
	if n := broker.CountMessages(topic); n < int64(single+batch+1) { // one has a tag that nobody wants; the delayed one may come later
		t.Fatalf("the broker has %d messages", n)
	}

	in := &inbox{arrived: make(chan struct{}, 1)}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{broker.Addr()})), consumer.WithGroupName(group),
		consumer.WithInstance("consumer"), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "paid || late"}, in.take); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	got := in.await(ctx, t, len(sent)+1) // one of them twice
	check(t, sent, got)

	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := broker.AwaitDrained(ctx, group, topic); err != nil {
		t.Fatalf("offsets after the consumer has left: %v", err)
	}
}

// publish sends everything and returns the keys that a consumer of "paid" and "late" should see.
func publish(ctx context.Context, t *testing.T, addr string) []string {
	t.Helper()
	p, err := rocketmq.NewProducer(producer.WithNsResolver(primitive.NewPassthroughResolver([]string{addr})), producer.WithInstanceName("producer"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Shutdown(); err != nil {
			t.Error(err)
		}
	}()
	var keys []string
	message := func(tag string) *primitive.Message {
		key := fmt.Sprintf("order-%d", len(keys))
		keys = append(keys, key)
		return primitive.NewMessage(topic, []byte("body of "+key)).WithTag(tag).WithKeys([]string{key})
	}
	send := func(ms ...*primitive.Message) {
		t.Helper()
		r, err := p.SendSync(ctx, ms...)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != primitive.SendOK || r.OffsetMsgID == "" { // this client gives the messages of a batch no unique id
			t.Fatalf("answer to a send: %v", r)
		}
	}
	// The first, as this client commits past filtered messages at a queue's end only after its next long poll.
	send(primitive.NewMessage(topic, []byte("not for us")).WithTag("open"))
	for range single {
		send(message("paid"))
	}
	var all []*primitive.Message
	for range batch {
		all = append(all, message("paid"))
	}
	send(all...)
	send(message("late").WithDelayTimeLevel(1))
	return keys
}

// check holds deliveries against what was sent: each once, order-3 twice with its attempts counted, bodies and tags as sent.
func check(t *testing.T, sent []string, got []*primitive.MessageExt) {
	t.Helper()
	attempts := map[string][]int32{}
	for _, m := range got {
		key := m.GetKeys()
		attempts[key] = append(attempts[key], m.ReconsumeTimes)
		if want := "body of " + key; string(m.Body) != want {
			t.Errorf("%s has the body %q", key, m.Body)
		}
		if want := map[bool]string{true: "late", false: "paid"}[key == sent[len(sent)-1]]; m.GetTags() != want {
			t.Errorf("%s has the tag %q, not %q", key, m.GetTags(), want)
		}
	}
	if len(attempts) != len(sent) {
		t.Errorf("%d messages came, %d were sent", len(attempts), len(sent))
	}
	for _, key := range sent {
		want := []int32{0}
		if key == "order-3" {
			want = []int32{0, 1}
		}
		if !slices.Equal(attempts[key], want) {
			t.Errorf("%s came with the attempts %v, not %v", key, attempts[key], want)
		}
	}
}
