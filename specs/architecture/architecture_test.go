// Package architecture_test holds the folders to the one direction of dependencies: messages ← actors ← runtime ← adapters.
package architecture_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestArchitecture(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "architecture")
}

const module = "github.com/troupe-mq/troupe/"

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// packages lists the module's packages without their tests.
func packages() map[string]listed {
	GinkgoHelper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", module+"...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred())
	all := make(map[string]listed)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			Fail(err.Error())
		}
		all[strings.TrimPrefix(p.ImportPath, module)] = p
	}
}

// within tells whether a package is the folder or below it.
func within(pkg, folder string) bool {
	pkg = strings.TrimPrefix(pkg, module)
	return pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

var _ = Describe("The rooms of the house", func() {
	var all map[string]listed
	BeforeEach(func() { all = packages() })

	// violations gives what packages of a folder depend on although it is below one of the forbidden folders.
	violations := func(folder string, forbidden ...string) []string {
		var out []string
		for name, p := range all {
			if !within(name, folder) {
				continue
			}
			for _, dep := range p.Deps {
				for _, f := range forbidden {
					if within(dep, f) && strings.HasPrefix(dep, module) {
						out = append(out, name+" knows "+dep)
					}
				}
			}
		}
		return out
	}

	DescribeTable("know only what is below them",
		func(folder string, forbidden ...string) {
			Expect(all).To(HaveKey(folder))
			Expect(violations(folder, forbidden...)).To(BeEmpty())
		},
		Entry("messages is a leaf", "messages", "actors", "runtime", "adapters", "specs"),
		Entry("actors know messages only", "actors", "runtime", "adapters", "specs"),
		Entry("runtime names no adapter", "runtime", "adapters", "specs"),
		Entry("wire does no I/O and knows no connection", "adapters/wire", "actors", "runtime", "adapters/remoting", "adapters/rocketmq", "adapters/embedded"),
		Entry("remoting carries frames for anybody", "adapters/remoting", "actors", "runtime", "adapters/rocketmq", "adapters/embedded"),
		Entry("rocketmq does not know the embedded broker", "adapters/rocketmq", "adapters/embedded", "adapters/cli"),
		Entry("the embedded broker knows no client", "adapters/embedded", "actors", "runtime", "adapters/rocketmq", "adapters/cli"),
		Entry("topology reads snapshots only", "adapters/topology", "actors", "runtime", "adapters/wire", "adapters/rocketmq", "adapters/embedded"),
	)

	It("leaves protoactor to the kernel", func() {
		for name, p := range all {
			if name == "actors/kit" {
				continue
			}
			Expect(p.Imports).NotTo(ContainElement(HavePrefix("github.com/asynkron/protoactor-go")), name)
		}
	})

	It("keeps network, system and formats out of the actors", func() {
		for name, p := range all {
			if within(name, "actors") && name != "actors/kit" {
				Expect(p.Imports).NotTo(ContainElement(BeElementOf("net", "os", "encoding/json")), name)
			}
		}
	})

	It("keeps I/O out of the formats", func() {
		Expect(all["adapters/wire"].Imports).NotTo(ContainElement(BeElementOf("net", "os")))
	})
})
