package rocketmq_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var suiteT *testing.T

func TestRocketMQ(t *testing.T) {
	suiteT = t
	RegisterFailHandler(Fail)
	RunSpecs(t, "rocketmq")
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

const (
	nameServer    = "10.0.0.1:9876"
	brokerAddress = "10.0.0.2:10911"
)

// script answers requests; nil: never.
type script func(*remoting.Session, *wire.Command) *wire.Command

// stage is a network with scripted servers.
type stage struct {
	net     *memnet.Network
	servers []*remoting.Server
	served  []chan error
	log     *logrus.Logger
	lines   *logtest.Hook
}

func newStage() *stage {
	log, lines := logtest.NewNullLogger()
	return &stage{net: memnet.New(), log: log, lines: lines}
}

// serve answers at an address.
func (s *stage) serve(address string, handle script) *remoting.Server {
	GinkgoHelper()
	l, err := s.net.Listen(address)
	Expect(err).NotTo(HaveOccurred())
	server := remoting.NewServer(remoting.ServerConfig{Handle: handle})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	s.servers, s.served = append(s.servers, server), append(s.served, served)
	return server
}

func (s *stage) stop() {
	GinkgoHelper()
	for i, server := range s.servers {
		Expect(server.Close()).To(Succeed())
		Expect(<-s.served[i]).To(MatchError(remoting.ErrServerClosed))
	}
}

// open gives a link to the stage's cluster.
func (s *stage) open(change ...func(*rocketmq.Cluster, *actors.LinkConfig)) actors.Link {
	GinkgoHelper()
	cluster := rocketmq.Cluster{NameServers: []string{nameServer}, Dialer: s.net.Dial}
	cfg := actors.LinkConfig{ClientID: "10.0.0.9@7#1", Log: s.log, Jitter: func() float64 { return 0.5 }}
	for _, c := range change {
		c(&cluster, &cfg)
	}
	link, err := cluster.Open(cfg)
	Expect(err).NotTo(HaveOccurred())
	return link
}

// code answers with a response code and a remark.
func code(c wire.ResponseCode, remark string) script {
	return func(*remoting.Session, *wire.Command) *wire.Command { return wire.NewResponse(c, remark) }
}

// silent never answers.
func silent(*remoting.Session, *wire.Command) *wire.Command { return nil }

var (
	ctx   = context.Background()
	queue = &messages.Queue{Topic: "orders", Broker: "broker-a", Id: 3}
)

// pullNow pulls and waits.
func pullNow(link actors.Link, req *messages.PullRequest) (*messages.PullReply, error) {
	type end struct {
		reply *messages.PullReply
		err   error
	}
	ends := make(chan end, 1)
	link.Pull(req, actors.PullFunc(func(r *messages.PullReply, err error) { ends <- end{r, err} }))
	e := <-ends
	return e.reply, e.err
}

func routeBody(broker, address string) []byte {
	data := &wire.TopicRouteData{
		Queues:  []wire.QueueData{{Broker: broker, ReadQueues: 4, WriteQueues: 4, Perm: wire.PermRead | wire.PermWrite}},
		Brokers: []wire.BrokerData{{Broker: broker, Cluster: "c", Addresses: map[int64]string{0: address}}},
	}
	return data.Encode()
}

// knows answers 105 with a route.
func knows(broker string) script {
	return func(*remoting.Session, *wire.Command) *wire.Command {
		answer := wire.NewResponse(wire.Success, "")
		answer.Body = routeBody(broker, brokerAddress)
		return answer
	}
}

func contextWithin(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// hanging is a dialer that never gets through.
func hanging(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
