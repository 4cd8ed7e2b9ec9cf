package topology_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
)

func TestTopology(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "topology")
}

// Registered before the cleanups of a spec, so it runs after them.
var _ = BeforeEach(func() {
	before := gleak.Goroutines()
	DeferCleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(before))
	})
})
