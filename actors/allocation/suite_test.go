package allocation_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestAllocation(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "allocation")
}
