package actors

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// OffsetPersister keeps where a group stands.
//
//	Owns        the tracked queues of one group with what the cluster has acknowledged
//	Parent      ConsumerGroup
//	In          LocateStart, startLocated, trackOffset, PersistTick, PersistOffset, committed
//	Out         StartLocated, OffsetPersisted to who asked
//	States      per broker: idle, committing
//	Invariants  a failed read is a failure, never an offset; commits to one broker are strictly one after the other, so an
//	            older offset cannot overtake a newer one; nothing is sent for a queue that did not move
//	Restart     the tracked queues are kept by the parent; commits under way are made again at the next tick
//	Source      RemoteBrokerOffsetStore, RebalancePushImpl.computePullFromWhere (protocol.md 5.4, 5.8)
type OffsetPersister struct {
	env   *Env
	group string
	rule  StartRule
	table *offsetTable
}

// StartRule says where a group begins on a queue for which the cluster has no offset.
type StartRule struct {
	From messages.ConsumeFrom
	// At is the time for CONSUME_FROM_TIMESTAMP.
	At time.Time
	// StrictLast takes a stored offset of 0 for "none" if From is the last offset: a broker answers 0 for a group that it
	// does not know while a queue is young (protocol.md 7.5). A group that really stands at 0 starts at the end, too.
	StrictLast bool
}

// offsetTable is what survives a restart of the OffsetPersister.
type offsetTable struct {
	queues map[messages.QueueKey]*trackedOffset
	lanes  map[string]*commitLane
	// locating are the questions for a start offset that were not answered yet, by who asked.
	locating map[kit.Ref]*messages.Queue
}

type trackedOffset struct {
	status    *queueStatus
	persisted int64
}

// commitLane is the line of commits to one broker.
type commitLane struct {
	underway bool
	urgent   []urgentCommit
	// sent is what was urgent in the run under way.
	sent []urgentCommit
}

type urgentCommit struct {
	asker kit.Ref
	m     *messages.PersistOffset
	// of is what was tracked when it was asked for; the queue may have come back since.
	of *trackedOffset
}

// trackOffset tells the OffsetPersister to persist a queue from now on; the committed offset is read from its status.
type trackOffset struct {
	key    messages.QueueKey
	status *queueStatus
	start  int64
}

// committed is the outcome of one run down a commit lane.
type committed struct {
	broker  string
	results []*messages.OffsetPersisted
	// urgent are the askers of the last results.
	urgent []urgentCommit
}

func newOffsetTable() *offsetTable {
	return &offsetTable{
		queues: make(map[messages.QueueKey]*trackedOffset), lanes: make(map[string]*commitLane),
		locating: make(map[kit.Ref]*messages.Queue),
	}
}

// Receive handles one message.
func (a *OffsetPersister) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *messages.LocateStart:
		a.table.locating[c.Sender()] = m.GetQueue()
		a.locate(c, c.Sender(), m.GetQueue())
	case *startLocated:
		delete(a.table.locating, m.asker)
		c.Tell(m.asker, m.reply)
	case *trackOffset:
		a.table.queues[m.key] = &trackedOffset{status: m.status, persisted: m.start}
	case *messages.PersistTick:
		a.persistAll(c)
		c.After(a.env.Periods.Persist, m)
	case *messages.PersistOffset:
		lane := a.lane(m.GetQueue().GetBroker())
		lane.urgent = append(lane.urgent, urgentCommit{asker: c.Sender(), m: m, of: a.table.queues[m.GetQueue().Key()]})
		a.run(c, m.GetQueue().GetBroker(), nil)
	case *committed:
		a.committed(c, m)
	}
}

type startLocated struct {
	asker kit.Ref
	reply *messages.StartLocated
}

// start goes on: what somebody waits for is asked again, what is only due at the next tick waits for that.
func (a *OffsetPersister) start(c *kit.Context) {
	for asker, q := range a.table.locating {
		a.locate(c, asker, q)
	}
	for broker, lane := range a.table.lanes {
		lane.underway = false
		lane.urgent = append(lane.sent, lane.urgent...)
		lane.sent = nil
		a.run(c, broker, nil)
	}
	c.After(a.env.Periods.Persist, &messages.PersistTick{})
}

func (a *OffsetPersister) locate(c *kit.Context, asker kit.Ref, q *messages.Queue) {
	c.Go(2*offsetTimeout, func(ctx context.Context) kit.Message {
		var offset int64
		var origin string
		err := contained(func() (err error) {
			offset, origin, err = a.find(ctx, q)
			return err
		})
		return &startLocated{asker: asker, reply: &messages.StartLocated{
			Queue: q, Offset: offset, Origin: origin, Failure: messages.FailureOf(err),
		}}
	})
}

