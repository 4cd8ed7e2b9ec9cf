package actors

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// What a pull group's program does with queues by hand, as the classic pull consumer: nothing has to be assigned for it
// (DefaultMQPullConsumer, protocol.md 5.13).

// handTable has the offsets that a program commits of queues that are not assigned.
type handTable struct {
	mu     sync.Mutex
	queues map[messages.QueueKey]*queueStatus
}

// of gives the status of a queue that was committed by hand; nil if it was not.
func (t *handTable) of(key messages.QueueKey) *queueStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queues[key]
}

// commit notes an offset.
func (t *handTable) commit(key messages.QueueKey, offset int64) (s *queueStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s = t.queues[key]; s == nil {
		s = &queueStatus{key: key}
		if t.queues == nil {
			t.queues = make(map[messages.QueueKey]*queueStatus)
		}
		t.queues[key] = s
	}
	s.committed.Store(offset)
	return s
}

// route makes sure that a topic's brokers are known. Errors: ErrNoRoute, ctx's.
func (p *PollGroup) route(ctx context.Context, topic string) (*messages.TopicRoute, error) {
	if route, _ := p.client.env.Directory.Route(topic); route != nil {
		return route, nil
	}
	p.client.Watch(topic)
	route, err := p.client.env.Directory.Await(ctx, topic)
	if err == nil {
		return route, nil
	}
	// The answer may be an old one: the topic may have come since.
	if _, again := p.client.env.Link.Route(ctx, topic); again != nil {
		return nil, again
	}
	p.client.Refresh(topic)
	return p.client.env.Directory.AwaitRoute(ctx, topic)
}

// Queues gives the queues of a topic that can be read, in order.
func (p *PollGroup) Queues(ctx context.Context, topic string) ([]*messages.Queue, error) {
	route, err := p.route(ctx, topic)
	if err != nil {
		return nil, err
	}
	return queuesOf(SubscribeQueues(route)), nil
}

// MinOffset is the offset of the queue's oldest message.
func (p *PollGroup) MinOffset(ctx context.Context, q *messages.Queue) (int64, error) {
	return p.read(ctx, q, func(ctx context.Context, addr string) (int64, error) {
		return p.client.env.Link.MinOffset(ctx, addr, q)
	})
}

// MaxOffset is the offset of the queue's next message.
func (p *PollGroup) MaxOffset(ctx context.Context, q *messages.Queue) (int64, error) {
	return p.read(ctx, q, func(ctx context.Context, addr string) (int64, error) {
		return p.client.env.Link.MaxOffset(ctx, addr, q)
	})
}

// OffsetAt is the first offset that was stored at or after a time.
func (p *PollGroup) OffsetAt(ctx context.Context, q *messages.Queue, at time.Time) (int64, error) {
	return p.read(ctx, q, func(ctx context.Context, addr string) (int64, error) {
		return p.client.env.Link.OffsetAt(ctx, addr, q, at)
	})
}

func (p *PollGroup) read(
	ctx context.Context, q *messages.Queue, ask func(ctx context.Context, address string) (int64, error),
) (offset int64, err error) {
	if _, err := p.route(ctx, q.GetTopic()); err != nil {
		return 0, err
	}
	_, err = p.client.env.atMember(ctx, q, offsetTimeout, func(ctx context.Context, addr string) (err error) {
		offset, err = ask(ctx, addr)
		return err
	})
	return offset, err
}

// Committed reads where the group stands on a queue: from the cluster, or from this member's own store. Error: messages.ErrNoOffset if it
// stands nowhere.
func (p *PollGroup) Committed(ctx context.Context, q *messages.Queue) (int64, error) {
	if _, err := p.route(ctx, q.GetTopic()); err != nil {
		return 0, err
	}
	return p.group.home.committed(ctx, q)
}

// Noted gives what is committed of a queue here, whether it is stored already or not.
func (p *PollGroup) Noted(key messages.QueueKey) (int64, bool) {
	for _, q := range p.queues() {
		if q.key == key && q.polls.Load() != nil {
			return q.status.committed.Load(), true
		}
	}
	if s := p.group.byHand.of(key); s != nil {
		return s.committed.Load(), true
	}
	return 0, false
}

// Note commits an offset of a queue; it is stored with the next round of the OffsetPersister, or by Store.
func (p *PollGroup) Note(ctx context.Context, q *messages.Queue, offset int64) error {
	if _, err := p.route(ctx, q.GetTopic()); err != nil {
		return err
	}
	if l := p.line(q.Key()); l != nil {
		l.Hold(offset)
		return nil
	}
	// Told each time: the queue may have been assigned meanwhile, and given up again.
	s := p.group.byHand.commit(q.Key(), offset)
	p.client.Tell(p.group.spec.Name, &trackOffset{key: q.Key(), status: s, start: -1, byHand: true})
	return nil
}

// ByHand are the queues that were committed by hand and are not assigned.
func (p *PollGroup) ByHand() (keys []messages.QueueKey) {
	p.group.byHand.mu.Lock()
	defer p.group.byHand.mu.Unlock()
	for key := range p.group.byHand.queues {
		keys = append(keys, key)
	}
	return keys
}

