package actors

import (
	"errors"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// Puller runs the pull loop of one queue.
//
//	Owns        the outstanding pull, the reason why none is out, the back-off
//	Parent      AssignedQueue
//	In          PullAnswered, PullAgain, Credit, Resume, StopPulling, flowSettled
//	Out         Pulled to the Consumer; OffsetIllegal to the parent; RefreshRoute and BeatNow after refusals
//	States      pulling, waiting (paused, no credit, back-off), illegal, stopping
//	Invariants  at most one pull is out; the next is sent before the last one's records are decoded; credit is never
//	            exceeded; an answer to an older incarnation changes nothing; nothing is sent after OffsetIllegal
//	Restart     goes on at the queue's cursor, which moves only when an answer is handed to the Consumer
//	Source      DefaultMQPushConsumerImpl.pullMessage (protocol.md 5.5)
type Puller struct {
	env      *Env
	group    *groupContext
	q        *assignment
	consumer kit.Ref

	request int64
	// out is the outstanding pull, nil if there is none.
	out    *outstandingPull
	sentAt time.Time
	offset int64
	// asked is the id of the member of the broker set that has the outstanding pull.
	asked    int64
	member   memberChoice
	failures int
	// empties counts answers in a row that came at once and brought nothing.
	empties int
	stale   staleness
	pause   time.Duration
	// notBefore is when the next pull is due at the earliest (PullInterval).
	notBefore time.Time
	illegal   bool
	stopping  bool
	timer     *kit.Timer
	// settling says that a flowSettled is on its way.
	settling bool
}

// flowSettled asks whether an episode of flow control has ended.
type flowSettled struct{}

// Causes of a delayed re-enqueue, as told by events and the topology.
const (
	waitPaused   = "paused"
	waitMessages = "no credit: message count"
	waitBytes    = "no credit: bytes"
	waitSpan     = "no credit: span"
	waitMemory   = "no credit: memory of the runtime"
	waitPolls    = "no credit: messages of the group wait to be polled"
	waitUntold   = "not polled: OnAssignment has not returned"
	waitNoBroker = "back-off: no broker address"
	waitNetwork  = "back-off: network"
	waitRefused  = "back-off: refused by the broker"
	waitBusy     = "back-off: broker busy"
	waitUnknown  = "back-off: group not known to the broker yet"
	waitIllegal  = "back-off: offset refused again"
	waitInterval = "pull interval"
	waitEmpty    = "back-off: answered at once without a message"
	waitBehind   = "back-off: the slave does not have the offset"
)

// A pull that waits for credit looks again after this time even if no Credit came.
const creditRecheck = time.Second

const memoryRecheck = 50 * time.Millisecond

// An empty answer that comes sooner than this was not a held one.
const heldAtLeast = 100 * time.Millisecond

// Receive handles one message.
func (a *Puller) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.start(c)
	case *messages.PullAnswered:
		a.answered(c, m)
	case *messages.PullAgain:
		a.timer = nil
		a.pull(c)
	case *messages.Credit:
		a.pull(c)
	case *messages.Resume:
		a.pull(c)
	case *messages.StopPulling:
		a.stop(c)
	case *flowSettled:
		a.settled(c, m)
	case kit.Stopping:
		if a.out != nil {
			a.out.underway.Cancel()
		}
	}
}

func (a *Puller) start(c *kit.Context) {
	switch {
	case a.q.halted.Load():
		c.StopSelf()
	case a.pause > 0:
		a.wait(c, waitIllegal, a.pause, nil)
	default:
		a.pull(c)
	}
}

