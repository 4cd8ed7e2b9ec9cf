package conformance

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Cluster is a cluster of one broker that the suite runs against.
type Cluster interface {
	// NameServers gives the addresses.
	NameServers() []string
	// CreateTopic makes a topic; it returns when its route is known.
	CreateTopic(ctx context.Context, topic string, queues int) error
	// Kill ends the broker without a goodbye and starts it again with its store.
	Kill(ctx context.Context) error
	// Bounce ends the broker in order and starts it again with its store.
	Bounce(ctx context.Context) error
	// FirstRetry is the delay before the first retry: 10 s unless the broker's levels are shortened.
	FirstRetry() time.Duration
}

var serial atomic.Int64

// unique makes a name that no other spec uses, also not in another run on the same broker.
func unique(name string) string {
	return fmt.Sprintf("%s-%d-%d", name, serial.Add(1), rand.Uint32())
}

// bench is what a spec works with: a cluster, its own topic and group.
type bench struct {
	Cluster
	topic, group string
	queues       int
}

func newBench(ctx context.Context, c Cluster, queues int) *bench {
	GinkgoHelper()
	b := &bench{Cluster: c, topic: unique("topic"), group: unique("group"), queues: queues}
	Expect(c.CreateTopic(ctx, b.topic, queues)).To(Succeed())
	return b
}

func (b *bench) transport() rocketmq.Cluster { return rocketmq.Cluster{NameServers: b.NameServers()} }

// runtime makes a Runtime whose intervals are short where only patience would be tested.
func (b *bench) runtime(opts ...troupe.Option) *troupe.Runtime {
	GinkgoHelper()
	rt, err := troupe.New(b.transport(), troupe.Config{OffsetPersistInterval: 200 * time.Millisecond, RouteRefreshInterval: time.Second}, opts...)
	Expect(err).NotTo(HaveOccurred())
	return rt
}

// started starts a Runtime that the spec shuts down, or else its clean-up does.
func started(ctx context.Context, rt *troupe.Runtime) *troupe.Runtime {
	GinkgoHelper()
	Expect(rt.Start(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { _ = rt.Shutdown(ctx) }, NodeTimeout(30*time.Second))
	return rt
}

// link gives a bare link to the cluster, to look at offsets as the broker tells them.
func (b *bench) link() actors.Link {
	GinkgoHelper()
	return b.linkAs(unique("looker"))
}

func (b *bench) linkAs(client string) actors.Link {
	GinkgoHelper()
	l, err := b.transport().Open(actors.LinkConfig{
		ClientID: client, Log: quiet(), Jitter: func() float64 { return 0 },
		Calls:   func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply { return nil },
		Changed: func(*messages.ConnectionChanged) {},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(l.Close)
	return l
}

// address finds the topic's broker.
func (b *bench) address(ctx context.Context, l actors.Link, topic string) (address, broker string, err error) {
	route, err := l.Route(ctx, topic)
	if err != nil {
		return "", "", err
	}
	for _, set := range route.GetBrokers() {
		return set.GetAddresses()[0], set.GetBroker(), nil
	}
	return "", "", fmt.Errorf("no broker has topic %s", topic)
}

// committed sums what the broker has for the group over the topic's queues; a queue without an offset counts 0.
func (b *bench) committed(ctx context.Context, l actors.Link, group string) (int64, error) {
	addr, broker, err := b.address(ctx, l, b.topic)
	if err != nil {
		return 0, err
	}
	var sum int64
	for id := range b.queues {
		offset, err := l.Committed(ctx, addr, group, &messages.Queue{Topic: b.topic, Broker: broker, Id: int32(id)})
		if err == nil {
			sum += offset
		}
	}
	return sum, nil
}

// stored counts the messages of a topic, by its queues' ends; 0 if there is no such topic.
func (b *bench) stored(ctx context.Context, l actors.Link, topic string) (int64, error) {
	route, err := l.Route(ctx, topic)
	if err != nil {
		return 0, nil //nolint:nilerr // the topic does not exist yet
	}
	var sum int64
	for _, key := range actors.SubscribeQueues(route) {
		end, err := l.MaxOffset(ctx, route.GetBrokers()[0].GetAddresses()[0], key.Queue())
		if err != nil {
			return 0, err
		}
		sum += end
	}
	return sum, nil
}

// publish stores n messages, one a call, their bodies "0" to "n-1", spread over the queues.
func (b *bench) publish(ctx context.Context, p *troupe.Publisher, n int, dress ...func(i int, m *troupe.Message)) {
	GinkgoHelper()
	for i := range n {
		m := troupe.NewMessage(b.topic, fmt.Append(nil, i))
		for _, d := range dress {
			d(i, m)
		}
		_, err := p.Send(ctx, m)
		Expect(err).NotTo(HaveOccurred())
	}
}

// publisher gives a started Runtime's publisher that outlives the consumers of the spec.
func (b *bench) publisher(ctx context.Context, cfg troupe.PublisherConfig) *troupe.Publisher {
	GinkgoHelper()
	return started(ctx, b.runtime()).Publisher(cfg)
}

func quiet() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}
