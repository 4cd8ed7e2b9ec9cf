package embedded

import (
	"slices"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages/sql92"
)

// memberLife is how long a client stays registered without a heartbeat, memberScan how often that is looked at.
const (
	memberLife = 120 * time.Second
	memberScan = 10 * time.Second
)

// subscription is one topic of a group, as its members announced it. Values are immutable.
type subscription struct {
	data wire.SubscriptionData
	// sql is the compiled expression of an SQL92 subscription; nil if it is none or wrong.
	sql *sql92.Expression
}

// parseSubscription reads the expression of a pull that carries one.
func parseSubscription(topic, expression, kind string) (*subscription, error) {
	data, err := wire.NewSubscription(topic, expression, kind, 0)
	if err != nil {
		return nil, err
	}
	s := &subscription{data: data}
	if s.isSQL() {
		s.sql, err = sql92.Compile(data.SubString)
	}
	return s, err
}

// announced takes a subscription of a heartbeat as it stands: like a real broker, which trusts its codes and notices a wrong
// expression at the first pull.
func announced(data wire.SubscriptionData) *subscription {
	s := &subscription{data: data}
	if s.isSQL() {
		s.sql, _ = sql92.Compile(data.SubString)
	}
	return s
}

func (s *subscription) isSQL() bool { return s.data.ExpressionType == wire.ExpressionSQL92 }

// everything tells whether no message is left out.
func (s *subscription) everything() bool {
	return s.data.SubString == "*" || s.data.SubString == "" || s.data.ClassFilterMode
}

// matcher gives what tells whether an entry of a queue belongs to the subscription, nil if everything does. Tags are compared
// by code, SQL92 expressions look at the properties of the record in the log.
func (s *subscription) matcher(log store) func(entry) bool {
	switch {
	case s == nil || s.everything():
		return nil
	case s.sql != nil:
		return func(e entry) bool {
			record, ok := log.record(e.physical, e.size)
			if !ok {
				return true // gone from the log: noticed when it is to be read
			}
			m, err := decodeRecord(record)
			return err == nil && s.sql.Match(func(name string) (string, bool) {
				v := m.Property(name)
				return v, v != ""
			})
		}
	default:
		return func(e entry) bool { return slices.Contains(s.data.Codes, int32(e.tags)) }
	}
}

// member is one connection of a group. One client id may have several while it reconnects.
type member struct {
	conn     *connection
	client   string
	language wire.Language
	version  int32
	seen     time.Time
}

// membership is one consumer group that is online: who is in it and what they subscribed to last.
type membership struct {
	members       map[*connection]*member
	order         []*connection // in order of arrival
	subscriptions map[string]*subscription
	consumeType   string
	model         string
	consumeFrom   string
	fingerprint   int32 // of the last heartbeat that had one
}

// memberTable is the consumer groups that have members, by connection. It dies with the broker's process.
type memberTable struct {
	mu     sync.RWMutex
	groups map[string]*membership
}

func newMemberTable() *memberTable {
	return &memberTable{groups: map[string]*membership{}}
}

// joining is one group of a heartbeat.
type joining struct {
	group         string
	consumeType   string
	model         string
	consumeFrom   string
	subscriptions []*subscription
	keep          bool  // heartbeat without subscriptions: those of before stay
	fingerprint   int32 // 0: none
}

