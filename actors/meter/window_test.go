package meter_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/meter"
)

func TestMeter(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "meter")
}

var _ = Describe("A window of a minute", func() {
	It("has nothing to tell while nothing happened", func() {
		w := meter.New(time.Minute)
		count, amount := w.Sum(time.Hour)
		Expect(count).To(BeZero())
		Expect(amount).To(BeZero())
		Expect(w.PerSecond(time.Hour)).To(BeZero())
		Expect(w.Mean(time.Hour)).To(BeZero())
	})

	It("tells the rate of its life while that is shorter than a minute", func() {
		w := meter.New(time.Minute)
		w.Start(time.Hour)
		w.Add(time.Hour+5*time.Second, 20, 0)
		Expect(w.PerSecond(time.Hour + 10*time.Second)).To(BeNumerically("~", 2, 1e-9))
		Expect(w.PerSecond(time.Hour + 40*time.Second)).To(BeNumerically("~", 0.5, 1e-9))
	})

	It("does not exaggerate what happened just now", func() {
		w := meter.New(time.Minute)
		w.Add(time.Hour, 3, 0)
		Expect(w.PerSecond(time.Hour)).To(BeNumerically("~", 3, 1e-9))
	})

	It("forgets after a minute, as exactly as five seconds", func() {
		w := meter.New(time.Minute)
		w.Add(0, 60, 120)
		Expect(w.PerSecond(54 * time.Second)).To(BeNumerically(">", 1))
		Expect(w.Mean(59 * time.Second)).To(BeNumerically("~", 2, 1e-9))
		Expect(w.PerSecond(60 * time.Second)).To(BeZero())
		Expect(w.Mean(60 * time.Second)).To(BeZero())
	})

	It("sums a steady flow exactly, however long it lasts", func() {
		w := meter.New(time.Minute)
		now := time.Duration(0)
		for range 10_000 {
			w.Add(now, 7, 14)
			now += time.Second
		}
		Expect(w.PerSecond(now - time.Second)).To(BeNumerically("~", 7, 7.0/12))
		Expect(w.Mean(now)).To(BeNumerically("~", 2, 1e-9))
	})
})