// pull sends the next pull if none is out and nothing forbids it; otherwise a timer or a Credit tries again.
func (a *Puller) pull(c *kit.Context) {
	if a.out != nil || a.illegal || a.stopping || a.q.halted.Load() {
		return
	}
	if a.q.paused.Load() {
		a.wait(c, waitPaused, 0, nil)
		return
	}
	if rest := time.Until(a.notBefore); rest > 0 && !a.notBefore.IsZero() {
		a.wait(c, waitInterval, rest, nil)
		return
	}
	room, cause := a.q.room(a.group, a.env.Memory)
	if cause != "" {
		recheck := creditRecheck
		if cause == waitMemory || cause == waitPolls {
			recheck = memoryRecheck // what another queue frees wakes nobody here
		}
		a.wait(c, cause, recheck, nil)
		return
	}
	q := a.q.queue
	addr, id, ok := a.member.target(a.env.Directory, q.GetBroker(), time.Now())
	if !ok {
		a.failures++
		a.wait(c, waitNoBroker, backOff(time.Second, 5*time.Second, a.failures), nil)
		return
	}
	a.goOn(c)
	a.asked = id
	a.offset, a.sentAt = a.q.cursor.Load(), time.Now()
	a.request = a.q.requests.Add(1)
	committed := a.q.status.committed.Load()
	if a.group.spec.broadcasts() || a.group.polls != nil {
		committed = 0 // the cluster keeps no offset for this member, or the program says when it does
	}
	a.out = &outstandingPull{self: c.Self()}
	a.out.answered.Request = a.request
	req := &a.out.request
	req.Address, req.Group, req.Queue, req.Offset = addr, a.group.spec.Name, q, a.offset
	req.MaxMessages, req.MaxBytes = room, a.group.spec.PullBytes
	req.SuspendMillis, req.TimeoutMillis = a.group.spec.Suspend.Milliseconds(), a.group.spec.PullTimeout.Milliseconds()
	req.SubscriptionVersion, req.Kind = a.q.subscription.GetVersion(), a.q.subscription.GetKind()
	// Only a master keeps offsets; a slave would pass them off as its own.
	req.CommitOffset, req.Commit = committed, id == masterID && committed > 0
	if a.group.spec.CarrySubscription {
		req.Subscription = a.q.subscription
	}
	a.q.status.address.set(addr)
	a.q.status.lastPull.Store(a.sentAt.UnixMilli())
	out := a.out
	a.out = nil // should the Link panic, nothing is out
	out.underway = a.env.Link.Pull(req, out)
	a.out = out
}

// outstandingPull is a pull on its way, and the messages that come of it: one allocation for all.
type outstandingPull struct {
	self     kit.Ref
	underway PullUnderway
	request  messages.PullRequest
	answered messages.PullAnswered
	pulled   messages.Pulled
}

// Pulled tells the Puller.
func (o *outstandingPull) Pulled(reply *messages.PullReply, err error) {
	o.answered.Reply, o.answered.Failure = reply, messages.FailureOf(err)
	o.self.Tell(&o.answered)
}

func (a *Puller) answered(c *kit.Context, m *messages.PullAnswered) {
	if m.GetRequest() != a.request || a.out == nil {
		return
	}
	out := a.out
	a.out = nil
	if a.stopping {
		c.StopSelf()
		return
	}
	if err := m.GetFailure().Err(); err != nil {
		a.failed(c, err)
		return
	}
	reply := m.GetReply()
	a.failures = 0
	a.member.answered(a.q.status.address.get(), reply.GetSuggestedBrokerId())
	a.q.status.brokerMin.Store(reply.GetMinOffset())
	a.q.status.brokerMax.Store(reply.GetMaxOffset())
	next := reply.GetNextOffset()
	illegal := reply.GetStatus() == messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL || next < a.offset
	switch {
	case illegal && a.asked != masterID:
		// A slave may be behind, and may have dropped what its master still has: only a master's bounds are believed.
		a.member.failed()
		a.empties++
		a.wait(c, waitBehind, backOff(20*time.Millisecond, time.Second, a.empties), nil)
	case illegal:
		a.illegal = true
		c.Tell(c.Parent(), &messages.OffsetIllegal{
			Asked: a.offset, NextOffset: next, MinOffset: reply.GetMinOffset(), MaxOffset: reply.GetMaxOffset(),
		})
	case next > a.offset:
		a.empties = 0
		if reply.GetStatus() == messages.PullStatus_PULL_STATUS_FOUND {
			a.q.rates.tookPull(time.Since(a.sentAt))
			if a.group.spec.PullInterval > 0 {
				a.notBefore = time.Now().Add(a.group.spec.PullInterval)
			}
		}
		a.q.handOver(next, int64(len(reply.GetRecords())), next-a.offset)
		out.pulled.Offset, out.pulled.Reply = a.offset, reply
		a.passOn(c, &out.pulled)
	case time.Since(a.sentAt) < heldAtLeast && a.group.spec.Suspend > heldAtLeast:
		a.empties++
		a.wait(c, waitEmpty, backOff(20*time.Millisecond, time.Second, a.empties), nil)
	default:
		a.empties = 0
		a.pull(c)
	}
}

