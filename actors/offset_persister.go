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
//	In          LocateStart, startLocated, lookAtSkipped, SkippedLookedAt, trackOffset, forgetOffset, PersistTick, PersistOffset,
//	            storeOffset, committed, Announced
//	Out         StartLocated, OffsetPersisted to who asked
//	States      per lane, which is a broker or the local store: idle, committing
//	Invariants  a failed read is a failure, never an offset; commits down one lane are strictly one after the other, so an
//	            older offset cannot overtake a newer one; nothing is sent for a queue that did not move, unless its broker
//	            was away: then it may have forgotten
//	Restart     the tracked queues are kept by the parent; commits under way are made again at the next tick
//	Source      RemoteBrokerOffsetStore, LocalFileOffsetStore, RebalancePushImpl.computePullFromWhere (protocol.md 5.4, 5.8)
type OffsetPersister struct {
	env   *Env
	group string
	rule  StartRule
	table *offsetTable
	home  offsetHome
}

// StartRule says where a group begins on a queue for which the cluster has no offset.
type StartRule struct {
	From messages.ConsumeFrom
	// At is the time for CONSUME_FROM_TIMESTAMP.
	At time.Time
	// StrictLast takes a stored offset of 0 for "none" if From is the last offset: a broker answers 0 for a group that it
	// does not know while a queue is young (protocol.md 7.5). A group that really stands at 0 starts at the end, too.
	StrictLast bool
	// UnseenFromFirst starts queues at their minimum that a group has no offset for while it has one for another queue of
	// the topic (pains A03).
	UnseenFromFirst bool
}

// offsetTable is what survives a restart of the OffsetPersister.
type offsetTable struct {
	queues map[messages.QueueKey]*trackedOffset
	// lanes are the lines of commits: one to each broker, or a single one to a local store.
	lanes map[string]*commitLane
	// locating are the questions for a start offset that were not answered yet, by who asked.
	locating map[kit.Ref]*messages.LocateStart
	history  *groupHistory
	// ruled are, by topic, the queues begun by the rule that nobody has looked at yet.
	ruled map[string][]*messages.StartLocated
}

type trackedOffset struct {
	status    *queueStatus
	persisted int64
}

// commitLane is the line of commits to one place.
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
	// done, if any, is told of the outcome.
	done func(error)
}

// storeOffset stores now what is committed of a queue; done is told of the outcome, once. It comes from outside of the tree.
type storeOffset struct {
	key  messages.QueueKey
	done func(error)
}

// trackOffset tells the OffsetPersister to persist a queue from now on; the committed offset is read from its status.
type trackOffset struct {
	key    messages.QueueKey
	status *queueStatus
	start  int64
	// byHand says that no AssignedQueue has the queue: if one has it after all, or it is tracked already, nothing changes.
	byHand bool
}

// forgetOffset tells the OffsetPersister that a queue is not ours to persist any more.
type forgetOffset struct{ key messages.QueueKey }

// committed is the outcome of one run down a commit lane.
type committed struct {
	lane    string
	results []*messages.OffsetPersisted
	// urgent are the askers of the last results.
	urgent []urgentCommit
}

func newOffsetTable() *offsetTable {
	return &offsetTable{
		queues: make(map[messages.QueueKey]*trackedOffset), lanes: make(map[string]*commitLane),
		locating: make(map[kit.Ref]*messages.LocateStart), history: newGroupHistory(),
		ruled: make(map[string][]*messages.StartLocated),
	}
}

