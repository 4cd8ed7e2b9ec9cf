package kit_test

import (
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/kit"
)

var _ = DescribeTable("The back-off", func(s kit.Strategy, n int, jitter float64, want string) {
	Expect(kit.Backoff(s, n, jitter)).To(Equal(want))
},
	Entry("begins with 100 ms", kit.Strategy{}, 1, 0.5, "100ms"),
	Entry("doubles", kit.Strategy{}, 2, 0.5, "200ms"),
	Entry("goes on doubling", kit.Strategy{}, 9, 0.5, "25.6s"),
	Entry("ends at 30 s", kit.Strategy{}, 10, 0.5, "30s"),
	Entry("stays there", kit.Strategy{}, math.MaxInt, 0.5, "30s"),
	Entry("is spread down by 20 %", kit.Strategy{}, 1, 0.0, "80ms"),
	Entry("is spread up by 20 %", kit.Strategy{}, 1, 0.75, "110ms"),
	Entry("has its own bounds", kit.Strategy{Initial: time.Second, Max: 3 * time.Second}, 3, 0.5, "3s"),
	Entry("is at least its beginning", kit.Strategy{Initial: time.Minute}, 5, 0.5, "1m0s"),
	Entry("does not overflow", kit.Strategy{Initial: 1 << 61, Max: math.MaxInt64}, 5, 0.5, "8760h0m0s"),
)