// find reads the stored offset or applies the rule. Only QUERY_NOT_FOUND (22) lets the rule speak.
func (a *OffsetPersister) find(ctx context.Context, q *messages.Queue) (offset int64, origin string, err error) {
	addr, err := a.env.brokerOf(q)
	if err != nil {
		return 0, "", err
	}
	offset, err = a.env.Link.Committed(ctx, addr, a.group, q)
	young := a.rule.StrictLast && a.rule.From == messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET && offset == 0 &&
		!isRetryTopic(q.GetTopic())
	switch {
	case err == nil && !young:
		return offset, "stored", nil
	case err != nil && !errors.Is(err, messages.ErrNoOffset):
		return 0, "", err
	case isRetryTopic(q.GetTopic()):
		// What failed is owed to the group, whatever its rule for new messages.
		offset, err = a.env.Link.MinOffset(ctx, addr, q)
		return offset, "first", err
	}
	switch a.rule.From {
	case messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET:
		offset, err = a.env.Link.MinOffset(ctx, addr, q)
		return offset, "first", err
	case messages.ConsumeFrom_CONSUME_FROM_TIMESTAMP:
		offset, err = a.env.Link.OffsetAt(ctx, addr, q, a.rule.At)
		return offset, "timestamp", err
	default:
		offset, err = a.env.Link.MaxOffset(ctx, addr, q)
		return offset, "last", err
	}
}

func (a *OffsetPersister) lane(broker string) *commitLane {
	lane := a.table.lanes[broker]
	if lane == nil {
		lane = &commitLane{}
		a.table.lanes[broker] = lane
	}
	return lane
}

func (a *OffsetPersister) persistAll(c *kit.Context) {
	moved := make(map[string][]*messages.PersistOffset)
	for key, t := range a.table.queues {
		if offset := t.status.committed.Load(); offset != t.persisted {
			moved[key.Broker] = append(moved[key.Broker], &messages.PersistOffset{Queue: key.Queue(), Offset: offset})
		}
	}
	for broker, list := range moved {
		a.run(c, broker, list)
	}
}

// run sends what waits in a broker's lane, and the given offsets, unless a run is under way; what is urgent then waits for
// its end, what is not for the next tick.
func (a *OffsetPersister) run(c *kit.Context, broker string, moved []*messages.PersistOffset) {
	lane := a.lane(broker)
	if lane.underway || len(moved)+len(lane.urgent) == 0 {
		return
	}
	lane.underway = true
	out := &committed{broker: broker, urgent: lane.urgent}
	todo := moved
	for _, u := range lane.urgent {
		todo = append(todo, u.m)
	}
	lane.sent, lane.urgent = lane.urgent, nil
	c.Go(time.Duration(len(todo))*commitTimeout+time.Second, func(ctx context.Context) kit.Message {
		var down error
		for _, m := range todo {
			err := down
			if err == nil {
				err = contained(func() error { return a.commit(ctx, m) })
			}
			if _, dead := errors.AsType[*messages.NetworkError](err); dead {
				down = err // the rest of this run would wait for the same silence
			}
			out.results = append(out.results, &messages.OffsetPersisted{
				Queue: m.GetQueue(), Offset: m.GetOffset(), Failure: messages.FailureOf(err),
			})
		}
		return out
	})
}

func (a *OffsetPersister) commit(ctx context.Context, m *messages.PersistOffset) error {
	addr, err := a.env.brokerOf(m.GetQueue())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	err = a.env.Link.Commit(ctx, addr, a.group, m.GetQueue(), m.GetOffset())
	if err != nil || !m.GetFinal() && !m.GetInsist() {
		return err
	}
	// The queue's last pull may have carried another offset, and a broker works pulls and commits off on different threads:
	// the last word is worth a second look.
	stored, err := a.env.Link.Committed(ctx, addr, a.group, m.GetQueue())
	if err == nil && (stored < m.GetOffset() || m.GetInsist() && stored != m.GetOffset()) {
		return a.env.Link.Commit(ctx, addr, a.group, m.GetQueue(), m.GetOffset())
	}
	return nil
}

func (a *OffsetPersister) committed(c *kit.Context, m *committed) {
	lane := a.lane(m.broker)
	lane.underway, lane.sent = false, nil
	plain := len(m.results) - len(m.urgent)
	for i, r := range m.results {
		key := r.GetQueue().Key()
		of := a.table.queues[key]
		if i >= plain && m.urgent[i-plain].of != of {
			of = nil // given up meanwhile, and perhaps back: what is tracked now has its own place
		}
		switch {
		case r.GetFailure() != nil:
			a.env.Events.Record(&messages.Event{
				Kind: messages.EventKind_EVENT_KIND_OFFSET_PERSIST_FAILED, Group: a.group, Queue: r.GetQueue(),
				Offset: r.GetOffset(), Failure: r.GetFailure(),
			})
		case of != nil:
			of.persisted = r.GetOffset()
			of.status.persisted.Store(r.GetOffset())
		}
		if i < plain {
			continue
		}
		u := m.urgent[i-plain]
		if u.m.GetFinal() && of != nil {
			delete(a.table.queues, key)
		}
		if !u.asker.IsZero() {
			c.Tell(u.asker, r)
		}
	}
	a.run(c, m.broker, nil)
}
