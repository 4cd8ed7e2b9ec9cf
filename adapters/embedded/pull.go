package embedded

import (
	"fmt"
	"time"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// Kinds of refusal that a pull answer carries beside NO_PERMISSION (forbiddenType).
const (
	forbidBroker    = 1
	forbidGroup     = 2
	forbidTopic     = 3
	forbidBroadcast = 4
)

// faq ends the remarks that clients meet first.
const faq = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

// pull is one PULL_MESSAGE request, as far as it must be remembered while it waits.
type pull struct {
	conn   *connection
	opaque int32
	lite   bool
	header wire.PullRequestHeader
	match  func(entry) bool // nil: everything
}

// id names the pull's queue.
func (p *pull) id() queueID { return queueID{p.header.Topic, p.header.QueueID} }

// pull answers PULL_MESSAGE (11) and LITE_PULL_MESSAGE (361), or holds it: then there is no answer now.
func (i *incarnation) pull(c *connection, cmd *wire.Command) *wire.Command {
	p := &pull{conn: c, opaque: cmd.Opaque, lite: cmd.Code == int32(wire.LitePullMessage)}
	h := &p.header
	if err := h.ReadFrom(&cmd.Ext); err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	if refusal := i.check(p); refusal != nil {
		return refusal
	}
	sel := i.read(p)
	// An offset that a client sends along before it knows of a reset is of no use to anybody.
	if h.SysFlag&wire.PullCommitOffset != 0 && h.CommitOffset >= 0 && sel.status != offsetReset {
		i.b.offsets.commit(groupQueue{h.Group, h.Topic, h.QueueID}, h.CommitOffset)
	}
	switch {
	case cmd.IsOneWay():
		sel.release()
	case p.code(sel) == wire.PullNotFound && h.SysFlag&wire.PullSuspend != 0:
		i.hold(p)
	default:
		i.reply(p, sel)
	}
	return nil
}

// hold lets a pull wait for a message.
func (i *incarnation) hold(p *pull) {
	i.holds.hold(&held{pull: p, deadline: time.Now().Add(time.Duration(p.header.SuspendMillis) * time.Millisecond)})
	// A message may have come between the look and the hold; whoever stored it saw no pull waiting.
	if hi := i.maxOffset(p.id()); hi > p.header.QueueOffset {
		i.arrived(p.id(), hi, i.entriesFrom(p.id(), p.header.QueueOffset))
	}
}

// check carries out the checks of protocol.md 7.2, in their order, and finds the pull's filter. Nil if all is well.
func (i *incarnation) check(p *pull) *wire.Command {
	h := &p.header
	if perm, _ := i.b.permission(); perm&wire.PermRead == 0 {
		return forbid(forbidBroker, fmt.Sprintf("the broker[%s] pulling message is forbidden", i.b.Addr()))
	}
	if p.lite && i.b.cfg.NoLitePull {
		return forbid(forbidBroker, fmt.Sprintf("the broker[%s] for lite pull consumer is forbidden", i.b.Addr()))
	}
	config := i.b.groups.find(h.Group)
	if config == nil {
		return refuse(wire.SubscriptionGroupNotExist, fmt.Sprintf("subscription group [%s] does not exist, %s", h.Group, faq[1:]))
	}
	if !config.Consume {
		return forbid(forbidGroup, "subscription group no permission, "+h.Group)
	}
	t := i.b.topics.get(h.Topic)
	if t == nil {
		return refuse(wire.TopicNotExist, fmt.Sprintf("topic[%s] not exist, apply first please! %s", h.Topic, faq))
	}
	if !t.readable() {
		return forbid(forbidTopic, fmt.Sprintf("the topic[%s] pulling message is forbidden", h.Topic))
	}
	if h.QueueID < 0 || h.QueueID >= t.readQueues {
		return refuse(wire.InvalidParameter, fmt.Sprintf("queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[/%s]",
			h.QueueID, h.Topic, t.readQueues, p.conn.address()))
	}
	sub, refusal := i.subscriptionOf(h, config)
	p.match = sub.matcher(i.b.store)
	return refusal
}

// subscriptionOf finds the subscription that selects a pull's messages, or the refusal.
func (i *incarnation) subscriptionOf(h *wire.PullRequestHeader, config *GroupConfig) (*subscription, *wire.Command) {
	group, topic := h.Group, h.Topic
	if h.SysFlag&wire.PullSubscription != 0 {
		sub, err := parseSubscription(topic, h.Subscription, h.ExpressionType)
		if err != nil {
			return nil, refuse(wire.SubscriptionParseFailed, "parse the consumer's subscription failed")
		}
		return sub, i.sqlRefusal(sub)
	}
	online, toAll, sub := i.members.subscribed(group, topic)
	switch {
	case !online:
		return nil, refuse(wire.SubscriptionNotExist, "the consumer's group info not exist"+faq)
	case !config.ConsumeBroadcast && toAll:
		return nil, forbid(forbidBroadcast, fmt.Sprintf("the consumer group[%s] can not consume by broadcast way", group))
	case sub == nil:
		return nil, refuse(wire.SubscriptionNotExist, "the consumer's subscription not exist"+faq)
	case sub.data.SubVersion < h.SubVersion:
		return nil, refuse(wire.SubscriptionNotLatest, "the consumer's subscription not latest")
	}
	return sub, i.sqlRefusal(sub)
}

// read looks for a pull's messages; a reset that is pending comes first, once.
func (i *incarnation) read(p *pull) selection {
	h := &p.header
	if reset, pending := i.b.offsets.takeReset(groupQueue{h.Group, h.Topic, h.QueueID}); pending {
		lo, hi := i.b.store.queue(h.Topic, h.QueueID).bounds()
		return selection{status: offsetReset, next: reset, min: lo, max: hi}
	}
	limits := readLimits{messages: min(int(h.MaxMessages), i.b.cfg.PullMessages), bytes: i.b.cfg.PullBytes}
	return readQueue(i.b.store, h.Topic, h.QueueID, h.QueueOffset, limits, p.match)
}

// code gives the response code of an outcome, protocol.md 7.3.
func (p *pull) code(sel selection) wire.ResponseCode {
	switch sel.status {
	case found:
		return wire.Success
	case noMatchedMessage, messageWasRemoving:
		return wire.PullRetryImmediately
	case noMatchedLogicQueue, noMessageInQueue:
		if p.header.QueueOffset == 0 {
			return wire.PullNotFound
		}
		return wire.PullOffsetMoved
	case offsetOverflowOne, offsetFoundNull:
		return wire.PullNotFound
	default: // offsetTooSmall, offsetOverflowBadly, offsetReset
		return wire.PullOffsetMoved
	}
}

// pullAnswer builds the answer of an outcome.
func (i *incarnation) pullAnswer(p *pull, sel selection) *wire.Command {
	_, suggest := i.b.permission()
	answer := wire.NewResponse(p.code(sel), sel.status.String())
	h := wire.PullResponseHeader{SuggestBrokerID: suggest, NextBeginOffset: sel.next, MinOffset: sel.min, MaxOffset: sel.max}
	h.AppendTo(&answer.Ext)
	answer.Body = sel.body
	return answer
}

// reply answers a pull. Sending encodes at once, so the body's buffer is free for the next answer when it returns.
func (i *incarnation) reply(p *pull, sel selection) {
	p.conn.answer(p.opaque, i.pullAnswer(p, sel))
	sel.release()
}

// resume carries out a held pull again, with all checks: it commits nothing and is answered in any case.
func (i *incarnation) resume(p *pull) {
	if refusal := i.check(p); refusal != nil {
		p.conn.answer(p.opaque, refusal)
		return
	}
	i.reply(p, i.read(p))
}

// arrived wakes the pulls that wait for messages of a queue.
func (i *incarnation) arrived(q queueID, max int64, entries []entry) {
	for _, p := range i.holds.arrived(q, max, entries, time.Now()) {
		i.resume(p)
	}
}

// entriesFrom lists the messages of a queue from an offset on, as far as one scan reaches.
func (i *incarnation) entriesFrom(q queueID, offset int64) []entry {
	return i.b.store.queue(q.topic, q.id).entries(make([]entry, 0, scanEntries), offset)
}

// sqlRefusal refuses SQL92 subscriptions if the broker has no property filter, and those whose expression is wrong.
func (i *incarnation) sqlRefusal(s *subscription) *wire.Command {
	switch {
	case s == nil || !s.isSQL():
		return nil
	case !i.b.cfg.PropertyFilter:
		return refuse(wire.SystemError, "The broker does not support consumer to filter message by "+wire.ExpressionSQL92)
	case s.sql == nil:
		return refuse(wire.FilterDataNotExist, "The broker's consumer filter data is not exist!Your expression may be wrong!")
	}
	return nil
}

// forbid refuses with NO_PERMISSION and the kind of refusal.
func forbid(kind int64, remark string) *wire.Command {
	answer := refuse(wire.NoPermission, remark)
	answer.Ext.SetInt("forbiddenType", kind)
	return answer
}
