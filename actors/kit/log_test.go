package kit_test

import (
	"bytes"
	"os"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors/kit"
)

var _ = Describe("The log", func() {
	// eventful makes every directive happen once or more, and sends a secret about.
	eventful := func(config kit.Config) {
		s := kit.New(config)
		spec := plays("a", func(c *kit.Context, m kit.Message) {
			c.Log().Info("hello")
			if m != (kit.Started{}) && m != (kit.Stopping{}) {
				panic("boom")
			}
		})
		spec.Strategy.GiveUpAfter = 2
		a := s.Spawn(spec)
		a.Tell("secret")
		a.Tell("secret")
		settle(time.Minute)
		a.Tell("secret")
		synctest.Wait()
		end(s)
	}

	It("has one line per directive, names actor and message, and never a content", func() {
		var out bytes.Buffer
		log := &logrus.Logger{Out: &out, Formatter: &logrus.TextFormatter{DisableTimestamp: true}, Level: logrus.InfoLevel}
		bubble(func() { eventful(kit.Config{Log: log, Jitter: steady}) })
		Expect(out.String()).To(Equal(`level=info msg=hello actor=a role=test
level=info msg=hello actor=a role=test
level=warning msg="actor failed" actor=a error="a: panic on string: boom" incarnation=1 message=string role=test wait=100ms
level=info msg="actor restarted" actor=a incarnation=2 role=test
level=info msg=hello actor=a role=test
level=info msg=hello actor=a role=test
level=error msg="actor gave up" actor=a error="a: panic on string: boom" incarnation=2 message=string role=test
`))
	})

	It("has dead letters at debug level, by type", func() {
		var out bytes.Buffer
		log := &logrus.Logger{Out: &out, Formatter: &logrus.TextFormatter{DisableTimestamp: true}, Level: logrus.DebugLevel}
		bubble(func() { eventful(kit.Config{Log: log.WithField("x", 1)}) })
		Expect(out.String()).To(ContainSubstring(`level=debug msg="actor dead letter" actor=a message=string role=test x=1`))
		Expect(out.String()).NotTo(ContainSubstring("secret"))
	})

	It("does not repeat a bug at the speed of a sender", func() {
		var out bytes.Buffer
		log := &logrus.Logger{Out: &out, Formatter: &logrus.TextFormatter{DisableTimestamp: true}, Level: logrus.InfoLevel}
		bubble(func() {
			s := kit.New(kit.Config{Log: log})
			a := s.Spawn(plays("a", func(*kit.Context, kit.Message) {}))
			for range 1000 {
				a.Tell(nil)
			}
			end(s)
		})
		Expect(strings.Split(strings.TrimSpace(out.String()), "\n")).To(HaveLen(10))
		Expect(out.String()).To(HaveSuffix("level=error msg=\"actor nil message\" actor=a message=nil role=test times=512\n"))
	})

	It("is silent by default, on the standard streams too", func() {
		out, err := os.CreateTemp(GinkgoT().TempDir(), "out")
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = out.Close() }()
		stdout, stderr := os.Stdout, os.Stderr
		os.Stdout, os.Stderr = out, out
		func() {
			defer func() { os.Stdout, os.Stderr = stdout, stderr }()
			bubble(func() { eventful(kit.Config{}) })
		}()
		Expect(os.ReadFile(out.Name())).To(BeEmpty())
	})
})
