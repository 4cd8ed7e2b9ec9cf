package push_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// quietChild makes the test binary a program that consumes and has every kind of trouble, and writes nothing itself.
const quietChild = "TROUPE_QUIET_CHILD"

// The exit code of a quiet child that did what it should; 0 is what the testing package forbids.
const quietDone = 42

// troubled lives the life of such a program: failures, a panic, a broker that goes and comes back. It gives what went wrong.
func troubled(opts ...troupe.Option) error {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	b, err := embedded.Start(ctx, embedded.Config{DelayLevels: levels()})
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }() // its end is the program's
	if err = b.CreateTopic("t", 4); err != nil {
		return err
	}
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.Addr()}}, troupe.Config{}, opts...)
	if err != nil {
		return err
	}
	failed, all := make(chan struct{}, 2), make(chan struct{})
	done := sync.OnceFunc(func() { close(all) })
	rt.Concurrent("g", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
		Handle("t", troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
			switch body := string(m.GetBody()); {
			case body == "last":
				done()
			case m.GetReconsumeTimes() > 0:
			case body == "panic":
				failed <- struct{}{}
				panic("asked for")
			default:
				failed <- struct{}{}
				return errors.New("asked for")
			}
			return nil
		})
	rt.Concurrent("nobody", troupe.ConcurrentConfig{}).Handle("absent", troupe.AllTags(), ignore)
	if err = rt.Start(ctx); err != nil {
		return err
	}
	if err = b.Publish(troupe.NewMessage("t", []byte("panic")), troupe.NewMessage("t", []byte("fail"))); err != nil {
		return err
	}
	for range 2 {
		select {
		case <-failed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err = errors.Join(b.Stop(), b.Restart(ctx, nil), b.Publish(troupe.NewMessage("t", []byte("last")))); err != nil {
		return err
	}
	select {
	case <-all:
		return rt.Shutdown(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// liveQuietly is what the child does instead of specs.
func liveQuietly() {
	var opts []troupe.Option
	if os.Getenv(quietChild) == "logged" {
		log := logrus.New()
		log.SetOutput(io.Discard)
		opts = append(opts, troupe.WithLogger(log))
	}
	if err := troubled(opts...); err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error()) // the spec shows it
		os.Exit(1)
	}
	os.Exit(quietDone)
}

var _ = Describe("A program's output", Label("A46"), func() {
	DescribeTable("has no line of ours, whatever happens", func(ctx SpecContext, how string) {
		cmd := exec.CommandContext(ctx, os.Args[0]) //nolint:gosec // it is this binary
		cmd.Env = append(os.Environ(), quietChild+"="+how)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		Expect(stdout.String()).To(BeEmpty())
		Expect(stderr.String()).To(BeEmpty())
		var ended *exec.ExitError
		Expect(errors.As(err, &ended)).To(BeTrue())
		Expect(ended.ExitCode()).To(Equal(quietDone))
	},
		Entry("without a logger", "silent", SpecTimeout(2*time.Minute)),
		Entry("with one, which gets the lines instead", "logged", SpecTimeout(2*time.Minute)),
	)

	It("is the logger's, if there is one", func() {
		var out bytes.Buffer
		log := logrus.New()
		log.SetOutput(&out)
		Expect(troubled(troupe.WithLogger(log))).To(Succeed())
		Expect(out.String()).To(And(ContainSubstring("handler panicked"), ContainSubstring("topic has no route"), ContainSubstring("client stopped")))
	})
})
