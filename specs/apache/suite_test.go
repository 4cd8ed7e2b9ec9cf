package apache_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// testChild makes the test binary start a cluster and wait to be killed, see orphans_linux_test.go.
const testChild = "TROUPE_APACHE_CHILD"

func TestApache(t *testing.T) {
	if os.Getenv(testChild) != "" {
		serveAsChild()
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "Apache RocketMQ")
}

// serveAsChild is the life of the test binary when it is its own victim: start a cluster, say where, wait to be killed.
func serveAsChild() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := apachebroker.Start(ctx, apachebroker.Options{Dir: os.Getenv(testChild)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Broker().PID())
	select {}
}

var before []gleak.Goroutine

var _ = BeforeSuite(func() {
	before = gleak.Goroutines()
})

var _ = AfterSuite(func() {
	Expect(shared.close()).To(Succeed())
	Eventually(gleak.Goroutines).WithTimeout(10 * time.Second).ShouldNot(gleak.HaveLeaked(before))
})

// onEveryVersion declares the same specs once per release. Inside, cluster() is the cluster of that release which all specs of the process
// share: it is started when the first spec asks and stopped after the last, so specs use topics and groups of their own (see unique), and
// one that stops or kills a broker starts a cluster for itself.
func onEveryVersion(text string, body func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster)) bool {
	versions, err := apachebroker.Versions()
	if err != nil {
		panic(err) // while the tree of specs is being built there is no other way to fail
	}
	return Describe(text, Label("apache"), func() {
		for _, v := range versions {
			Context("on Apache RocketMQ "+string(v), Label("apache-"+string(v)), func() {
				body(v, func(ctx context.Context) *apachebroker.Cluster {
					GinkgoHelper()
					c, err := shared.of(ctx, v)
					Expect(err).NotTo(HaveOccurred())
					return c
				})
			})
		}
	})
}

var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() {
		shared.report()
	}
})

// sharedClusters has at most one cluster a release.
type sharedClusters struct {
	mu       sync.Mutex
	clusters map[apachebroker.Version]*apachebroker.Cluster
	failures map[apachebroker.Version]error
}

var shared = &sharedClusters{
	clusters: map[apachebroker.Version]*apachebroker.Cluster{},
	failures: map[apachebroker.Version]error{},
}

func (s *sharedClusters) of(ctx context.Context, v apachebroker.Version) (*apachebroker.Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clusters[v]; c != nil {
		return c, nil
	}
	if err := s.failures[v]; err != nil {
		return nil, fmt.Errorf("the shared cluster could not be started before: %w", err)
	}
	c, err := apachebroker.Start(ctx, apachebroker.Options{Version: v})
	if err != nil {
		if ctx.Err() == nil { // a spec that was interrupted says nothing about the next
			s.failures[v] = err
		}
		return nil, err
	}
	s.clusters[v] = c
	return c, nil
}

func (s *sharedClusters) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v, c := range s.clusters {
		GinkgoWriter.Printf("=== logs of the shared cluster %s\n%s\n", v, c.Logs())
	}
}

func (s *sharedClusters) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v, c := range s.clusters {
		if err := c.Close(); err != nil {
			return err
		}
		delete(s.clusters, v)
	}
	return nil
}

var serial struct {
	sync.Mutex
	n int
}

// unique makes a topic or group name that no other spec uses, also not one of a parallel process or an earlier run.
func unique(prefix string) string {
	serial.Lock()
	defer serial.Unlock()
	serial.n++
	return fmt.Sprintf("%s-%d-%d", prefix, os.Getpid(), serial.n)
}
