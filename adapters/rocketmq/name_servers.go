package rocketmq

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// failedFor is how long a name server that failed is asked only after the others.
const failedFor = 30 * time.Second

// nameServers is the list of name servers: one is chosen and kept, the next takes its place when it fails
// (NettyRemotingClient.getAndCreateNameserverChannel).
type nameServers struct {
	jitter func() float64

	mu         sync.Mutex
	configured []string
	order      []string // shuffled, so that clients spread
	chosen     int
	failed     map[string]time.Time
}

func newNameServers(addresses []string, jitter func() float64) *nameServers {
	s := &nameServers{jitter: jitter, failed: map[string]time.Time{}}
	s.replace(addresses)
	return s
}

// list gives the addresses as they were given.
func (s *nameServers) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.configured)
}

// replace takes another list, unless it names the same addresses, and gives those that are no longer in it. The chosen one
// is kept if it is.
func (s *nameServers) replace(addresses []string) (gone []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := slices.Sorted(slices.Values(s.order))
	if slices.Equal(was, slices.Sorted(slices.Values(addresses))) {
		return nil
	}
	chosen := ""
	if s.chosen < len(s.order) {
		chosen = s.order[s.chosen]
	}
	s.configured, s.order = slices.Clone(addresses), slices.Clone(addresses)
	for i := len(s.order) - 1; i > 0; i-- {
		j := int(s.jitter() * float64(i+1))
		s.order[i], s.order[j] = s.order[j], s.order[i]
	}
	s.chosen = max(slices.Index(s.order, chosen), 0)
	for _, a := range was {
		if !slices.Contains(s.order, a) {
			delete(s.failed, a)
			gone = append(gone, a)
		}
	}
	return gone
}

// turn gives the addresses in the order in which to ask them: the chosen one first, those that have just failed last.
func (s *nameServers) turn() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var good, bad []string
	for i := range s.order {
		a := s.order[(s.chosen+i)%len(s.order)]
		if at, ok := s.failed[a]; ok && now.Sub(at) < failedFor {
			bad = append(bad, a)
		} else {
			good = append(good, a)
		}
	}
	return append(good, bad...)
}

// answered notes an address that works: it is the chosen one from now on.
func (s *nameServers) answered(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, address)
	s.chosen = max(slices.Index(s.order, address), 0)
}

// failing notes an address that does not.
func (s *nameServers) failing(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[address] = time.Now()
}

// isFailing tells whether an address has just failed.
func (s *nameServers) isFailing(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.failed[address]
	return ok && time.Since(at) < failedFor
}

// Route gives the route of a topic (GET_ROUTEINFO_BY_TOPIC, 105). Name servers are asked in turn until one knows the topic,
// each for at most its time-out; those that have just failed only if no other answers at all.
func (l *link) Route(ctx context.Context, topic string) (*messages.TopicRoute, error) {
	if l.lookup != nil {
		if err := l.lookup.ensure(ctx); err != nil {
			return nil, err
		}
	}
	var unknown, last error
	for _, address := range l.servers.turn() {
		if unknown != nil && l.servers.isFailing(address) {
			break
		}
		route, err := l.routeFrom(ctx, address, topic)
		if err == nil {
			l.servers.answered(address)
			return route, nil
		}
		if errors.Is(err, messages.ErrNoRoute) {
			if unknown == nil {
				l.servers.answered(address)
			}
			unknown = err
			continue
		}
		last = err
		if errors.Is(ctx.Err(), context.Canceled) {
			break // that was the caller's doing, not the name server's
		}
		l.servers.failing(address)
		if ctx.Err() != nil {
			break // the next question begins with another one
		}
	}
	if unknown != nil {
		return nil, unknown
	}
	return nil, last
}

// routeFrom asks one name server.
func (l *link) routeFrom(ctx context.Context, address, topic string) (*messages.TopicRoute, error) {
	cmd := newRequest(wire.GetRouteInfoByTopic, &wire.TopicHeader{Topic: topic}, nil)
	t := target{address: address}
	answer, err := l.call(ctx, l.timeouts.route, address, cmd)
	if err != nil {
		return nil, err
	}
	switch wire.ResponseCode(answer.Code) {
	case wire.Success:
	case wire.TopicNotExist:
		return nil, &messages.NoRouteError{Topic: topic}
	default:
		return nil, refusal(cmd, answer, t)
	}
	data, err := wire.DecodeTopicRouteData(answer.Body)
	if err != nil {
		return nil, malformed(cmd, t, err)
	}
	return data.Route(topic), nil
}
