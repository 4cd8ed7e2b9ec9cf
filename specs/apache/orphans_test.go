package apache_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// serveAsChild is the life of the test binary when it is its own victim: start a cluster, say where, wait to be killed.
func serveAsChild() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := apachebroker.Start(ctx, apachebroker.Options{Dir: os.Getenv(testChild)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Broker().PID())
	select {}
}

var _ = Describe("A cluster whose test process is killed", Label("apache"), func() {
	It("does not outlive it", func(ctx SpecContext) {
		if runtime.GOOS != "linux" {
			Skip("only Linux binds the life of a child to its parent")
		}
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
