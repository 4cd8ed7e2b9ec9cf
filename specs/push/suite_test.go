package push_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/specs/conformance"
)

var suiteT *testing.T

func TestPush(t *testing.T) {
	if os.Getenv(quietChild) != "" {
		liveQuietly()
	}
	suiteT = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "push consumption on the embedded broker")
}

// Registered before any other clean-up, the leak check runs after all of them.
var _ = BeforeEach(func() {
	before := gleak.Goroutines()
	DeferCleanup(func() { Eventually(gleak.Goroutines, "10s").ShouldNot(gleak.HaveLeaked(before)) })
})

// firstRetry is the shortened delay of every level.
const firstRetry = 500 * time.Millisecond

func levels() []time.Duration {
	out := make([]time.Duration, 18)
	for i := range out {
		out[i] = firstRetry
	}
	return out
}

// inProcess is the embedded broker as the suite wants it.
type inProcess struct{ *embedded.Broker }

func (c inProcess) NameServers() []string { return []string{c.Addr()} }

func (c inProcess) CreateTopic(_ context.Context, topic string, queues int) error {
	return c.Broker.CreateTopic(topic, queues)
}

// Kill: in memory a broker keeps what it has, however it ends. Its connections are reset first, so that nobody hears a goodbye.
func (c inProcess) Kill(ctx context.Context) error {
	c.Faults().DropConnections()
	return c.Bounce(ctx)
}

func (c inProcess) Bounce(ctx context.Context) error {
	if err := c.Stop(); err != nil {
		return err
	}
	return c.Restart(ctx, nil)
}

func (inProcess) FirstRetry() time.Duration { return firstRetry }

func cluster(ctx context.Context) conformance.Cluster {
	return inProcess{broker(ctx, embedded.Config{DelayLevels: levels()})}
}

func broker(ctx context.Context, cfg embedded.Config) *embedded.Broker {
	GinkgoHelper()
	b, err := embedded.Start(ctx, cfg)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(b.Close)
	return b
}

var _ = Describe("A concurrent group on the embedded broker", func() { conformance.Consuming(cluster) })

var _ = Describe("What a concurrent group settles on the embedded broker", func() { conformance.Settling(cluster) })

var _ = Describe("A message body on the embedded broker", func() { conformance.Bodies(cluster) })

var _ = Describe("An orderly group on the embedded broker", func() { conformance.Ordering(cluster) })

var _ = Describe("A queue that is handed over on the embedded broker", func() {
	conformance.HandingOver(cluster, 10)
	conformance.HandingOverAroundRestarts(cluster, 2)
	Context("at length", Label("slow"), func() {
		conformance.HandingOver(cluster, 50)
		conformance.HandingOverAroundRestarts(cluster, 50)
	})
})

var _ = Describe("The life of a group on the embedded broker", func() { conformance.Living(cluster) })

var _ = Describe("A group whose topic grows on the embedded broker", func() { conformance.Growing(cluster) })

var _ = Describe("What tools ask of a member on the embedded broker", func() { conformance.Asking(cluster) })

var _ = Describe("What tools ask of a member on an embedded broker that leaves resets to its clients", func() {
	conformance.Asking(func(ctx context.Context) conformance.Cluster {
		return inProcess{broker(ctx, embedded.Config{DelayLevels: levels(), ClientSideReset: true})}
	})
})

var _ = Describe("A publisher on the embedded broker", func() { conformance.Publishing(cluster) })

var _ = Describe("The subscriptions of a group on the embedded broker", func() { conformance.Subscribing(cluster) })

var _ = Describe("A filter that the embedded broker does not evaluate", func() { conformance.NotFiltering(cluster) })

var _ = Describe("A filter that the embedded broker evaluates", func() {
	conformance.Filtering(func(ctx context.Context) conformance.Cluster {
		return inProcess{broker(ctx, embedded.Config{DelayLevels: levels(), PropertyFilter: true})}
	})
})
