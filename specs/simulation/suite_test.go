// Package simulation_test runs whole clusters in virtual time: Runtimes and the embedded broker on an in-memory network, through a
// seeded schedule of joins, leaves, crashes, broker restarts and dropped connections. TROUPE_SEED=n runs one seed again.
package simulation_test

import (
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var suiteT *testing.T

func TestSimulation(t *testing.T) {
	suiteT = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "simulation in virtual time")
}

// bubble runs a body in virtual time. Goroutines that are left at its end fail the spec.
func bubble(body func()) {
	GinkgoHelper()
	synctest.Test(suiteT, func(*testing.T) {
		defer GinkgoRecover()
		body()
	})
}

// seeds are the schedules to run: n of them, or the one in TROUPE_SEED.
func seeds(n int) []uint64 {
	if text := os.Getenv("TROUPE_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			panic("TROUPE_SEED is not a number: " + text)
		}
		return []uint64{seed}
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i + 1)
	}
	return out
}
