package wire_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
)

func TestWire(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "wire")
}

var before []gleak.Goroutine

var _ = BeforeSuite(func() { before = gleak.Goroutines() })

var _ = AfterSuite(func() { Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(before)) })
