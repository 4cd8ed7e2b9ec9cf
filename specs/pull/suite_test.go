package pull_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/specs/conformance"
)

func TestPull(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "pull consumption on the embedded broker")
}

// Registered before any other clean-up, the leak check runs after all of them.
var _ = BeforeEach(func() {
	before := gleak.Goroutines()
	DeferCleanup(func() { Eventually(gleak.Goroutines, "10s").ShouldNot(gleak.HaveLeaked(before)) })
})

// firstRetry is the shortened delay of every level.
const firstRetry = 500 * time.Millisecond

// inProcess is the embedded broker as the suite wants it.
type inProcess struct{ *embedded.Broker }

func (c inProcess) NameServers() []string { return []string{c.Addr()} }

func (c inProcess) CreateTopic(_ context.Context, topic string, queues int) error {
	return c.Broker.CreateTopic(topic, queues)
}

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
	GinkgoHelper()
	levels := make([]time.Duration, 18)
	for i := range levels {
		levels[i] = firstRetry
	}
	b, err := embedded.Start(ctx, embedded.Config{DelayLevels: levels})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(b.Close)
	return inProcess{b}
}

var _ = Describe("A pull group that polls on the embedded broker", func() { conformance.Polling(cluster) })

var _ = Describe("A pull group that pulls by hand on the embedded broker", func() { conformance.PullingByHand(cluster) })

var _ = Describe("An operator of the embedded broker", func() { conformance.Operating(cluster) })
