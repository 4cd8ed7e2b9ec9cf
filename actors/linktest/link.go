package linktest

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

var (
	_ actors.Transport = (*Cluster)(nil)
	_ actors.Link      = (*link)(nil)
)

type link struct {
	cluster *Cluster
	config  actors.LinkConfig
	closed  context.Context
	shut    context.CancelFunc
	pulls   sync.WaitGroup
}

// Check finds no fault.
func (c *Cluster) Check() []*actors.ConfigError { return nil }

// Open makes a Link.
func (c *Cluster) Open(config actors.LinkConfig) (actors.Link, error) {
	l := &link{cluster: c, config: config}
	l.closed, l.shut = context.WithCancel(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = append(c.links, l)
	return l, nil
}

// call records, plays the script and, unless that says otherwise, does the ordinary thing under the cluster's lock.
func (l *link) call(ctx context.Context, call Call, ordinary func() (any, error)) (value any, err error) {
	recorded, a := l.begin(call)
	if err = l.play(ctx, recorded, a); err == nil {
		if value = a.Value; value == nil {
			l.cluster.mu.Lock()
			value, err = ordinary()
			l.cluster.mu.Unlock()
		}
	}
	l.cluster.end(recorded, err)
	return value, err
}

func (l *link) Route(ctx context.Context, topic string) (*messages.TopicRoute, error) {
	v, err := l.call(ctx, Call{Op: Route, Topic: topic}, func() (any, error) {
		if r := l.cluster.routes[topic]; r != nil {
			return proto.Clone(r), nil
		}
		return nil, &messages.NoRouteError{Topic: topic}
	})
	r, _ := v.(*messages.TopicRoute)
	return r, err
}

func (l *link) NameServers() []string { return []string{"names:9876"} }

func (l *link) Heartbeat(ctx context.Context, address string, h *messages.Heartbeat) error {
	_, err := l.call(ctx, Call{Op: Heartbeat, Address: address, Request: h}, func() (any, error) {
		c := l.cluster
		for _, g := range h.GetGroups() {
			if !slices.Contains(c.members[g.GetGroup()], h.GetClientId()) {
				c.members[g.GetGroup()] = append(c.members[g.GetGroup()], h.GetClientId())
			}
			c.subscribes(g.GetGroup(), h.GetClientId(), g.GetSubscriptions())
			c.makeRetryTopic(g.GetGroup(), c.brokerAt(address))
		}
		return nil, nil
	})
	return err
}

func (l *link) Unregister(ctx context.Context, address, consumerGroup, producerGroup string) error {
	_, err := l.call(ctx, Call{Op: Unregister, Address: address, Group: consumerGroup + producerGroup}, func() (any, error) {
		id := l.config.ClientID
		l.cluster.members[consumerGroup] = slices.DeleteFunc(l.cluster.members[consumerGroup], func(m string) bool { return m == id })
		return nil, nil
	})
	return err
}

func (l *link) CheckSubscription(ctx context.Context, address, group string, s *messages.Subscription) error {
	_, err := l.call(ctx, Call{Op: CheckSubscription, Address: address, Group: group, Topic: s.GetTopic(), Request: s}, func() (any, error) {
		return nil, nil
	})
	return err
}

func (l *link) Members(ctx context.Context, address, group string) ([]string, error) {
	v, err := l.call(ctx, Call{Op: Members, Address: address, Group: group}, func() (any, error) {
		if len(l.cluster.members[group]) == 0 {
			return nil, Refusal(1)
		}
		return slices.Clone(l.cluster.members[group]), nil
	})
	members, _ := v.([]string)
	return members, err
}

func (l *link) offset(ctx context.Context, op Op, address, group string, q *messages.Queue, ordinary func(*storedQueue) (int64, error)) (int64, error) {
	v, err := l.call(ctx, Call{Op: op, Address: address, Group: group, Topic: q.GetTopic(), Queue: q.Key()}, func() (any, error) {
		return ordinary(l.cluster.queue(q.Key()))
	})
	offset, _ := v.(int64)
	return offset, err
}

func (l *link) Committed(ctx context.Context, address, group string, q *messages.Queue) (int64, error) {
	return l.offset(ctx, Committed, address, group, q, func(*storedQueue) (int64, error) {
		if o, ok := l.cluster.offsets[group][q.Key()]; ok {
			return o, nil
		}
		return 0, messages.ErrNoOffset
	})
}

func (l *link) Commit(ctx context.Context, address, group string, q *messages.Queue, offset int64) error {
	_, err := l.call(ctx, Call{Op: Commit, Address: address, Group: group, Topic: q.GetTopic(), Queue: q.Key(), Offset: offset},
		func() (any, error) {
			l.cluster.setOffset(group, q.Key(), offset)
			return nil, nil
		})
	return err
}

func (l *link) CommitOneWay(ctx context.Context, address, group string, q *messages.Queue, offset int64) error {
	return l.Commit(ctx, address, group, q, offset)
}

func (l *link) MinOffset(ctx context.Context, address string, q *messages.Queue) (int64, error) {
	return l.offset(ctx, MinOffset, address, "", q, func(s *storedQueue) (int64, error) { return s.min, nil })
}

func (l *link) MaxOffset(ctx context.Context, address string, q *messages.Queue) (int64, error) {
	return l.offset(ctx, MaxOffset, address, "", q, func(s *storedQueue) (int64, error) { return s.min + int64(len(s.stored)), nil })
}

func (l *link) OffsetAt(ctx context.Context, address string, q *messages.Queue, _ time.Time) (int64, error) {
	return l.offset(ctx, OffsetAt, address, "", q, func(s *storedQueue) (int64, error) { return s.min, nil })
}

// cancelPull is a pull of a scripted Link that is under way.
type cancelPull func()

// Cancel gives it up.
func (f cancelPull) Cancel() { f() }

func (l *link) Pull(req *messages.PullRequest, done actors.PullDone) actors.PullUnderway {
	key := req.GetQueue().Key()
	recorded, a := l.begin(Call{
		Op: Pull, Address: req.GetAddress(), Group: req.GetGroup(), Topic: key.Topic, Queue: key, Offset: req.GetOffset(), Request: req,
	})
	if a.Panic != nil {
		l.cluster.end(recorded, nil)
		panic(a.Panic)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(req.GetTimeoutMillis())*time.Millisecond)
	l.pulls.Go(func() {
		defer stop()
		err := l.play(ctx, recorded, a)
		reply, _ := a.Value.(*messages.PullReply)
		if err == nil && reply == nil {
			reply, err = l.cluster.pull(ctx, l.closed, req)
		}
		l.cluster.end(recorded, err)
		done.Pulled(reply, err)
	})
	return cancelPull(func() {
		l.begin(Call{Op: Cancel, Address: req.GetAddress(), Queue: key, Offset: req.GetOffset()})
		stop()
	})
}

// pull answers as a broker does: what there is, or what comes within the suspension.
func (c *Cluster) pull(ctx, closed context.Context, req *messages.PullRequest) (*messages.PullReply, error) {
	key, offset := req.GetQueue().Key(), req.GetOffset()
	held := time.NewTimer(time.Duration(req.GetSuspendMillis()) * time.Millisecond)
	defer held.Stop()
	c.mu.Lock()
	if req.GetCommit() {
		c.setOffset(req.GetGroup(), key, req.GetCommitOffset())
	}
	c.mu.Unlock()
	for over := false; ; {
		c.mu.Lock()
		q := c.queue(key)
		end := q.min + int64(len(q.stored))
		reply := &messages.PullReply{Status: messages.PullStatus_PULL_STATUS_NO_NEW_MSG, NextOffset: offset, MinOffset: q.min, MaxOffset: end}
		switch {
		case offset < q.min:
			reply.Status, reply.NextOffset = messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL, q.min
		case offset > end:
			reply.Status, reply.NextOffset = messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL, end
		case offset < end:
			reply.Status, reply.NextOffset = messages.PullStatus_PULL_STATUS_FOUND, min(end, offset+int64(req.GetMaxMessages()))
			for _, m := range q.stored[offset-q.min : reply.GetNextOffset()-q.min] {
				reply.Records = encode(reply.Records, m)
			}
		}
		changed := q.changed
		c.mu.Unlock()
		if over || reply.GetStatus() != messages.PullStatus_PULL_STATUS_NO_NEW_MSG {
			return reply, nil
		}
		select {
		case <-changed:
		case <-held.C:
			over = true
		case <-ctx.Done():
			return nil, &messages.NetworkError{Request: "PULL", Address: req.GetAddress(), Reason: "given up", TimedOut: ctx.Err() == context.DeadlineExceeded}
		case <-closed.Done():
			return nil, &messages.NetworkError{Request: "PULL", Address: req.GetAddress(), Reason: "closed"}
		}
	}
}

// A record is the place of the message in the log and its body, so that its size counts.
func encode(to []byte, m *messages.Message) []byte {
	to = binary.BigEndian.AppendUint64(to, uint64(m.GetCommitLogOffset()))
	to = binary.BigEndian.AppendUint32(to, uint32(len(m.GetBody())))
	return append(to, m.GetBody()...)
}

func (l *link) Decode(reply *messages.PullReply, q *messages.Queue, group string) ([]messages.Message, []actors.CorruptRecord) {
	recorded, a := l.begin(Call{Op: Decode, Topic: q.GetTopic(), Queue: q.Key(), Group: group, Offset: reply.GetNextOffset(), Request: reply})
	err := l.play(context.Background(), recorded, a)
	l.cluster.end(recorded, err)
	if err != nil {
		return nil, []actors.CorruptRecord{{QueueOffset: -1, Reason: err.Error()}}
	}
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	slab := make([]messages.Message, 0, 32)
	for rest := reply.GetRecords(); len(rest) > 0; {
		of := l.cluster.log[binary.BigEndian.Uint64(rest)]
		size := binary.BigEndian.Uint32(rest[8:])
		slab = append(slab, messages.Message{
			Topic: of.GetTopic(), Body: rest[12 : 12+size : 12+size], RawProperties: of.GetRawProperties(), Broker: of.GetBroker(),
			QueueId: of.GetQueueId(), QueueOffset: of.GetQueueOffset(), CommitLogOffset: of.GetCommitLogOffset(),
			ReconsumeTimes: of.GetReconsumeTimes(), StoreHost: []byte{127, 0, 0, 1, 0, 0, 42, 159},
		})
		rest = rest[12+size:]
	}
	return slab, nil
}

func (l *link) SendBack(ctx context.Context, back *messages.SendBack) error {
	_, err := l.call(ctx, Call{Op: SendBack, Address: back.GetAddress(), Group: back.GetGroup(), Topic: back.GetOriginTopic(), Offset: back.GetCommitLogOffset(), Request: back},
		func() (any, error) {
			of := l.cluster.log[back.GetCommitLogOffset()]
			l.cluster.retry(back.GetGroup(), back.GetBroker(), of, back.GetDelayLevel(), back.GetMaxReconsumeTimes())
			return nil, nil
		})
	return err
}

func (l *link) Send(ctx context.Context, req *messages.SendRequest) (*messages.SendReceipt, error) {
	_, err := l.call(ctx, Call{Op: Send, Address: req.GetAddress(), Topic: req.GetQueue().GetTopic(), Queue: req.GetQueue().Key(), Request: req},
		func() (any, error) {
			m := &messages.Message{Body: req.GetBody(), RawProperties: req.GetProperties(), ReconsumeTimes: req.GetReconsumeTimes() - 1}
			if key := req.GetQueue().Key(); !strings.HasPrefix(key.Topic, actors.RetryTopic("")) {
				m.Topic, m.ReconsumeTimes = key.Topic, 0
				l.cluster.store(key, m)
				return nil, nil
			}
			m.Topic = m.Property(messages.PropertyRetryTopic)
			l.cluster.retry(req.GetProducerGroup(), req.GetQueue().GetBroker(), m, 1, req.GetMaxReconsumeTimes())
			return nil, nil
		})
	return &messages.SendReceipt{}, err
}

func (l *link) EncodeBatch([]*messages.Message) ([]byte, error) {
	return nil, fmt.Errorf("no batches here")
}

func (l *link) UniqueID() string { return fmt.Sprintf("ID%d", l.cluster.Now()) }

func (l *link) Facts() []*messages.ConnectionFacts { return nil }

func (l *link) KeepBrokers(addresses []string) {
	l.begin(Call{Op: Keep, Address: fmt.Sprint(addresses)})
}

func (l *link) Close() error {
	l.begin(Call{Op: Close})
	l.shut()
	l.pulls.Wait()
	return nil
}