// HandPull is a pull by hand.
type HandPull struct {
	Queue        *messages.Queue
	Subscription *messages.Subscription
	Offset       int64
	Max          int32
	// Suspend is how long the broker may hold the pull when there is nothing new; 0: not at all.
	Suspend, Timeout time.Duration
}

// Pull pulls once. The broker's answer is given whatever its status; the messages are those that the subscription's tags want.
// Errors: *messages.BrokerError, *messages.NetworkError, ErrNoRoute, ctx's.
func (p *PollGroup) Pull(ctx context.Context, h HandPull) (*messages.PullReply, []*messages.Message, error) {
	if _, err := p.route(ctx, h.Queue.GetTopic()); err != nil {
		return nil, nil, err
	}
	env, member := p.client.env, p.memberOf(h.Queue.Key())
	addr, ok := member.target(env.Directory, h.Queue.GetBroker())
	if !ok {
		return nil, nil, &messages.NetworkError{
			Request: "PULL_MESSAGE", Address: h.Queue.GetBroker(), NotSent: true, Reason: "no route names an address of this broker",
		}
	}
	reply, err := p.exchange(ctx, &messages.PullRequest{
		Address: addr, Group: p.group.spec.Name, Queue: h.Queue, Offset: h.Offset, MaxMessages: h.Max, MaxBytes: p.group.spec.PullBytes,
		SuspendMillis: h.Suspend.Milliseconds(), TimeoutMillis: h.Timeout.Milliseconds(), Kind: h.Subscription.GetKind(),
		SubscriptionVersion: h.Subscription.GetVersion(), Subscription: h.Subscription,
	})
	if member.learn(addr, reply, err) {
		p.client.Refresh(h.Queue.GetTopic())
	}
	if err != nil {
		return nil, nil, err
	}
	return reply, p.decode(reply, h), nil
}

// handMember is whom pulls by hand of a queue ask.
type handMember struct {
	mu     sync.Mutex
	choice memberChoice
}

func (p *PollGroup) memberOf(key messages.QueueKey) *handMember {
	if m, ok := p.group.handMembers.Load(key); ok {
		return m.(*handMember)
	}
	m, _ := p.group.handMembers.LoadOrStore(key, &handMember{})
	return m.(*handMember)
}

func (m *handMember) target(d *Directory, broker string) (address string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	address, _, ok = m.choice.target(d, broker, time.Now())
	return address, ok
}

// learn follows the outcome of a pull; unreached says that the route may be an old one.
func (m *handMember) learn(address string, reply *messages.PullReply, err error) (unreached bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.choice.answered(address, reply.GetSuggestedBrokerId())
		return false
	}
	m.choice.failed()
	network, unreached := errors.AsType[*messages.NetworkError](err)
	if unreached {
		m.choice.missed(address, time.Now())
	}
	return unreached && network.NotSent
}

func (p *PollGroup) exchange(ctx context.Context, req *messages.PullRequest) (*messages.PullReply, error) {
	type outcome struct {
		reply *messages.PullReply
		err   error
	}
	done := make(chan outcome, 1)
	underway := p.client.env.Link.Pull(req, PullFunc(func(reply *messages.PullReply, err error) { done <- outcome{reply, err} }))
	select {
	case o := <-done:
		return o.reply, o.err
	case <-ctx.Done():
		underway.Cancel()
		<-done // comes soon: nothing of the pull is left behind
		return nil, ctx.Err()
	}
}

func (p *PollGroup) decode(reply *messages.PullReply, h HandPull) []*messages.Message {
	if len(reply.GetRecords()) == 0 {
		return nil
	}
	slab, corrupt := p.client.env.Link.Decode(reply, h.Queue, p.group.spec.Name)
	for _, r := range corrupt {
		p.client.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT, Group: p.group.spec.Name, Queue: h.Queue,
			Offset: r.QueueOffset, Text: r.Reason,
		})
	}
	out := make([]*messages.Message, 0, len(slab))
	for i := range slab {
		if slab[i].GetQueueOffset() >= h.Offset && wanted(&slab[i], h.Subscription) {
			out = append(out, &slab[i])
		}
	}
	return out
}

// SendBack hands a message back and returns when a broker has taken it: it goes to the group's retry topic, or to the dead letter topic when
// it was retried often enough or delay is negative. A delay of 0 leaves it to the broker's schedule.
func (p *PollGroup) SendBack(ctx context.Context, m *messages.Message, delay time.Duration) error {
	q := &messages.Queue{Topic: m.GetTopic(), Broker: m.GetBroker(), Id: m.GetQueueId()}
	if _, err := p.route(ctx, q.GetTopic()); err != nil {
		return err
	}
	level := levelByBroker
	switch {
	case delay < 0:
		level = levelDeadLetter
	case delay > 0:
		level = delayLevelOf(RetryAfter(delay, nil))
	}
	return p.ask(ctx, 1, func(_ int, done func(error)) kit.Message {
		return &handBack{HandBack: &messages.HandBack{Queue: q, Message: m, DelayLevel: level, Reason: "by hand"}, done: done}
	})
}

func wanted(m *messages.Message, s *messages.Subscription) bool {
	return len(s.GetTags()) == 0 || m.HasTag(s.GetTags())
}
