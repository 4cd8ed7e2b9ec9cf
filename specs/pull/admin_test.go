package pull_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// slowNames is a cluster of two brokers whose name servers hear of a topic late, one broker after the other.
type slowNames struct {
	actors.Link
	actors.AdminPort
	made  []string
	asked int32
	// slave: broker b has lost its master.
	slave bool
}

func (*slowNames) Check() []*actors.ConfigError { return nil }

func (s *slowNames) Open(actors.LinkConfig) (actors.Link, error) { return s, nil }

func (*slowNames) Close() error { return nil }

func (s *slowNames) Brokers(context.Context) ([]*messages.BrokerAddresses, error) {
	b := map[int64]string{0: "b:1", 1: "b:2"}
	if s.slave {
		delete(b, 0)
	}
	return []*messages.BrokerAddresses{
		{Broker: "a", Cluster: "c", Addresses: map[int64]string{0: "a:1"}}, {Broker: "b", Cluster: "c", Addresses: b},
	}, nil
}

func (*slowNames) Topics(context.Context) ([]string, error) { return []string{"orders"}, nil }

func (s *slowNames) CreateTopic(_ context.Context, address string, t *messages.TopicConfig) error {
	s.made = append(s.made, address)
	return nil
}

// Route knows nothing at first, then the old numbers of queues, then one broker's new one, then both.
func (s *slowNames) Route(ctx context.Context, topic string) (*messages.TopicRoute, error) {
	s.asked++
	queues := func(broker string, n int32) *messages.QueueGroup {
		return &messages.QueueGroup{Broker: broker, ReadQueues: n, WriteQueues: n, Perm: 6}
	}
	stages := [][]*messages.QueueGroup{{queues("a", 2), queues("b", 2)}, {queues("a", 5), queues("b", 2)}, {queues("a", 5), queues("b", 5)}}
	if s.asked == 1 {
		return nil, &messages.NoRouteError{Topic: topic}
	}
	brokers, err := s.Brokers(ctx)
	return &messages.TopicRoute{Topic: topic, Queues: stages[min(s.asked-2, 2)], Brokers: brokers}, err
}

// mute is a transport without an operator's verbs.
type mute struct{ *slowNames }

type muteLink struct{ actors.Link }

func (muteLink) Close() error { return nil }

func (mute) Open(actors.LinkConfig) (actors.Link, error) { return muteLink{}, nil }

var _ = Describe("An Admin", func() {
	It("makes a topic at every broker and returns when the name servers know so of each", func(ctx SpecContext) {
		names := &slowNames{}
		a, err := troupe.OpenAdmin(names)
		Expect(err).NotTo(HaveOccurred())
		Expect(a.CreateTopic(ctx, "orders", 5)).To(Succeed())
		Expect(names.made).To(Equal([]string{"a:1", "b:1"}))
		Expect(names.asked).To(Equal(int32(4)))
		Expect(a.CreateTopic(ctx, "orders?", 0)).To(MatchError(And(ContainSubstring("may hold letters"), ContainSubstring("queues = 0: must be from 1 to 1024"))))
		Expect(names.made).To(HaveLen(2))

		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		names.asked = 0
		names.made = nil
		Expect(a.CreateTopic(short, "orders", 7)).To(MatchError(context.DeadlineExceeded))
		Expect(names.made).To(HaveLen(2))
		Expect(a.Close()).To(Succeed())
	}, SpecTimeout(30*time.Second))

	It("changes nothing at a slave", func(ctx SpecContext) {
		names := &slowNames{slave: true, asked: 10}
		a, err := troupe.OpenAdmin(names)
		Expect(err).NotTo(HaveOccurred())
		// Any request to a broker would be a nil pointer's.
		noMaster := MatchError(ContainSubstring("broker b has no master now"))
		Expect(a.CreateTopic(ctx, "orders", 5)).To(noMaster)
		Expect(a.DeleteTopic(ctx, "orders")).To(noMaster)
		_, err = a.Topics(ctx, true)
		Expect(err).NotTo(HaveOccurred())
		Expect(names.made).To(BeEmpty())
		Expect(a.Close()).To(Succeed())
	})

	It("needs a transport that has an operator's verbs", func() {
		_, err := troupe.OpenAdmin(mute{})
		Expect(err).To(MatchError(ContainSubstring("cannot administer")))
	})
})
