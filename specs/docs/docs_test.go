package docs_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/specs/docs"
)

//go:generate go run ./generate ../..

func TestDocs(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "docs")
}

// lifecycle messages come to every actor; a card does not name them, except ChildStopped.
var lifecycle = []string{"Started", "Stopping"}

var _ = Describe("An actor's card", func() {
	cards, err := docs.Cards("../../actors")
	It("can be read", func() { Expect(err).NotTo(HaveOccurred()) })

	for _, card := range cards {
		It("names exactly the messages that "+card.Actor+" receives", func() {
			var receives []string
			for _, name := range card.Receives {
				if !slices.Contains(lifecycle, name) {
					receives = append(receives, name)
				}
			}
			Expect(card.In()).To(ConsistOf(receives))
		})
		It("says of "+card.Actor+" what it owns, who its parent is and what survives a restart", func() {
			Expect(card.Fields).To(And(HaveKey("Owns"), HaveKey("Parent"), HaveKey("Restart")))
		})
	}
})

var _ = Describe("The README's table of features", func() {
	It("names specs that exist", func() {
		page, err := os.ReadFile("../../README.md")
		Expect(err).NotTo(HaveOccurred())
		sources, err := docs.SpecSources("../..")
		Expect(err).NotTo(HaveOccurred())
		features := docs.Features(string(page), "features")
		Expect(len(features)).To(BeNumerically(">", 30))
		for _, f := range features {
			Expect(strings.Contains(sources, "(\""+f.Spec)).To(BeTrue(), "%s: no spec %q", f.Java, f.Spec)
		}
	})
})