// join registers a connection with a group and merges the subscriptions: new topics are added, known ones replaced by a
// larger version only, topics that are not named are removed. Changed tells whether members or subscriptions changed,
// differs whether the heartbeat's fingerprint is another one than before.
func (t *memberTable) join(j joining, m member) (changed, differs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[j.group]
	if g == nil {
		g = &membership{members: map[*connection]*member{}, subscriptions: map[string]*subscription{}}
		t.groups[j.group] = g
	}
	m.seen = time.Now()
	if old := g.members[m.conn]; old == nil {
		g.order = append(g.order, m.conn)
		changed = true
	}
	g.members[m.conn] = &m
	if j.fingerprint != 0 {
		differs = g.fingerprint != 0 && g.fingerprint != j.fingerprint
		g.fingerprint = j.fingerprint
	}
	if j.keep {
		return changed, differs
	}
	g.consumeType, g.model, g.consumeFrom = j.consumeType, j.model, j.consumeFrom
	named := make(map[string]struct{}, len(j.subscriptions))
	for _, s := range j.subscriptions {
		named[s.data.Topic] = struct{}{}
		old := g.subscriptions[s.data.Topic]
		switch {
		case old == nil:
			g.subscriptions[s.data.Topic] = s
			changed = true
		case s.data.SubVersion > old.data.SubVersion:
			g.subscriptions[s.data.Topic] = s
		}
	}
	for topic := range g.subscriptions {
		if _, ok := named[topic]; !ok {
			delete(g.subscriptions, topic)
			changed = true
		}
	}
	return changed, differs
}

// leave removes a connection from a group; false if it was not in it. A group without members disappears.
func (t *memberTable) leave(group string, c *connection) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove(group, c)
}

func (t *memberTable) remove(group string, c *connection) bool {
	g := t.groups[group]
	if g == nil || g.members[c] == nil {
		return false
	}
	delete(g.members, c)
	g.order = slices.DeleteFunc(g.order, func(o *connection) bool { return o == c })
	if len(g.members) == 0 {
		delete(t.groups, group)
	}
	return true
}

// closed removes a connection from all groups and gives those it was in.
func (t *memberTable) closed(c *connection) (groups []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.groups {
		if t.remove(name, c) {
			groups = append(groups, name)
		}
	}
	slices.Sort(groups)
	return groups
}

// expired gives the connections whose last heartbeat is too long ago.
func (t *memberTable) expired(now time.Time) (conns []*connection) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, g := range t.groups {
		for c, m := range g.members {
			if now.Sub(m.seen) > memberLife && !slices.Contains(conns, c) {
				conns = append(conns, c)
			}
		}
	}
	return conns
}

// clients lists the client ids of a group in order of arrival; an id may repeat.
func (t *memberTable) clients(group string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	if g == nil {
		return nil
	}
	ids := make([]string, 0, len(g.order))
	for _, c := range g.order {
		ids = append(ids, g.members[c].client)
	}
	return ids
}

// connections lists the connections of a group in order of arrival.
func (t *memberTable) connections(group string) []*connection {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if g := t.groups[group]; g != nil {
		return slices.Clone(g.order)
	}
	return nil
}

// find gives the connection of a member, its youngest; nil if it is not there.
func (t *memberTable) find(group, client string) *connection {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	if g == nil {
		return nil
	}
	for _, c := range slices.Backward(g.order) {
		if g.members[c].client == client {
			return c
		}
	}
	return nil
}

// subscribed finds what a pull needs to know: whether the group has members, whether it broadcasts, and its subscription
// of the topic.
func (t *memberTable) subscribed(group, topic string) (online, toAll bool, s *subscription) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	if g == nil {
		return false, false, nil
	}
	return true, g.model == wire.Broadcasting, g.subscriptions[topic]
}

// groupsOn lists the online groups that subscribe a topic.
func (t *memberTable) groupsOn(topic string) (groups []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for name, g := range t.groups {
		if g.subscriptions[topic] != nil {
			groups = append(groups, name)
		}
	}
	slices.Sort(groups)
	return groups
}

// describe copies what is known of a group; false if it is not online.
func (t *memberTable) describe(group string) (membership, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.groups[group]
	if g == nil {
		return membership{}, false
	}
	c := *g
	c.order = slices.Clone(g.order)
	c.members = make(map[*connection]*member, len(g.members))
	for k, m := range g.members {
		copied := *m
		c.members[k] = &copied
	}
	c.subscriptions = make(map[string]*subscription, len(g.subscriptions))
	for k, s := range g.subscriptions {
		c.subscriptions[k] = s
	}
	return c, true
}
