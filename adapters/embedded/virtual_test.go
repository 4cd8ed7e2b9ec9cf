package embedded_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
)

// world is a broker on a network in memory, inside a bubble of virtual time.
type world struct {
	network *memnet.Network
	broker  *embedded.Broker
	began   time.Time
	peers   []*peer
}

const brokerAddr = "10.0.0.1:10911"

// inWorld runs a body beside a broker in virtual time and ends everything after it.
func inWorld(cfg embedded.Config, body func(w *world)) {
	GinkgoHelper()
	inVirtualTime(func() {
		w := &world{network: memnet.New(), began: time.Now()}
		cfg.Listener = w.listen(brokerAddr)
		var err error
		w.broker, err = embedded.Start(context.Background(), cfg)
		Expect(err).NotTo(HaveOccurred())
		defer func() {
			for _, p := range w.peers {
				p.close()
			}
			Expect(w.broker.Close()).To(Succeed())
		}()
		body(w)
	})
}

func (w *world) listen(addr string) *memnet.Listener {
	GinkgoHelper()
	l, err := w.network.Listen(addr)
	Expect(err).NotTo(HaveOccurred())
	return l
}

// peer makes a client of the broker.
func (w *world) peer(id string) *peer {
	p := newPeer(w.broker.Addr(), id, w.network)
	w.peers = append(w.peers, p)
	return p
}

// seconds tells how much time has passed since the world began.
func (w *world) seconds() float64 { return time.Since(w.began).Seconds() }