// passOn sends the next pull and then hands the last one's answer over, also if sending fails: the cursor is past it.
func (a *Puller) passOn(c *kit.Context, pulled *messages.Pulled) {
	defer c.Tell(a.consumer, pulled)
	a.pull(c)
}

// failed chooses the back-off for what went wrong.
func (a *Puller) failed(c *kit.Context, err error) {
	a.failures++
	topic := a.q.key.Topic
	a.member.failed()
	var refused *messages.BrokerError
	if !errors.As(err, &refused) {
		c.Tell(a.group.routes, &messages.RefreshRoute{Topic: topic})
		a.member.missed(a.q.status.address.get(), time.Now())
		a.wait(c, waitNetwork, backOff(200*time.Millisecond, 3*time.Second, a.failures), err)
		return
	}
	switch refused.GetCode() {
	case codeFlowControl, codeSystemBusy:
		a.wait(c, waitBusy, backOff(20*time.Millisecond, time.Second, a.failures), err)
	case codeSubscriptionNotExist, codeSubscriptionGroupNotExist:
		c.Tell(a.group.heartbeat, &messages.BeatNow{})
		a.wait(c, waitUnknown, backOff(100*time.Millisecond, 3*time.Second, a.failures), err)
	case codeSubscriptionNotLatest:
		if a.stale.again(time.Now()) {
			c.Tell(a.group.checker, subscriptionsDoubted{err: err})
		}
		c.Tell(a.group.heartbeat, &messages.BeatNow{})
		a.wait(c, waitUnknown, backOff(time.Second, 5*time.Second, a.failures), err)
	default:
		c.Tell(a.group.routes, &messages.RefreshRoute{Topic: topic})
		a.wait(c, waitRefused, backOff(time.Second, 5*time.Second, a.failures), err)
	}
}

// wait is the directive "delayed re-enqueue": the pull goes out later, by timer, or as soon as a Credit or Resume comes.
func (a *Puller) wait(c *kit.Context, cause string, d time.Duration, err error) {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if d > 0 {
		a.timer = c.After(d, &messages.PullAgain{})
	}
	if a.q.status.waiting.get() == cause && err == nil {
		return
	}
	a.q.status.waiting.set(cause)
	if lacksRoom(cause) && !a.q.flow.hold(time.Now()) {
		return // told when it began
	}
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_PULL_DELAYED, Group: a.group.spec.Name, Queue: a.q.queue, Text: cause,
		Offset: a.q.cursor.Load(), DelayMillis: d.Milliseconds(), Failure: messages.FailureOf(err),
	})
}

func (a *Puller) goOn(c *kit.Context) {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if a.q.flow.open() {
		a.q.flow.resume(time.Now())
		if !a.settling {
			a.settling = true
			c.After(flowSettles, &flowSettled{})
		}
	}
	a.q.status.waiting.set("")
}

// settled tells the end of an episode of flow control, unless pulls were held back meanwhile.
func (a *Puller) settled(c *kit.Context, m *flowSettled) {
	a.settling = false
	if !a.q.flow.open() || a.q.flow.waits {
		return // the pull that goes out next asks again
	}
	if rest := a.q.flow.settlesIn(time.Now()); rest > 0 {
		a.settling = true
		c.After(rest, m)
		return
	}
	e := a.q.flow.end()
	e.Group, e.Queue, e.Offset = a.group.spec.Name, a.q.queue, a.q.cursor.Load()
	a.env.Events.Record(e)
}

func (a *Puller) stop(c *kit.Context) {
	a.stopping = true
	if a.out == nil {
		c.StopSelf()
		return
	}
	a.out.underway.Cancel() // its end comes as PullAnswered
}

// staleness counts answers "subscription not latest": three within half a minute are no passing state.
type staleness struct{ seen []time.Time }

func (s *staleness) again(now time.Time) bool {
	s.seen = append(s.seen, now)
	if len(s.seen) > 3 {
		s.seen = s.seen[1:]
	}
	return len(s.seen) == 3 && now.Sub(s.seen[0]) <= 30*time.Second
}
