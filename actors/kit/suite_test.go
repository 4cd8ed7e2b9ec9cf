package kit_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/troupe-mq/troupe/actors/kit"
)

var suiteT *testing.T

func TestKit(t *testing.T) {
	suiteT = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "kit")
}

var _ = BeforeEach(func() {
	before := gleak.Goroutines()
	DeferCleanup(func() { Eventually(gleak.Goroutines).WithTimeout(5 * time.Second).ShouldNot(gleak.HaveLeaked(before)) })
})

// bubble runs body in virtual time. Whatever still runs at its end fails the spec.
func bubble(body func()) {
	GinkgoHelper()
	synctest.Test(suiteT, func(*testing.T) {
		defer GinkgoRecover()
		body()
	})
}

// script is an actor made of a function.
type script func(c *kit.Context, m kit.Message)

func (s script) Receive(c *kit.Context, m kit.Message) { s(c, m) }

// plays is a Spec for an actor without state.
func plays(name string, s script) kit.Spec {
	return kit.Spec{Role: "test", Name: name, New: func() kit.Actor { return s }}
}

// end shuts the system down and expects that nothing hinders it.
func end(s *kit.System) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	Expect(s.Shutdown(ctx)).To(Succeed())
}

// recorder keeps what happens, from any goroutine.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// event is an OnEvent that keeps kind, actor and message.
func (r *recorder) event(e kit.Event) { r.add("%s|%s|%s", e.Kind, e.Actor, e.Message) }

// steady makes back-offs exact.
func steady() float64 { return 0.5 }

// Messages of the specs.
type (
	spawn struct {
		spec kit.Spec
		ref  *kit.Ref // filled in if not nil
	}
	stop struct{ name string }
	kill struct{ name string }
	boom struct{}
	exit struct{}
	hold struct{ until chan struct{} }
)

// boss is an actor that does to its children what it is told and keeps what it gets.
func boss(name string, r *recorder) kit.Spec {
	return plays(name, func(c *kit.Context, m kit.Message) {
		switch m := m.(type) {
		case spawn:
			if child := c.Spawn(m.spec); m.ref != nil {
				*m.ref = child
			}
		case stop:
			child, _ := c.Child(m.name)
			c.Stop(child)
		case kill:
			child, _ := c.Child(m.name)
			c.Kill(child)
		case boom:
			panic("boom")
		case hold:
			<-m.until
		case kit.ChildStopped:
			r.add("%s: %s stopped: %v", name, m.Name, m.Err)
		default:
			r.add("%s: %T", name, m)
		}
	})
}

// tame is a worker that keeps what it gets, and fails or blocks if told to.
func tame(name string, r *recorder) kit.Spec {
	return plays(name, func(c *kit.Context, m kit.Message) {
		switch m := m.(type) {
		case boom:
			panic("boom")
		case exit:
			runtime.Goexit()
		case hold:
			<-m.until
		case int:
			r.add("%s: %d", name, m)
		default:
			r.add("%s: %T", name, m)
		}
	})
}

// settle waits until every actor is idle; it takes virtual time up to d for what is on a timer.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
