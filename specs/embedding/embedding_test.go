// Package embedding_test proves that the README's programs build and run in another module, by a replace directive.
package embedding_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestEmbedding(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "embedding")
}

var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

var _ = Describe("A program of the README", func() {
	DescribeTable("runs in another module that replaces ours by its folder", func(ctx SpecContext, place int, output string) {
		root, err := filepath.Abs("../..")
		Expect(err).NotTo(HaveOccurred())
		readme, err := os.ReadFile(filepath.Join(root, "README.md"))
		Expect(err).NotTo(HaveOccurred())
		programs := program.FindAllSubmatch(readme, -1)
		Expect(programs).To(HaveLen(3))
		found := programs[place]

		dir := GinkgoT().TempDir()
		write := func(name, text string) {
			Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
		}
		write("main.go", string(found[1]))
		write("go.mod", "module example.com/embedding\n\ngo 1.26\n\nrequire github.com/troupe-mq/troupe v0.0.0\n\nreplace github.com/troupe-mq/troupe => "+root+"\n")
		sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
		Expect(err).NotTo(HaveOccurred())
		write("go.sum", string(sums))
		run := func(args ...string) string {
			cmd := exec.CommandContext(ctx, "go", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(out))
			return string(out)
		}
		Expect(run("run", ".")).To(Equal(output))
		// A program that embeds us inherits no tool of ours.
		Expect(strings.Fields(run("list", "-m", "all"))).NotTo(ContainElement(Or(
			ContainSubstring("golangci"), ContainSubstring("bufbuild"), ContainSubstring("rocketmq-client-go"))))
	},
		Entry("with a handler", SpecTimeout(3*time.Minute), 0, "paid: order 1\n"),
		Entry("that polls", SpecTimeout(3*time.Minute), 1, "orders@0: order 1\n"),
		Entry("that pulls by hand", SpecTimeout(3*time.Minute), 2, "orders@0: order 1\n"))
})