// Receive handles one message.
func (a *OffsetPersister) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *messages.LocateStart:
		a.table.locating[c.Sender()] = m
		a.locate(c, c.Sender(), m)
	case *startLocated:
		delete(a.table.locating, m.asker)
		c.Tell(m.asker, m.reply)
		a.skipping(c, m.reply)
	case *lookAtSkipped:
		a.look(c, m.topic)
	case *messages.SkippedLookedAt:
		a.skipped(m)
	case *trackOffset:
		a.track(c, m)
	case *forgetOffset:
		delete(a.table.queues, m.key)
	case *messages.PersistTick:
		a.persistAll(c)
		c.After(a.env.Periods.Persist, m)
	case *messages.PersistOffset:
		a.hurry(c, urgentCommit{asker: c.Sender(), m: m, of: a.table.queues[m.GetQueue().Key()]})
	case *storeOffset:
		a.store(c, m)
	case *committed:
		a.committed(c, m)
	case *messages.Announced:
		a.announced(m.GetAddress())
	}
}

// announced follows the first heartbeat on a new connection. A master that was away comes back with offsets of some seconds
// ago, and while it was away they went to a slave: the next tick stores them again.
func (a *OffsetPersister) announced(address string) {
	broker, _ := a.env.Directory.BrokerAt(address)
	if target, _, ok := a.env.Directory.Address(broker, masterID); !ok || target != address {
		return
	}
	for key, t := range a.table.queues {
		if key.Broker == broker {
			t.persisted = -1
		}
	}
}

type startLocated struct {
	asker kit.Ref
	reply *messages.StartLocated
}

// start goes on: what somebody waits for is asked again, what is only due at the next tick waits for that.
func (a *OffsetPersister) start(c *kit.Context) {
	for asker, m := range a.table.locating {
		a.locate(c, asker, m)
	}
	for name, lane := range a.table.lanes {
		lane.underway = false
		lane.urgent = append(lane.sent, lane.urgent...)
		lane.sent = nil
		a.run(c, name, nil)
	}
	for topic := range a.table.ruled {
		c.After(skippedTogether, &lookAtSkipped{topic})
	}
	c.After(a.env.Periods.Persist, &messages.PersistTick{})
}

func (a *OffsetPersister) track(c *kit.Context, m *trackOffset) {
	if m.byHand && a.table.queues[m.key] != nil {
		return
	}
	t := &trackedOffset{status: m.status, persisted: m.start}
	a.table.queues[m.key] = t
	if m.start < 0 && a.home.eager() {
		// Where a queue begins must not depend on whether the first tick is lived to see.
		a.hurry(c, urgentCommit{m: &messages.PersistOffset{Queue: m.key.Queue(), Offset: m.status.committed.Load()}, of: t})
	}
}

// store follows a program that commits.
func (a *OffsetPersister) store(c *kit.Context, m *storeOffset) {
	t := a.table.queues[m.key]
	if t == nil {
		m.done(ErrNotAssigned)
		return
	}
	offset := t.status.committed.Load()
	if offset == t.persisted && !a.lane(a.home.lane(m.key.Broker)).underway {
		m.done(nil)
		return
	}
	a.hurry(c, urgentCommit{m: &messages.PersistOffset{Queue: m.key.Queue(), Offset: offset}, of: t, done: m.done})
}

// hurry stores an offset as soon as its lane is free.
func (a *OffsetPersister) hurry(c *kit.Context, u urgentCommit) {
	name := a.home.lane(u.m.GetQueue().GetBroker())
	lane := a.lane(name)
	lane.urgent = append(lane.urgent, u)
	a.run(c, name, nil)
}

func (a *OffsetPersister) locate(c *kit.Context, asker kit.Ref, m *messages.LocateStart) {
	c.Go(2*offsetTimeout, func(ctx context.Context) kit.Message {
		var offset int64
		var origin string
		err := contained(func() (err error) {
			offset, origin, err = a.find(ctx, m)
			return err
		})
		return &startLocated{asker: asker, reply: &messages.StartLocated{
			Queue: m.GetQueue(), Offset: offset, Origin: origin, Failure: messages.FailureOf(err),
		}}
	})
}

