package sql92_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestSQL92(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "SQL92 filters")
}
