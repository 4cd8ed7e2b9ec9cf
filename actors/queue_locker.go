package actors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// QueueLocker holds the brokers' locks of the queues that a group owns. Orderly groups consume a queue only while they hold
// its lock. Concurrent groups take locks, too, in a name of their own, so that the next owner sees when the last one has
// settled and stored everything; they do not insist on them.
//
//	Owns        the locks of one group, held and wanted
//	Parent      ConsumerGroup
//	In          lockQueue (LockQueue with its lock), UnlockQueue, RenewTick, LockAgain, Announced, MembersKnown, lockAnswered
//	Out         QueueLocked, LockLost, QueueUnlocked to the AssignedQueue
//	States      per broker: idle, asking
//	Invariants  one request to a broker at a time; each UnlockQueue gets one QueueUnlocked; a lock counts for less time here
//	            than at the broker
//	Restart     the locks are kept by the parent and asked for again
//	Source      RebalanceImpl.lockAll, RebalanceLockManager (protocol.md 5.10, 7.6)
type QueueLocker struct {
	env   *Env
	group *groupContext
	table *lockTable
}

// Times of locks: a broker keeps one for 60 s, the client believes in it for 30 s and renews it every 20 s (protocol.md 5.2).
const (
	lockLife    = 30 * time.Second
	lockRenewal = 20 * time.Second
	lockTimeout = time.Second
)

// A lock that another member holds is asked for again after these times, while it may be on its way to us and later.
const (
	lockAgainFirst = 10 * time.Millisecond
	lockAgainSoon  = 50 * time.Millisecond
	lockAgainLater = 500 * time.Millisecond
	// handOffExpected is how long a member that lives needs at the most to give a queue up, as a rule.
	handOffExpected = 2 * time.Second
)

// Locks of members that have left the group without giving them back are released in their name after this. Who was merely
// cut off has been here again by then.
const departedGrace = 1200 * time.Millisecond

// A member that left is remembered for as long as brokers keep its locks.
const departedMemory = time.Minute

// queueLock is a lock as workers see it.
type queueLock struct{ until atomic.Int64 }

// held tells whether the lock counts at a time, in milliseconds since the epoch.
func (l *queueLock) held(now int64) bool { return now < l.until.Load() }

// lockTable is what survives a restart of the QueueLocker.
type lockTable struct {
	queues   map[messages.QueueKey]*wantedLock
	lanes    map[string]*lockLane
	members  []string
	departed map[string]time.Time
}

// wantedLock is a queue that is to be locked.
type wantedLock struct {
	owner kit.Ref
	queue *messages.Queue
	lock  *queueLock
	since time.Time
	held  bool
	// told says that the owner goes on without the lock.
	told bool
}

// lockLane is the line of requests to one broker.
type lockLane struct {
	underway bool
	renew    bool
	// unable says that the broker refuses such requests; a group that does not insist asks again with the next renewal only.
	unable  bool
	again   bool // a LockAgain is on its way
	unlocks []unlock
	sent    []unlock
}

type unlock struct {
	owner kit.Ref
	queue *messages.Queue
}

// lockQueue is LockQueue with the lock that workers look at.
type lockQueue struct {
	*messages.LockQueue
	lock *queueLock
}

// lockAnswered is the outcome of one run down a lane.
type lockAnswered struct {
	broker   string
	at       time.Time
	unlocked error
	asked    []*wantedLock
	granted  []*messages.Queue
	err      error
}

func newLockTable() *lockTable {
	return &lockTable{
		queues: make(map[messages.QueueKey]*wantedLock), lanes: make(map[string]*lockLane), departed: make(map[string]time.Time),
	}
}

// Receive handles one message.
func (a *QueueLocker) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *lockQueue:
		a.want(c, m)
	case *messages.UnlockQueue:
		a.unlock(c, m.GetQueue())
	case *messages.RenewTick:
		for broker := range a.table.lanes {
			a.renew(c, broker)
		}
		c.After(lockRenewal, m)
	case *messages.Announced:
		// A broker that was away has forgotten its locks.
		if broker, ok := a.env.Directory.BrokerAt(m.GetAddress()); ok {
			a.renew(c, broker)
		}
	case *messages.LockAgain:
		a.lane(m.GetBroker()).again = false
		a.run(c, m.GetBroker())
	case *messages.MembersKnown:
		a.membersKnown(m.GetMembers())
	case *lockAnswered:
		a.answered(c, m)
	}
}

func (a *QueueLocker) start(c *kit.Context) {
	for broker, lane := range a.table.lanes {
		lane.underway, lane.again = false, false
		lane.unlocks = append(lane.sent, lane.unlocks...)
		lane.sent = nil
		a.renew(c, broker)
	}
	c.After(lockRenewal, &messages.RenewTick{})
}

