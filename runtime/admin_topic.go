package troupe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// QueueInfo is what a broker has of a queue.
type QueueInfo struct {
	Queue *Queue
	// MinOffset is that of the oldest message, MaxOffset that of the next one.
	MinOffset, MaxOffset int64
	// LastStored is when the youngest message was stored; zero if there is none.
	LastStored time.Time
}

// TopicInfo describes a topic.
type TopicInfo struct {
	Topic   string
	Brokers []*messages.BrokerAddresses
	// Routes are the numbers of queues to read and to write, and the permissions, at each broker.
	Routes []*QueueGroup
	Queues []QueueInfo
	// Groups are those that consume it now, or have.
	Groups []string
}

// Topics lists the topics of the cluster, sorted; without all, those of the cluster itself, of retries and of dead letters are left out.
func (a *Admin) Topics(ctx context.Context, all bool) ([]string, error) {
	topics, err := a.port.Topics(ctx)
	if err != nil {
		return nil, err
	}
	if !all {
		brokers, err := a.port.Brokers(ctx)
		if err != nil {
			return nil, err
		}
		topics = slices.DeleteFunc(topics, func(name string) bool {
			return isSystemTopic(name) || isGroupTopic(name) || isBrokerTopic(name, brokers)
		})
	}
	return topics, nil
}

// isGroupTopic tells the topics of retries and dead letters.
func isGroupTopic(name string) bool {
	return strings.HasPrefix(name, "%RETRY%") || strings.HasPrefix(name, "%DLQ%")
}

// isBrokerTopic tells the topics that a broker makes of its own name and its cluster's.
func isBrokerTopic(name string, brokers []*messages.BrokerAddresses) bool {
	return slices.ContainsFunc(brokers, func(b *messages.BrokerAddresses) bool {
		return name == b.GetBroker() || name == b.GetCluster() || name == b.GetCluster()+"_REPLY_TOPIC"
	})
}

// CreateTopic makes a topic with so many queues, from 1 to 1024, at each broker of the cluster, or changes how many it has. It returns when
// the name servers know so of each.
func (a *Admin) CreateTopic(ctx context.Context, topic string, queues int) error {
	var f faults
	f.topic("topic", topic)
	f.number("queues", queues, 1, 1024)
	if err := f.err(); err != nil {
		return err
	}
	servers, err := a.changeable(ctx)
	if err != nil {
		return err
	}
	const readAndWrite = 6
	err = each(servers, func(s server) error {
		return a.port.CreateTopic(ctx, s.address, &messages.TopicConfig{
			Topic: topic, ReadQueues: int32(queues), WriteQueues: int32(queues), Perm: readAndWrite,
		})
	})
	if err != nil {
		return err
	}
	return a.await(ctx, func() (bool, error) {
		route, err := a.link.Route(ctx, topic)
		if errors.Is(err, ErrNoRoute) {
			return false, nil
		}
		return err == nil && routed(route, servers, int32(queues)), err
	})
}

// routed tells whether a route has that many queues at each of the brokers.
func routed(route *messages.TopicRoute, servers []server, queues int32) bool {
	for _, s := range servers {
		if !slices.ContainsFunc(route.GetQueues(), func(g *messages.QueueGroup) bool {
			return g.GetBroker() == s.broker && g.GetReadQueues() == queues && g.GetWriteQueues() == queues
		}) {
			return false
		}
	}
	return true
}

// await asks until the answer is yes; brokers and name servers agree after a moment.
func (a *Admin) await(ctx context.Context, done func() (bool, error)) error {
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// DeleteTopic deletes a topic with its messages everywhere. Error: ErrNoRoute if there is none.
func (a *Admin) DeleteTopic(ctx context.Context, topic string) error {
	servers, _, err := a.serving(ctx, topic)
	if err != nil {
		return err
	}
	if err := mastersOnly(servers); err != nil {
		return err
	}
	err = each(servers, func(s server) error {
		err := a.port.DeleteTopic(ctx, s.address, topic)
		if err != nil && a.isGone(ctx, s, topic) {
			return nil
		}
		return err
	})
	if err != nil {
		return err // the routes still lead to what is left
	}
	return a.port.ForgetTopic(ctx, topic)
}

// isGone tells whether a broker that failed to delete a topic has none of it any more: those of 5.x without a timer wheel fail when they
// have deleted it already.
func (a *Admin) isGone(ctx context.Context, s server, topic string) bool {
	_, err := a.port.TopicStats(ctx, s.address, topic)
	return refused(err, codeTopicNotExist)
}

// DescribeTopic tells what there is of a topic. Error: ErrNoRoute.
func (a *Admin) DescribeTopic(ctx context.Context, topic string) (*TopicInfo, error) {
	servers, route, err := a.serving(ctx, topic)
	if err != nil {
		return nil, err
	}
	info := &TopicInfo{Topic: topic, Brokers: route.GetBrokers(), Routes: route.GetQueues()}
	err = each(servers, func(s server) error {
		stats, err := a.port.TopicStats(ctx, s.address, topic)
		for _, q := range stats {
			info.Queues = append(info.Queues, QueueInfo{
				Queue: q.GetQueue(), MinOffset: q.GetMinOffset(), MaxOffset: q.GetMaxOffset(), LastStored: timeOf(q.GetLastStoredAt()),
			})
		}
		if err != nil {
			return err
		}
		groups, err := a.port.Consumers(ctx, s.address, topic)
		for _, g := range groups {
			if !isSystemGroup(g) && !slices.Contains(info.Groups, g) {
				info.Groups = append(info.Groups, g)
			}
		}
		return err
	})
	slices.Sort(info.Groups)
	slices.SortFunc(info.Queues, func(x, y QueueInfo) int { return x.Queue.Key().Compare(y.Queue.Key()) })
	return info, err
}

// readable gives the queues of a topic that can be read, with their brokers' addresses.
func (a *Admin) readable(ctx context.Context, topic string) ([]*Queue, map[string]string, error) {
	servers, route, err := a.serving(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	at := make(map[string]string, len(servers))
	for _, s := range servers {
		at[s.broker] = s.address
	}
	return asQueues(actors.SubscribeQueues(route), topic), at, nil
}
