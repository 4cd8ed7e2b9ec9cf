package actors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// RouteKeeper knows the way: topic routes, and the addresses of masters and slaves.
//
//	Owns        the watched topics with their last good routes; the only writer of the Directory
//	Parent      ClientInstance
//	In          WatchTopic, RefreshRoute, RefreshRoutesTick, RouteRetry, RouteFetched
//	Out         RouteChanged to watchers; BrokersChanged to the parent
//	States      per topic: asking, known, missing (asked again with back-off)
//	Invariants  a failure never takes a good route back; one question per topic at a time
//	Restart     watches and routes are kept by the parent's closure (routeTable), questions are asked again
//	Source      MQClientInstance.updateTopicRouteInfoFromNameServer (protocol.md 2.1, 3.1, 5.1)
type RouteKeeper struct {
	env   *Env
	table *routeTable
}

// routeTable is what survives a restart of the RouteKeeper.
type routeTable struct {
	topics    map[string]*watchedTopic
	sequence  int64
	addresses []string
}

type watchedTopic struct {
	watchers map[kit.Ref]struct{}
	route    *messages.TopicRoute
	failure  error
	// fetched orders routes by age: of two routes that disagree about a broker the younger one is believed.
	fetched int64
	asking  bool
	// again says that a fresher look was asked for while a question was under way.
	again   bool
	misses  int
	waiting *kit.Timer
}

// Back-off for a topic without an answer: from the first to the last, doubling.
const (
	routeRetryFirst = 500 * time.Millisecond
	routeRetryLast  = 10 * time.Second
)

func newRouteTable() *routeTable { return &routeTable{topics: make(map[string]*watchedTopic)} }

// Receive handles one message.
func (a *RouteKeeper) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
		c.After(a.env.Periods.RouteRefresh, &messages.RefreshRoutesTick{})
	case *messages.WatchTopic:
		a.watch(c, m.GetTopic())
	case *messages.RefreshRoute:
		a.ask(c, m.GetTopic())
	case *messages.RouteRetry:
		a.ask(c, m.GetTopic())
	case *messages.RefreshRoutesTick:
		for topic := range a.table.topics {
			a.ask(c, topic)
		}
		c.After(a.env.Periods.RouteRefresh, m)
	case *messages.RouteFetched:
		a.fetched(c, m)
	}
}

// start asks everything anew after a failure, and tells again what may have been lost in it.
func (a *RouteKeeper) start(c *kit.Context) {
	if c.Incarnation() > 1 {
		a.table.addresses = nil
		a.publish(c)
	}
	for topic, w := range a.table.topics {
		w.asking, w.waiting = false, nil
		if w.route != nil {
			a.tell(c, w, &messages.RouteChanged{Topic: topic, Route: w.route})
		}
		a.ask(c, topic)
	}
}

func (a *RouteKeeper) watch(c *kit.Context, topic string) {
	w := a.table.topics[topic]
	if w == nil {
		w = &watchedTopic{watchers: make(map[kit.Ref]struct{})}
		a.table.topics[topic] = w
	}
	asked := !c.Sender().IsZero() // else a Publisher, which reads the Directory
	if asked {
		w.watchers[c.Sender()] = struct{}{}
	}
	switch {
	case w.route != nil && asked:
		c.Reply(&messages.RouteChanged{Topic: topic, Route: w.route})
	case w.failure != nil && asked:
		c.Reply(&messages.RouteChanged{Topic: topic, Failure: messages.FailureOf(w.failure)})
	case w.route == nil && w.failure == nil:
		a.ask(c, topic)
	}
}

func (a *RouteKeeper) ask(c *kit.Context, topic string) {
	w := a.table.topics[topic]
	if w == nil {
		return
	}
	if w.asking {
		w.again = true
		return
	}
	w.asking = true
	if w.waiting != nil {
		w.waiting.Stop()
		w.waiting = nil
	}
	link := a.env.Link
	c.Go(routeTimeout, func(ctx context.Context) kit.Message {
		var route *messages.TopicRoute
		err := contained(func() (err error) {
			route, err = link.Route(ctx, topic)
			return err
		})
		return &messages.RouteFetched{Topic: topic, Route: route, Failure: messages.FailureOf(err)}
	})
}

