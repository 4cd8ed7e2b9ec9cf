package simulation_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

const (
	topic   = "orders"
	group   = "billing"
	queues  = 8
	address = "10.0.0.1:9876"
)

// world is one simulated cluster with what happened in it.
type world struct {
	seed    uint64
	rng     *rand.Rand // of the schedule
	dice    *rand.Rand // of the handlers, under mu
	network *memnet.Network
	broker  *embedded.Broker
	members []*member
	gone    []*member
	serial  int
	stored  int
	failing bool // handlers fail now and then
	slow    bool // handlers take up to a second
	// handOff is how long a queue waits for its former owner; 0: the default.
	handOff time.Duration
	orderly bool

	sender  *troupe.Runtime
	silence context.CancelFunc // ends the sending
	sent    sync.WaitGroup

	mu        sync.Mutex
	published map[string]place // what a broker has acknowledged
	refused   int              // sends that failed: the message may be stored nevertheless
	delivered map[string][]delivery
	log       []string
}

// place is where a message stands.
type place struct {
	queue  int32
	offset int64
}

// delivery is one call of a handler for a message.
type delivery struct {
	by       *member
	at       time.Time
	end      time.Time
	returned bool
	failed   bool
}

// member is one Runtime.
type member struct {
	name string
	rt   *troupe.Runtime
	left time.Time // when it had left gracefully
	host string
}

func newWorld(seed uint64) *world {
	GinkgoHelper()
	w := &world{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), dice: rand.New(rand.NewPCG(seed, 2)), network: memnet.New(), published: make(map[string]place), delivered: make(map[string][]delivery),
	}
	l, err := w.network.Listen(address)
	Expect(err).NotTo(HaveOccurred())
	w.broker, err = embedded.Start(context.Background(), embedded.Config{Listener: l})
	Expect(err).NotTo(HaveOccurred())
	Expect(w.broker.CreateTopic(topic, queues)).To(Succeed())
	w.startSending()
	return w
}

// startSending has a Publisher send through everything that happens, over a network that is cut like that of the members.
func (w *world) startSending() {
	GinkgoHelper()
	var err error
	w.sender, err = troupe.New(rocketmq.Cluster{NameServers: []string{address}, Dialer: w.network.Dialer("10.0.2.1")}, troupe.Config{ClientID: "sender"})
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	Expect(w.sender.Start(ctx)).To(Succeed())
	p := w.sender.Publisher(troupe.PublisherConfig{Timeout: time.Second, Retries: 3})
	ctx, w.silence = context.WithCancel(context.Background())
	rng := rand.New(rand.NewPCG(w.seed, 3))
	w.sent.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			id := fmt.Sprintf("sent-%d", i)
			receipt, err := p.Send(ctx, troupe.NewMessage(topic, []byte(id)).SetProperty(messages.PropertyUniqueKey, id))
			w.mu.Lock()
			if err == nil {
				w.published[id] = place{receipt.GetQueue().GetId(), receipt.GetQueueOffset()}
			} else {
				w.refused++
			}
			w.mu.Unlock()
			pause := time.NewTimer(time.Duration(100+rng.IntN(900)) * time.Millisecond)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
			}
		}
	})
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// story is what a failing spec prints.
func (w *world) story() string {
	text := fmt.Sprintf("seed %d (TROUPE_SEED=%d runs it again)\n", w.seed, w.seed)
	for _, line := range w.log {
		text += line + "\n"
	}
	return text
}

func (w *world) join() {
	GinkgoHelper()
	w.serial++
	m := &member{name: fmt.Sprintf("member-%d", w.serial), host: fmt.Sprintf("10.0.1.%d", w.serial)}
	var err error
	m.rt, err = troupe.New(rocketmq.Cluster{NameServers: []string{address}, Dialer: w.network.Dialer(m.host)}, troupe.Config{ClientID: m.name})
	Expect(err).NotTo(HaveOccurred())
	if w.orderly {
		m.rt.Orderly(group, troupe.OrderlyConfig{ConsumeFrom: troupe.FirstOffset, Workers: 4}).Handle(topic, troupe.AllTags(), w.handler(m))
	} else {
		m.rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset, Workers: 4, HandOff: w.handOff}).Handle(topic, troupe.AllTags(), w.handler(m))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	Expect(m.rt.Start(ctx)).To(Succeed(), w.story())
	w.members = append(w.members, m)
	w.note("%s joined", m.name)
}

var errOnPurpose = errors.New("fails on purpose")

