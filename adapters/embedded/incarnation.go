package embedded

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// incarnation is one life of a broker, from start to stop: what a process has in memory.
type incarnation struct {
	b         *Broker
	endpoint  *endpoint
	members   *memberTable
	producers *producerTable
	locks     *lockTable
	holds     *holdTable
	entry     *registration

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{} // a delayed message was stored
}

func newIncarnation(b *Broker, l net.Listener) *incarnation {
	ctx, cancel := context.WithCancel(context.Background())
	i := &incarnation{
		b: b, members: newMemberTable(), producers: newProducerTable(), locks: newLockTable(), holds: newHoldTable(),
		ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1),
	}
	i.entry = &registration{
		key: brokerKey{b.cfg.BrokerName, b.cfg.BrokerID}, cluster: b.cfg.ClusterName, addr: b.route, topics: b.topics,
	}
	b.nameServer.register(i.entry)
	i.wg.Add(3)
	go i.keepHouse()
	go i.deliverDelayed()
	go i.checkTransactions()
	i.endpoint = serve(l, endpointConfig{
		tls: b.cfg.TLS, log: b.cfg.Log, faults: b.faults, events: b.events, handle: i.handle, gone: i.gone,
	})
	return i
}

// end stops everything and waits for it.
func (i *incarnation) end() error {
	i.b.nameServer.unregister(i.entry)
	i.cancel()
	err := i.endpoint.close()
	i.wg.Wait()
	return err
}

// keepHouse ends pulls that have waited long enough and forgets members that have fallen silent.
func (i *incarnation) keepHouse() {
	defer i.wg.Done()
	holds, members := time.NewTicker(holdSweep), time.NewTicker(memberScan)
	defer holds.Stop()
	defer members.Stop()
	for {
		select {
		case <-i.ctx.Done():
			return
		case now := <-holds.C:
			for _, p := range i.holds.due(i.maxOffset, now) {
				i.resume(p)
			}
			i.retain()
		case now := <-members.C:
			for _, c := range append(i.members.expired(now), i.producers.expired(now)...) {
				c.session.Close() // its end makes it gone
			}
		}
	}
}

func (i *incarnation) maxOffset(q queueID) int64 {
	_, max := i.b.store.queue(q.topic, q.id).bounds()
	return max
}

// retain forgets the oldest part of the log when there is a limit and it is exceeded.
func (i *incarnation) retain() {
	limit := i.b.cfg.RetainBytes
	if limit <= 0 {
		return
	}
	if lo, hi := i.b.store.bounds(); hi-lo > limit {
		i.b.TrimLog(hi - limit)
	}
}

// gone forgets a connection in all tables and tells the groups it was in.
func (i *incarnation) gone(c *connection) {
	i.holds.dropped(c)
	i.producers.closed(c)
	for _, group := range i.members.closed(c) {
		i.notify(group)
	}
	i.b.events.happened()
}

// notify tells every connection of a group that its members changed (40), one-way.
func (i *incarnation) notify(group string) {
	if g := i.b.groups.get(group); g != nil && !g.NotifyChanges {
		return
	}
	if g, online := i.members.describe(group); !online || g.model == wire.Broadcasting {
		return
	}
	for _, c := range i.members.connections(group) {
		cmd := wire.NewRequest(wire.NotifyConsumerIDsChanged)
		cmd.Ext.Set("consumerGroup", group)
		cmd.MarkOneWay()
		_ = c.session.Send(cmd) // fails only for a connection that is going: it will be told by its closing
	}
}
