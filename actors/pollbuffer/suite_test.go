package pollbuffer_test

import (
	"testing"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
)

var suiteT *testing.T

func TestPollBuffer(t *testing.T) {
	suiteT = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "poll buffer")
}

// bubble runs a body in virtual time.
func bubble(body func()) {
	GinkgoHelper()
	synctest.Test(suiteT, func(*testing.T) {
		defer GinkgoRecover()
		body()
	})
}

var before []gleak.Goroutine

var _ = BeforeEach(func() { before = gleak.Goroutines() })

var _ = AfterEach(func() { Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(before)) })
