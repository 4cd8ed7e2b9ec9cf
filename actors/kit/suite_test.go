package kit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/troupe-mq/troupe/actors/kit"
)

var suiteT *testing.T

func TestKit(t *testing.T) {
	suiteT = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "kit")
}

var _ = BeforeEach(func() {
	before := gleak.Goroutines()
	DeferCleanup(func() { Eventually(gleak.Goroutines).WithTimeout(5 * time.Second).ShouldNot(gleak.HaveLeaked(before)) })
})

// bubble runs body in virtual time. Whatever still runs at its end fails the spec.
func bubble(body func()) {
	GinkgoHelper()
	synctest.Test(suiteT, func(*testing.T) {
		defer GinkgoRecover()
		body()
	})
}

// script is an actor made of a function.
type script func(c *kit.Context, m kit.Message)

func (s script) Receive(c *kit.Context, m kit.Message) { s(c, m) }

// plays is a Spec for an actor without state.
func plays(name string, s script) kit.Spec {
	return kit.Spec{Role: "test", Name: name, New: func() kit.Actor { return s }}
}

// end shuts the system down and expects that nothing hinders it.
func end(s *kit.System) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	Expect(s.Shutdown(ctx)).To(Succeed())
}