// find reads the stored offset or applies the rule. Only messages.ErrNoOffset lets the rule speak.
func (a *OffsetPersister) find(ctx context.Context, m *messages.LocateStart) (offset int64, origin string, err error) {
	q := m.GetQueue()
	offset, err = a.home.committed(ctx, q)
	young := a.rule.StrictLast && a.rule.From == messages.ConsumeFrom_CONSUME_FROM_LAST_OFFSET && offset == 0 &&
		!isRetryTopic(q.GetTopic())
	switch {
	case err == nil && !young:
		a.table.history.of(q.GetTopic()).stored(q.Key(), offset)
		return offset, "stored", nil
	case err != nil && !errors.Is(err, messages.ErrNoOffset):
		return 0, "", err
	}
	from, err := a.startRule(ctx, m)
	if err != nil {
		return 0, "", err
	}
	_, err = a.env.atMember(ctx, q, offsetTimeout, func(ctx context.Context, addr string) (err error) {
		offset, origin, err = a.begin(ctx, addr, q, from)
		return err
	})
	return offset, origin, err
}

// startRule is the rule that holds for a queue without an offset.
func (a *OffsetPersister) startRule(ctx context.Context, m *messages.LocateStart) (messages.ConsumeFrom, error) {
	topic := m.GetQueue().GetTopic()
	if isRetryTopic(topic) || m.GetLate() {
		// What failed, and what came while the group was there, is owed to it, whatever its rule for new messages.
		return messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET, nil
	}
	if a.rule.UnseenFromFirst {
		if known, err := a.consumedBefore(ctx, topic); known || err != nil {
			return messages.ConsumeFrom_CONSUME_FROM_FIRST_OFFSET, err
		}
	}
	a.table.history.of(topic).begin(m.GetQueue().Key())
	return a.rule.From, nil
}

// begin finds the offset that a rule gives.
func (a *OffsetPersister) begin(
	ctx context.Context, addr string, q *messages.Queue, from messages.ConsumeFrom,
) (offset int64, origin string, err error) {
	switch from {
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

func (a *OffsetPersister) lane(name string) *commitLane {
	lane := a.table.lanes[name]
	if lane == nil {
		lane = &commitLane{}
		a.table.lanes[name] = lane
	}
	return lane
}

func (a *OffsetPersister) persistAll(c *kit.Context) {
	moved := make(map[string][]*messages.PersistOffset)
	for key, t := range a.table.queues {
		if offset := t.status.committed.Load(); offset != t.persisted {
			lane := a.home.lane(key.Broker)
			moved[lane] = append(moved[lane], &messages.PersistOffset{Queue: key.Queue(), Offset: offset})
		}
	}
	for lane, list := range moved {
		a.run(c, lane, list)
	}
}

// run stores what waits in a lane, and the given offsets, unless a run is under way; what is urgent then waits for
// its end, what is not for the next tick.
func (a *OffsetPersister) run(c *kit.Context, name string, moved []*messages.PersistOffset) {
	lane := a.lane(name)
	if lane.underway || len(moved)+len(lane.urgent) == 0 {
		return
	}
	lane.underway = true
	out := &committed{lane: name, urgent: lane.urgent}
	todo := moved
	for _, u := range lane.urgent {
		todo = append(todo, u.m)
	}
	lane.sent, lane.urgent = lane.urgent, nil
	c.Go(time.Duration(len(todo)+1)*commitTimeout+time.Second, func(ctx context.Context) kit.Message {
		for i, err := range a.home.commit(ctx, todo) {
			out.results = append(out.results, &messages.OffsetPersisted{
				Queue: todo[i].GetQueue(), Offset: todo[i].GetOffset(), Failure: messages.FailureOf(err),
			})
		}
		return out
	})
}

func (a *OffsetPersister) committed(c *kit.Context, m *committed) {
	lane := a.lane(m.lane)
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
		if u.done != nil {
			u.done(r.GetFailure().Err())
		}
	}
	a.run(c, m.lane, nil)
}