func (a *QueueLocker) want(c *kit.Context, m *lockQueue) {
	broker := m.GetQueue().GetBroker()
	m.lock.until.Store(0)
	w := &wantedLock{owner: c.Sender(), queue: m.GetQueue(), lock: m.lock, since: time.Now()}
	a.table.queues[m.GetQueue().Key()] = w
	if a.lane(broker).unable && a.group.spec.Order == nil {
		w.told = true
		c.Tell(w.owner, &messages.QueueLocked{Queue: w.queue, PassedOver: true})
		return
	}
	a.run(c, broker)
}

// unlock gives a lock back. What is neither held nor being asked for needs no request.
func (a *QueueLocker) unlock(c *kit.Context, q *messages.Queue) {
	lane, w := a.lane(q.GetBroker()), a.table.queues[q.Key()]
	delete(a.table.queues, q.Key())
	if !lane.underway && (w == nil || !w.held) {
		c.Tell(c.Sender(), &messages.QueueUnlocked{Queue: q})
		return
	}
	lane.unlocks = append(lane.unlocks, unlock{owner: c.Sender(), queue: q})
	a.run(c, q.GetBroker())
}

func (a *QueueLocker) lane(broker string) *lockLane {
	lane := a.table.lanes[broker]
	if lane == nil {
		lane = &lockLane{}
		a.table.lanes[broker] = lane
	}
	return lane
}

func (a *QueueLocker) renew(c *kit.Context, broker string) {
	a.lane(broker).renew = true
	a.run(c, broker)
}

// membersKnown notes who has left without saying so; who said so has no locks any more.
func (a *QueueLocker) membersKnown(members []string) {
	now := time.Now()
	for _, id := range a.table.members {
		if !slices.Contains(members, id) {
			a.table.departed[id] = now
		}
	}
	maps.DeleteFunc(a.table.departed, func(id string, at time.Time) bool {
		return slices.Contains(members, id) || now.Sub(at) > departedMemory
	})
	a.table.members = members
}

// run sends what a broker is to be asked, unless a request is under way; its end runs again.
func (a *QueueLocker) run(c *kit.Context, broker string) {
	lane := a.lane(broker)
	if lane.underway {
		return
	}
	out := &lockAnswered{broker: broker, at: time.Now()}
	var queues []*messages.Queue
	overdue := false
	for _, w := range a.table.queues {
		if w.queue.GetBroker() != broker || (w.held || w.told) && !lane.renew {
			continue
		}
		out.asked = append(out.asked, w)
		queues = append(queues, w.queue)
		overdue = overdue || !w.held && out.at.Sub(w.since) >= departedGrace
	}
	lane.renew = false
	if len(out.asked)+len(lane.unlocks) == 0 {
		return
	}
	var departed []string
	if overdue {
		for id, at := range a.table.departed {
			if out.at.Sub(at) >= departedGrace {
				departed = append(departed, id)
			}
		}
	}
	lane.underway, lane.sent, lane.unlocks = true, lane.unlocks, nil
	var released []*messages.Queue
	for _, u := range lane.sent {
		released = append(released, u.queue)
	}
	link, group, me := a.env.Link, a.lockGroup(), a.env.ClientID
	master, ok := a.env.Directory.Master(broker)
	c.Go(time.Duration(len(departed)+3)*lockTimeout, func(ctx context.Context) kit.Message {
		if !ok {
			out.err = &messages.NetworkError{Request: "LOCK_BATCH_MQ", Address: broker, NotSent: true, Reason: "no master is known"}
			out.unlocked = out.err
			return out
		}
		out.err = contained(func() (err error) {
			if len(released) > 0 {
				out.unlocked = within(ctx, func(ctx context.Context) error { return link.Unlock(ctx, master, group, me, released) })
			}
			for _, id := range departed {
				_ = within(ctx, func(ctx context.Context) error { return link.Unlock(ctx, master, group, id, queues) }) // the lock tells
			}
			if len(queues) == 0 {
				return nil
			}
			return within(ctx, func(ctx context.Context) (err error) {
				out.granted, err = link.Lock(ctx, master, group, queues)
				return err
			})
		})
		return out
	})
}

// lockGroup is under which name the locks are taken. A broker that sees a lock of a group takes it for an orderly one and puts
// messages that are published to its retry topic straight into the dead letter topic, so concurrent groups use another.
func (a *QueueLocker) lockGroup() string {
	if a.group.spec.Order != nil {
		return a.group.spec.Name
	}
	return HandOffGroup(a.group.spec.Name)
}

func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	return ask(ctx)
}

