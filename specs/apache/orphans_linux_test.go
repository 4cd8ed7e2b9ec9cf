package apache_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Only Linux binds the life of a child to its parent, so this spec is for Linux.
var _ = Describe("A cluster whose test process is killed", Label("apache"), func() {
	It("does not outlive it", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		child := exec.CommandContext(ctx, os.Args[0], "-test.run=TestApache$")
		child.Env = append(os.Environ(), testChild+"="+dir)
		child.Stderr = GinkgoWriter
		out, err := child.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(child.Start()).To(Succeed())
		line, err := bufio.NewReader(out).ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		pid, err := strconv.Atoi(line[:len(line)-1])
		Expect(err).NotTo(HaveOccurred())
		Expect(syscall.Kill(pid, 0)).To(Succeed(), "the broker runs")

		Expect(child.Process.Kill()).To(Succeed())
		_ = child.Wait() // killed, as intended

		Eventually(func() error { return syscall.Kill(pid, 0) }).WithContext(ctx).WithTimeout(20 * time.Second).
			Should(Satisfy(func(err error) bool { return errors.Is(err, syscall.ESRCH) }))
	}, SpecTimeout(3*time.Minute))
})
