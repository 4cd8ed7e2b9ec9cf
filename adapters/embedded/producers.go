package embedded

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// producerTable is the producer groups that have connections. It dies with the broker's process. Source: ProducerManager.
type producerTable struct {
	mu     sync.RWMutex
	groups map[string][]*member // in order of arrival, one per connection
	turn   int
}

func newProducerTable() *producerTable { return &producerTable{groups: map[string][]*member{}} }

// join registers a connection with a group; of one that is in it already only the time of its heartbeat is new.
func (t *producerTable) join(group string, m member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.seen = time.Now()
	for _, old := range t.groups[group] {
		if old.conn == m.conn {
			old.seen = m.seen
			return
		}
	}
	t.groups[group] = append(t.groups[group], &m)
}

// leave removes a connection from a group. A group without connections disappears.
func (t *producerTable) leave(group string, c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(group, c)
}

func (t *producerTable) remove(group string, c *connection) {
	list := slices.DeleteFunc(t.groups[group], func(m *member) bool { return m.conn == c })
	if len(list) == 0 {
		delete(t.groups, group)
		return
	}
	t.groups[group] = list
}

// closed removes a connection from all groups.
func (t *producerTable) closed(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for group := range t.groups {
		t.remove(group, c)
	}
}

// expired gives the connections whose last heartbeat is too long ago.
func (t *producerTable) expired(now time.Time) (conns []*connection) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, list := range t.groups {
		for _, m := range list {
			if now.Sub(m.seen) > memberLife && !slices.Contains(conns, m.conn) {
				conns = append(conns, m.conn)
			}
		}
	}
	return conns
}

// pick gives the connections of a group in turn, nil if it has none.
func (t *producerTable) pick(group string) *connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.groups[group]
	if len(list) == 0 {
		return nil
	}
	t.turn++
	return list[t.turn%len(list)].conn
}

// list copies the connections of a group, in order of arrival; none if it is not online.
func (t *producerTable) list(group string) []member {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]member, len(t.groups[group]))
	for k, m := range t.groups[group] {
		out[k] = *m
	}
	return out
}

// producerConnections answers GET_PRODUCER_CONNECTION_LIST (204).
func (i *incarnation) producerConnections(cmd *wire.Command) *wire.Command {
	var h wire.ProducerGroupHeader
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	list := i.producers.list(h.Group)
	if len(list) == 0 {
		return refuse(wire.SystemError, fmt.Sprintf("the producer group[%s] not exist", h.Group))
	}
	body := wire.ProducerConnection{}
	for _, m := range list {
		body.Connections = append(body.Connections, wire.Connection{
			ClientID: m.client, ClientAddr: m.conn.address(), Language: m.language.String(), Version: m.version,
		})
	}
	return acceptBody(body.Encode())
}