func (a *QueueLocker) answered(c *kit.Context, m *lockAnswered) {
	lane := a.lane(m.broker)
	for _, u := range lane.sent {
		c.Tell(u.owner, &messages.QueueUnlocked{Queue: u.queue, Failure: messages.FailureOf(m.unlocked)})
	}
	lane.underway, lane.sent = false, nil
	granted := make(map[messages.QueueKey]bool, len(m.granted))
	for _, q := range m.granted {
		granted[q.Key()] = true
	}
	now := time.Now()
	_, refusing := errors.AsType[*messages.BrokerError](m.err)
	if refusing && !lane.unable || m.err == nil {
		lane.unable = refusing
		if refusing {
			a.env.Events.Record(&messages.Event{
				Kind: messages.EventKind_EVENT_KIND_LOCK_FAILED, Group: a.group.spec.Name, Text: m.broker,
				Failure: messages.FailureOf(m.err),
			})
		}
	}
	for _, w := range m.asked {
		if a.table.queues[w.queue.Key()] != w {
			continue // given up meanwhile: its UnlockQueue waits in the lane
		}
		switch {
		case m.err != nil:
			a.failed(c, w, m.err, refusing, now)
		case granted[w.queue.Key()]:
			a.granted(c, w, m.at)
		default:
			a.refused(c, w, now)
		}
	}
	if wait := a.nextTry(m.broker, now); wait > 0 && !lane.again {
		lane.again = true
		c.After(wait, &messages.LockAgain{Broker: m.broker})
	}
	if len(lane.unlocks) > 0 || lane.renew || a.unasked(m.broker, m.at) {
		a.run(c, m.broker)
	}
}

func (a *QueueLocker) granted(c *kit.Context, w *wantedLock, at time.Time) {
	lapsed := !w.lock.held(time.Now().UnixMilli())
	w.lock.until.Store(at.Add(lockLife).UnixMilli())
	first := !w.held
	w.held = true
	if lapsed || first && !w.told {
		w.told = true
		c.Tell(w.owner, &messages.QueueLocked{Queue: w.queue})
	}
}

// refused follows a broker that gave the lock to somebody else.
func (a *QueueLocker) refused(c *kit.Context, w *wantedLock, now time.Time) {
	insists := a.group.spec.Order != nil
	switch {
	case w.held && insists:
		delete(a.table.queues, w.queue.Key())
		w.lock.until.Store(0)
		c.Tell(w.owner, &messages.LockLost{Queue: w.queue})
	case w.held:
		w.held = false // the other one passed us over: there is nothing to win by stopping
		w.lock.until.Store(0)
	case !w.told && !insists && now.Sub(w.since) >= a.group.spec.HandOff:
		a.passOver(c, w, nil)
	}
}

// failed follows a broker that could not be asked, or does not know the request.
func (a *QueueLocker) failed(c *kit.Context, w *wantedLock, err error, refusing bool, now time.Time) {
	switch {
	case w.held || w.told:
		return // what is held lapses by itself
	case a.group.spec.Order == nil && refusing:
		w.told = true // which was told once for the broker
		c.Tell(w.owner, &messages.QueueLocked{Queue: w.queue, PassedOver: true})
		return
	case a.group.spec.Order == nil && now.Sub(w.since) >= a.group.spec.HandOff:
		a.passOver(c, w, err)
		return
	}
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_LOCK_FAILED, Group: a.group.spec.Name, Queue: w.queue, Failure: messages.FailureOf(err),
	})
}

func (a *QueueLocker) passOver(c *kit.Context, w *wantedLock, err error) {
	w.told = true
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_LOCK_PASSED_OVER, Group: a.group.spec.Name, Queue: w.queue,
		DelayMillis: time.Since(w.since).Milliseconds(), Failure: messages.FailureOf(err),
	})
	c.Tell(w.owner, &messages.QueueLocked{Queue: w.queue, PassedOver: true})
}

// nextTry is when a broker is to be asked again for what somebody waits for; 0 if nobody does.
func (a *QueueLocker) nextTry(broker string, now time.Time) (wait time.Duration) {
	for _, w := range a.table.queues {
		if w.queue.GetBroker() != broker || w.held || w.told {
			continue
		}
		one := lockAgainLater
		switch age := now.Sub(w.since); {
		case age < 10*lockAgainFirst:
			one = lockAgainFirst
		case age < handOffExpected+lockAgainSoon:
			one = lockAgainSoon
		}
		if wait == 0 || one < wait {
			wait = one
		}
	}
	return wait
}

// unasked tells whether a lock is wanted that the last request did not ask for.
func (a *QueueLocker) unasked(broker string, at time.Time) bool {
	for _, w := range a.table.queues {
		if w.queue.GetBroker() == broker && !w.held && !w.told && w.since.After(at) {
			return true
		}
	}
	return false
}