func (w *world) handler(m *member) troupe.Handler {
	return func(ctx context.Context, msg *troupe.Message) error {
		w.mu.Lock()
		id := msg.MessageID()
		w.delivered[id] = append(w.delivered[id], delivery{by: m, at: time.Now()})
		mine := len(w.delivered[id]) - 1
		var nap time.Duration
		if w.slow {
			nap = time.Duration(w.dice.IntN(1000)) * time.Millisecond
		}
		fail := w.failing && msg.GetReconsumeTimes() < 2 && w.dice.IntN(10) == 0
		w.mu.Unlock()
		if nap > 0 {
			timer := time.NewTimer(nap)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return context.Cause(ctx) // not handled: it is delivered again
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.delivered[id][mine].returned, w.delivered[id][mine].failed, w.delivered[id][mine].end = true, fail, time.Now()
		if fail {
			return errOnPurpose
		}
		return nil
	}
}

func (w *world) leave() {
	GinkgoHelper()
	m := w.take()
	Expect(m.rt.Shutdown(context.Background())).To(Succeed(), w.story())
	m.left = time.Now()
	w.gone = append(w.gone, m)
	w.note("%s left", m.name)
}

// crash cuts a member off for good; what it holds is lost.
func (w *world) crash() {
	m := w.take()
	w.network.Partition(m.host, "10.0.0.1")
	w.network.Cut(m.host)
	w.gone = append(w.gone, m)
	w.note("%s crashed", m.name)
}

func (w *world) take() *member {
	i := w.rng.IntN(len(w.members))
	m := w.members[i]
	w.members = append(w.members[:i:i], w.members[i+1:]...)
	return m
}

func (w *world) restartBroker() {
	GinkgoHelper()
	Expect(w.broker.Stop()).To(Succeed())
	time.Sleep(time.Duration(1+w.rng.IntN(10)) * time.Second)
	l, err := w.network.Listen(address)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.broker.Restart(context.Background(), l)).To(Succeed())
	w.note("the broker restarted")
}

func (w *world) publish(n int) {
	GinkgoHelper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		q := int32(w.rng.IntN(queues))
		w.stored++
		id := fmt.Sprintf("message-%d", w.stored)
		m := troupe.NewMessage(topic, []byte(id)).SetProperty(messages.PropertyUniqueKey, id)
		m.Broker, m.QueueId = w.broker.Name(), q
		w.published[id] = place{q, w.broker.MaxOffset(topic, q)}
		Expect(w.broker.Publish(m)).To(Succeed())
	}
}

// checkCommitted holds every committed offset against the handlers: nothing below it may still be running or not begun.
func (w *world) checkCommitted() {
	GinkgoHelper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, p := range w.published {
		committed, ok := w.broker.Committed(group, topic, p.queue)
		if !ok || p.offset >= committed {
			continue
		}
		returned := false
		for _, d := range w.delivered[id] {
			returned = returned || d.returned
		}
		Expect(returned).To(BeTrue(), "%s at %d/%d is committed (%d) but no handler has returned\n%s", id, p.queue, p.offset, committed, w.story())
	}
}

// missing counts the messages that no handler has brought to a good end.
func (w *world) missing() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.published {
		good := false
		for _, d := range w.delivered[id] {
			good = good || d.returned && !d.failed
		}
		if !good {
			n++
		}
	}
	return n
}

// repeated lists deliveries beyond the first that are no retries.
func (w *world) repeated() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, p := range w.published {
		var calls []string
		for _, d := range w.delivered[id] {
			if !d.failed {
				calls = append(calls, fmt.Sprintf("%s at %s (returned %t)", d.by.name, d.at.Format("15:04:05.000"), d.returned))
			}
		}
		if len(calls) > 1 {
			out = append(out, fmt.Sprintf("%s at %d/%d: %s", id, p.queue, p.offset, strings.Join(calls, ", ")))
		}
	}
	return out
}

// outOfOrder lists the queues in which a message was handled after one that stands behind it, and those in which two handlers
// ran at once.
func (w *world) outOfOrder() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	type call struct {
		at, end time.Time
		offset  int64
		id      string
	}
	calls := make(map[int32][]call)
	for id, p := range w.published {
		for _, d := range w.delivered[id] {
			calls[p.queue] = append(calls[p.queue], call{at: d.at, end: d.end, offset: p.offset, id: id})
		}
	}
	for queue, list := range calls {
		slices.SortFunc(list, func(x, y call) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.offset, y.offset)) })
		for i := 1; i < len(list); i++ {
			if list[i].offset < list[i-1].offset || list[i].at.Before(list[i-1].end) {
				out = append(out, fmt.Sprintf("queue %d: %s at %d after %s at %d", queue, list[i].id, list[i].offset, list[i-1].id, list[i-1].offset))
			}
		}
	}
	return out
}

// finish lets everything come to its end, and takes the world down.
func (w *world) finish() {
	GinkgoHelper()
	w.silence()
	w.sent.Wait()
	Expect(w.published).To(HaveKey(HavePrefix("sent-")), "the Publisher got through")
	for wait := 0; w.missing() > 0; wait++ {
		Expect(wait).To(BeNumerically("<", 600), "%d of %d messages are missing ten virtual minutes after the last event\n%s", w.missing(), len(w.published), w.story())
		time.Sleep(time.Second)
	}
	w.checkCommitted()
	for len(w.members) > 0 {
		w.leave()
	}
	for _, m := range w.gone {
		if m.left.IsZero() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = m.rt.Shutdown(ctx) // cut off from the broker, it can store nothing
			cancel()
		}
	}
	Expect(w.sender.Shutdown(context.Background())).To(Succeed())
	Expect(w.broker.Close()).To(Succeed())
}
