package remoting_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var suiteT *testing.T

func TestRemoting(t *testing.T) {
	suiteT = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "remoting")
}

var _ = BeforeEach(func() {
	before := gleak.Goroutines()
	DeferCleanup(func() { Eventually(gleak.Goroutines).ShouldNot(gleak.HaveLeaked(before)) })
})

// inVirtualTime runs a spec's body in a bubble of its own clock.
func inVirtualTime(body func()) {
	GinkgoHelper()
	synctest.Test(suiteT, func(*testing.T) {
		defer GinkgoRecover()
		body()
	})
}

const brokerAddress = "10.0.0.1:10911"

// stage is a network with one server, and clients that it closes.
type stage struct {
	net    *memnet.Network
	server *remoting.Server
	served chan error
	opened chan *remoting.Session
	ended  chan *remoting.Session
}

// newStage serves handle at brokerAddress.
func newStage(handle func(*remoting.Session, *wire.Command) *wire.Command) *stage {
	s := &stage{net: memnet.New(), opened: make(chan *remoting.Session, 1024), ended: make(chan *remoting.Session, 1024)}
	s.listen(handle)
	return s
}

func (s *stage) listen(handle func(*remoting.Session, *wire.Command) *wire.Command) {
	l, err := s.net.Listen(brokerAddress)
	Expect(err).NotTo(HaveOccurred())
	s.server = remoting.NewServer(remoting.ServerConfig{
		Handle: handle,
		Opened: func(x *remoting.Session) { s.opened <- x },
		Closed: func(x *remoting.Session) { s.ended <- x },
	})
	s.served = make(chan error, 1)
	server, served := s.server, s.served
	go func() { served <- server.Serve(l) }()
}

func (s *stage) stop() {
	Expect(s.server.Close()).To(Succeed())
	Expect(<-s.served).To(MatchError(remoting.ErrServerClosed))
}

func (s *stage) client(change ...func(*remoting.ClientConfig)) *remoting.Client {
	cfg := remoting.ClientConfig{Dial: s.net.Dial}
	for _, c := range change {
		c(&cfg)
	}
	return remoting.NewClient(cfg)
}

// echo answers with the request's body and its field "name".
func echo(_ *remoting.Session, cmd *wire.Command) *wire.Command {
	answer := wire.NewResponse(wire.Success, "")
	answer.Ext.Set("name", cmd.Ext.Text("name"))
	answer.Body = cmd.Body
	return answer
}

// silent never answers.
func silent(*remoting.Session, *wire.Command) *wire.Command { return nil }

func request(name string) *wire.Command {
	cmd := wire.NewRequest(wire.GetMaxOffset)
	cmd.Ext.Set("name", name)
	cmd.Body = []byte("body of " + name)
	return cmd
}

func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// networkError gives err as what it has to be.
func networkError(err error) *messages.NetworkError {
	GinkgoHelper()
	var ne *messages.NetworkError
	Expect(errors.As(err, &ne)).To(BeTrue(), "%v", err)
	return ne
}

func pending(c *remoting.Client) int64 {
	var n int64
	for _, f := range c.Facts() {
		n += f.GetPending()
	}
	return n
}
