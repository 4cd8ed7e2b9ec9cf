package actors_test

import (
	"testing"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
)

var suiteT *testing.T

func TestActors(t *testing.T) {
	suiteT = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "actors")
}

// bubble runs a body in virtual time. Goroutines that are left at its end fail the spec; clients that a failed
// expectation left behind are ended.
func bubble(body func()) {
	GinkgoHelper()
	synctest.Test(suiteT, func(*testing.T) {
		defer GinkgoRecover()
		defer func() {
			for _, s := range stages {
				if s.client != nil && !s.stopped {
					s.client.Abort()
				}
				s.free()
			}
			stages = nil
		}()
		body()
	})
}

var before []gleak.Goroutine

var _ = BeforeEach(func() { before = gleak.Goroutines() })

var _ = AfterEach(func() { Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(before)) })
