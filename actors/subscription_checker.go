package actors

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// SubscriptionChecker finds members that subscribe to something else than this one. Brokers keep one table of subscriptions for a
// group, that of the heartbeat with the highest version, so that in such a group messages are lost or queues stand still without an
// error anywhere.
//
//	Owns        what it knows of the other members' subscriptions
//	Parent      ConsumerGroup
//	In          CheckSubscriptions, subscriptionsDoubted, membersCompared
//	Out         nothing but events
//	States      waiting, asking
//	Invariants  one check a minute at the most, fewer in groups of more than thirty; while all is well it costs one request, and one more for each member that is new; a
//	            warning names members and what differs, and is repeated only if that changes or brokers go on refusing pulls
//	Restart     all members are new
//	Source      ConsumerManager.updateSubscription (protocol.md 7.4), pains A15
type SubscriptionChecker struct {
	env   *Env
	group *groupContext

	revision int64
	// differs has what each member that has answered subscribes to otherwise; empty if nothing.
	differs map[string]string
	told    map[string]string
	// others is how many further members there were last.
	others int
	doubt  error
	asking bool
	last   time.Time
	timer  *kit.Timer
}

// subscriptionsDoubted says that a broker has refused pulls several times because it knows newer subscriptions.
type subscriptionsDoubted struct{ err error }

// membersCompared is the end of a check.
type membersCompared struct {
	revision int64
	// present are the ids of the others; answers those of them who were asked.
	present []string
	answers map[string]string
	err     error
}

const (
	subscriptionCheckEvery = time.Minute
	// A broker's answer grows with the group, so that all members together ask it no more than once in this time.
	subscriptionCheckShare = 2 * time.Second
	subscriptionCheckLimit = 30 * time.Second
	memberAskTimeout       = 3 * time.Second
	// Members asked in one check: new ones while all is well, any when something differs.
	askedWhenNew     = 4
	askedWhenDoubted = 32
	// Members named in a warning.
	namedMembers = 8
)

// Receive handles one message.
func (a *SubscriptionChecker) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.differs, a.last = make(map[string]string), time.Now()
		a.revision = a.group.subscriptions().revision
		a.schedule(c)
	case *messages.CheckSubscriptions:
		a.timer = nil
		a.check(c)
	case subscriptionsDoubted:
		a.doubt = m.err
		if !a.asking && time.Since(a.last) >= subscriptionCheckEvery {
			a.check(c)
		}
	case *membersCompared:
		a.compared(m)
	}
}

func (a *SubscriptionChecker) schedule(c *kit.Context) {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = c.After(max(subscriptionCheckEvery, time.Duration(a.others)*subscriptionCheckShare), &messages.CheckSubscriptions{})
}

// check asks a broker for the group's members and subscriptions, and then members for theirs. After a change of our own the others
// have a minute to follow.
func (a *SubscriptionChecker) check(c *kit.Context) {
	a.last = time.Now()
	a.schedule(c)
	now := a.group.subscriptions()
	if now.revision != a.revision {
		a.revision, a.doubt = now.revision, nil
		clear(a.differs)
		return
	}
	if a.asking || len(now.specs) == 0 {
		return
	}
	a.asking = true
	check := memberCheck{
		link: a.env.Link, me: a.env.ClientID, group: a.group.spec.Name, ours: now.data.GetSubscriptions(),
		brokers: a.env.Directory.BrokersOf(now.specs[0].Topic), known: maps.Clone(a.differs), doubted: a.doubt != nil,
	}
	c.Go(subscriptionCheckLimit, func(ctx context.Context) kit.Message {
		done := &membersCompared{revision: now.revision}
		done.err = contained(func() error { return check.run(ctx, done) })
		return done
	})
}

// compared takes over what a check has found and tells it, if it is news.
func (a *SubscriptionChecker) compared(m *membersCompared) {
	a.asking = false
	doubt := a.doubt
	a.doubt = nil
	if m.revision != a.group.subscriptions().revision {
		return
	}
	if m.err == nil {
		a.others = len(m.present)
		maps.Copy(a.differs, m.answers)
		maps.DeleteFunc(a.differs, func(id, _ string) bool { return !slices.Contains(m.present, id) })
	}
	found := maps.Clone(a.differs)
	maps.DeleteFunc(found, func(_, what string) bool { return what == "" })
	if doubt == nil && (len(found) == 0 || maps.Equal(found, a.told)) {
		a.told = found
		return
	}
	a.told = found
	a.env.Events.Record(&messages.Event{
		Kind: messages.EventKind_EVENT_KIND_SUBSCRIPTION_MISMATCH, Group: a.group.spec.Name, Text: differenceText(found),
		Failure: messages.FailureOf(doubt),
	})
}

// differenceText names members and what differs.
func differenceText(found map[string]string) string {
	if len(found) == 0 {
		return "no member was found that does; it may be gone, or not answer"
	}
	ids := slices.Sorted(maps.Keys(found))
	var parts []string
	for _, id := range ids[:min(len(ids), namedMembers)] {
		parts = append(parts, id+" "+found[id])
	}
	if len(ids) > namedMembers {
		parts = append(parts, "and others")
	}
	return strings.Join(parts, "; ")
}
