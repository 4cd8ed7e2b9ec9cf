package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/cli"
	"github.com/troupe-mq/troupe/adapters/embedded"
)

// outcome is what a call of the command left behind.
type outcome struct {
	code     int
	out, err string
}

func call(ctx context.Context, in string, args ...string) outcome {
	var out, errs bytes.Buffer
	code := cli.Run(ctx, args, cli.Streams{In: strings.NewReader(in), Out: &out, Err: &errs})
	return outcome{code, out.String(), errs.String()}
}

// jsonLines takes standard output apart: every line must be an object.
func jsonLines(text string) []map[string]any {
	GinkgoHelper()
	var lines []map[string]any
	for line := range strings.Lines(text) {
		var object map[string]any
		Expect(json.Unmarshal([]byte(line), &object)).To(Succeed(), "line %q", line)
		lines = append(lines, object)
	}
	return lines
}

var _ = Describe("The troupe command", func() {
	When("it is called wrongly", func() {
		DescribeTable("exits with 2, says what is wrong and where help is",
			func(ctx SpecContext, text string, args ...string) {
				o := call(ctx, "", args...)
				Expect(o.code).To(Equal(2))
				Expect(o.out).To(BeEmpty())
				Expect(o.err).To(And(ContainSubstring(text), ContainSubstring("troupe --help")))
			},
			Entry("an unknown verb", `unknown verb "frobnicate"`, "frobnicate"),
			Entry("an unknown flag", "unknown flag: --bogus", "publish", "T", "--bogus"),
			Entry("no topic", "accepts 1 arg", "publish"),
			Entry("no group", "--group is required", "consume", "T"),
			Entry("a bad start", "--from yesterday: must be first, last or a time", "consume", "T", "--group", "g", "--from", "yesterday"),
			Entry("an unknown mode", "--mode pop: must be concurrent, orderly, broadcast or pull", "consume", "T", "--group", "g", "--mode", "pop"),
			Entry("broadcast without a folder", "--mode broadcast needs --offsets", "consume", "T", "--group", "g", "--mode", "broadcast"),
			Entry("a folder without broadcast", "--offsets goes with --mode broadcast", "consume", "T", "--group", "g", "--offsets", "/tmp"),
			Entry("a negative count", "--count -1: must not be negative", "publish", "T", "--count", "-1"),
			Entry("a delay level beyond 18", "--delay-level 19: must be from 0 to 18", "publish", "T", "--count", "1", "--delay-level", "19"),
			Entry("several faults of the group at once", "group x y: ConcurrentConfig.Workers = 5000: must be from 1 to 1000",
				"consume", "T", "--group", "x y", "--workers", "5000"),
			Entry("a name server that is none", "is not host:port", "consume", "T", "--group", "g", "--nameserver", "nowhere"),
		)
	})

	When("there is a broker", func() {
		var broker *embedded.Broker
		var folder string
		BeforeEach(func(ctx SpecContext) {
			folder = GinkgoT().TempDir()
			var err error
			broker, err = embedded.Start(ctx, embedded.Config{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(broker.Close)
			Expect(broker.CreateTopic("orders", 2)).To(Succeed())
		})

		It("publishes lines from standard input with tag and key, and consumes them once", func(ctx SpecContext) {
			o := call(ctx, "one\ntwo\n", "publish", "orders", "--tag", "paid", "--key", "k", "--nameserver", broker.Addr(), "--json")
			Expect(o.code).To(BeZero(), o.err)
			lines := jsonLines(o.out)
			Expect(lines).To(HaveLen(3))
			Expect(lines[2]).To(And(HaveKeyWithValue("summary", true), HaveKeyWithValue("messages", 2.0), HaveKeyWithValue("bytes", 6.0)))
			var stored []string
			for _, m := range broker.MessagesIn("orders") {
				Expect(m.Tag()).To(Equal("paid"))
				Expect(m.Keys()).To(Equal([]string{"k"}))
				stored = append(stored, string(m.GetBody()))
			}
			Expect(stored).To(ConsistOf("one", "two"))

			o = call(ctx, "", "consume", "orders", "--group", "g", "--from", "first", "--count", "2", "--nameserver", broker.Addr(), "--json")
			Expect(o.code).To(BeZero(), o.err)
			lines = jsonLines(o.out)
			Expect(lines).To(HaveLen(3))
			Expect(lines[2]).To(And(HaveKeyWithValue("summary", true), HaveKeyWithValue("messages", 2.0), HaveKeyWithValue("duplicates", 0.0)))
			Expect(broker.Lag("g", "orders")).To(BeZero())
		}, SpecTimeout(30*time.Second))

		It("consumes a queue in order with --mode orderly", func(ctx SpecContext) {
			Expect(call(ctx, "", "publish", "orders", "--count", "50", "--queue", "1", "--nameserver", broker.Addr()).code).To(BeZero())
			o := call(ctx, "", "consume", "orders", "--group", "g", "--mode", "orderly", "--from", "first", "--count", "50", "--nameserver", broker.Addr(), "--json")
			Expect(o.code).To(BeZero(), o.err)
			lines := jsonLines(o.out)
			Expect(lines).To(HaveLen(51))
			for i, line := range lines[:50] {
				Expect(line).To(HaveKeyWithValue("offset", float64(i)))
			}
		}, SpecTimeout(30*time.Second))

		It("gives every member everything with --mode broadcast, and goes on where each has got to", func(ctx SpecContext) {
			for _, n := range []int{3, 2} {
				Expect(call(ctx, "", "publish", "orders", "--count", fmt.Sprint(n), "--nameserver", broker.Addr()).code).To(BeZero())
				for _, member := range []string{"one", "two"} {
					o := call(ctx, "", "consume", "orders", "--group", "g", "--mode", "broadcast", "--offsets", filepath.Join(folder, member),
						"--from", "first", "--count", fmt.Sprint(n), "--nameserver", broker.Addr(), "--json")
					Expect(o.code).To(BeZero(), o.err)
					Expect(jsonLines(o.out)).To(HaveLen(n + 1))
				}
			}
		}, SpecTimeout(time.Minute))

		It("makes messages up in the size that is asked for", func(ctx SpecContext) {
			o := call(ctx, "", "publish", "orders", "--count", "3", "--size", "10", "--queue", "1", "--nameserver", broker.Addr())
			Expect(o.code).To(BeZero(), o.err)
			Expect(broker.MaxOffset("orders", 1)).To(Equal(int64(3)))
			for _, m := range broker.MessagesIn("orders") {
				Expect(m.GetBody()).To(HaveLen(10))
			}
		}, SpecTimeout(30*time.Second))

		It("shows the tree of a consumer that serves it", func(ctx SpecContext) {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
			Expect(err).NotTo(HaveOccurred())
			addr := l.Addr().String()
			Expect(l.Close()).To(Succeed())
			running, stop := context.WithCancel(ctx)
			defer stop()
			r, w := io.Pipe()
			ended := make(chan int, 1)
			go func() {
				defer GinkgoRecover()
				ended <- cli.Run(running, []string{"consume", "orders", "--group", "g", "--topology", addr, "--nameserver", broker.Addr()},
					cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: w})
				_ = w.Close()
			}()
			lines := bufio.NewScanner(r)
			Expect(lines.Scan()).To(BeTrue())
			Expect(lines.Text()).To(ContainSubstring("topology on http://" + addr))
			go func() {
				for lines.Scan() { // let the command write on
				}
			}()
			o := call(ctx, "", "topology", addr)
			Expect(o.code).To(BeZero(), o.err)
			Expect(o.out).To(And(ContainSubstring("client [ClientInstance]"), ContainSubstring("group g: running"), ContainSubstring("orders@broker-a/1")))
			o = call(ctx, "", "topology", addr, "--format", "dot")
			Expect(o.out).To(HavePrefix("digraph troupe {"))
			stop()
			Eventually(ended, "10s").Should(Receive(BeZero()))
		}, SpecTimeout(30*time.Second))

		It("says which group waits for what when the cluster cannot be reached", func(ctx SpecContext) {
			Expect(broker.Stop()).To(Succeed())
			short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			o := call(short, "", "consume", "orders", "--group", "g", "--nameserver", broker.Addr())
			Expect(o.code).To(Equal(1))
			Expect(o.err).To(And(ContainSubstring("start: group g:"), ContainSubstring(broker.Addr())))
		}, SpecTimeout(30*time.Second))
	})

	It("serves the embedded broker and says where", func(ctx SpecContext) {
		running, stop := context.WithCancel(ctx)
		defer stop()
		r, w := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			defer GinkgoRecover()
			ended <- cli.Run(running, []string{"broker", "--listen", "127.0.0.1:0"}, cli.Streams{Out: w, Err: io.Discard})
		}()
		line, err := bufio.NewReader(r).ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		Expect(line).To(MatchRegexp(`^ready 127\.0\.0\.1:\d+\n$`))
		stop()
		Eventually(ended, "10s").Should(Receive(BeZero()))
	}, SpecTimeout(30*time.Second))

	It("demonstrates everything within a minute: no message lost, one dead letter, a rebalance", func(ctx SpecContext) {
		o := call(ctx, "", "demo", "--json")
		Expect(o.code).To(BeZero(), o.err)
		lines := jsonLines(o.out)
		Expect(lines).To(HaveLen(1))
		Expect(lines[0]).To(And(
			HaveKeyWithValue("published", 800.0), HaveKeyWithValue("consumed", 799.0), HaveKeyWithValue("dead_lettered", 1.0),
			HaveKeyWithValue("failed_attempts", 19.0)))
		Expect(lines[0]["rebalances"]).To(BeNumerically(">=", 3))
		Expect(lines[0]["member_two"]).To(BeNumerically(">", 0))
	}, SpecTimeout(time.Minute))
})