func (a *RouteKeeper) fetched(c *kit.Context, m *messages.RouteFetched) {
	w := a.table.topics[m.GetTopic()]
	if w == nil {
		return
	}
	w.asking = false
	if err := m.GetFailure().Err(); err != nil {
		a.missed(c, m.GetTopic(), w, err)
		return
	}
	a.table.sequence++
	w.misses, w.failure, w.fetched = 0, nil, a.table.sequence
	if !proto.Equal(w.route, m.GetRoute()) {
		w.route = m.GetRoute()
		a.publish(c)
		a.env.Events.Record(&messages.Event{Kind: messages.EventKind_EVENT_KIND_ROUTE_CHANGED, Topic: m.GetTopic()})
		a.tell(c, w, &messages.RouteChanged{Topic: m.GetTopic(), Route: w.route})
	}
	if w.again {
		w.again = false
		a.ask(c, m.GetTopic())
	}
}

func (a *RouteKeeper) missed(c *kit.Context, topic string, w *watchedTopic, err error) {
	first := w.failure == nil
	w.failure, w.again = err, false
	w.misses++
	kind := messages.EventKind_EVENT_KIND_ROUTE_FAILED
	if errors.Is(err, ErrNoRoute) {
		kind = messages.EventKind_EVENT_KIND_ROUTE_MISSING
	}
	// A retry topic appears with the first heartbeat of its group: its absence is no news.
	if !isRetryTopic(topic) {
		a.env.Events.Record(&messages.Event{
			Kind: kind, Topic: topic, Text: "name servers " + joined(a.env.Link.NameServers()), Failure: messages.FailureOf(err),
		})
	}
	w.waiting = c.After(backOff(routeRetryFirst, routeRetryLast, w.misses), &messages.RouteRetry{Topic: topic})
	if w.route != nil {
		return
	}
	if first {
		a.publish(c)
	}
	a.tell(c, w, &messages.RouteChanged{Topic: topic, Failure: messages.FailureOf(err)})
}

func (a *RouteKeeper) tell(c *kit.Context, w *watchedTopic, m *messages.RouteChanged) {
	for ref := range w.watchers {
		c.Tell(ref, m)
	}
}

// publish makes a new snapshot of the Directory and tells the parent if the set of broker addresses has changed.
func (a *RouteKeeper) publish(c *kit.Context) {
	s := &directorySnapshot{
		routes: make(map[string]*messages.TopicRoute), failures: make(map[string]error),
		brokers: make(map[string]*messages.BrokerAddresses),
	}
	byAge := slices.SortedFunc(maps.Keys(a.table.topics), func(x, y string) int {
		return int(a.table.topics[x].fetched - a.table.topics[y].fetched)
	})
	for _, topic := range byAge {
		w := a.table.topics[topic]
		if w.failure != nil {
			s.failures[topic] = w.failure
		}
		if w.route == nil {
			continue
		}
		s.routes[topic] = w.route
		for _, b := range w.route.GetBrokers() {
			s.brokers[b.GetBroker()] = b
		}
	}
	for _, b := range s.brokers {
		for _, addr := range b.GetAddresses() {
			s.addresses = append(s.addresses, addr)
		}
	}
	slices.Sort(s.addresses)
	s.addresses = slices.Compact(s.addresses)
	a.env.Directory.publish(s)
	if !slices.Equal(s.addresses, a.table.addresses) {
		a.table.addresses = s.addresses
		a.env.Link.KeepBrokers(s.addresses)
		c.Tell(c.Parent(), &messages.BrokersChanged{Addresses: s.addresses})
	}
}
