package rocketmq

import (
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// pull is one pull request under way, with its answer: one allocation for all of it.
type pull struct {
	remoting.Exchange
	link    *link
	request *messages.PullRequest
	reply   messages.PullReply
	done    actors.PullDone
}

// Pull sends a pull (PULL_MESSAGE, 11) and returns at once; done is told exactly once, elsewhere.
func (l *link) Pull(req *messages.PullRequest, done actors.PullDone) actors.PullUnderway {
	p := &pull{link: l, request: req, done: done}
	p.Request = wire.Command{Code: int32(wire.PullMessage), Language: wire.Go, Version: wire.V5_3_3}
	timeout := pullTimeout
	if ms := req.GetTimeoutMillis(); ms > 0 {
		timeout = time.Duration(ms) * time.Millisecond
	}
	l.client.Begin(req.GetAddress(), &p.Exchange, timeout, p)
	return p
}

// Compose writes the header.
func (p *pull) Compose(x *remoting.Exchange) {
	h := pullHeader(p.request)
	h.AppendTo(&x.Request.Ext)
}

// pullHeader gives a pull in the words of the wire. The offset to commit is always written, as Java does; the flag decides.
func pullHeader(req *messages.PullRequest) wire.PullRequestHeader {
	q := req.GetQueue()
	h := wire.PullRequestHeader{
		Group:          req.GetGroup(),
		Topic:          q.GetTopic(),
		QueueID:        q.GetId(),
		QueueOffset:    req.GetOffset(),
		MaxMessages:    req.GetMaxMessages(),
		CommitOffset:   req.GetCommitOffset(),
		SuspendMillis:  req.GetSuspendMillis(),
		SubVersion:     req.GetSubscriptionVersion(),
		ExpressionType: expressionType(req.GetKind()),
		MaxBytes:       req.GetMaxBytes(),
		Broker:         q.GetBroker(),
	}
	if req.GetCommit() {
		h.SysFlag |= wire.PullCommitOffset
	}
	if h.SuspendMillis > 0 {
		h.SysFlag |= wire.PullSuspend
	}
	if s := req.GetSubscription(); s != nil {
		h.SysFlag |= wire.PullSubscription
		h.Subscription = s.GetExpression()
		if h.Subscription == "" {
			h.Subscription = "*"
		}
		h.ExpressionType = expressionType(s.GetKind())
		h.SubVersion = s.GetVersion()
	}
	return h
}

// Cancel gives the pull up.
func (p *pull) Cancel() { p.link.client.Cancel(&p.Exchange) }

// Settled takes the answer apart (MQClientAPIImpl.processPullResponse).
func (p *pull) Settled(x *remoting.Exchange, err error) {
	if err != nil {
		p.done.Pulled(nil, err)
		return
	}
	switch wire.ResponseCode(x.Answer.Code) {
	case wire.Success:
		p.reply.Status = messages.PullStatus_PULL_STATUS_FOUND
	case wire.PullNotFound:
		p.reply.Status = messages.PullStatus_PULL_STATUS_NO_NEW_MSG
	case wire.PullRetryImmediately:
		p.reply.Status = messages.PullStatus_PULL_STATUS_NO_MATCHED_MSG
	case wire.PullOffsetMoved:
		p.reply.Status = messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL
	default:
		p.done.Pulled(nil, refusal(&x.Request, &x.Answer, p.target()))
		return
	}
	var h wire.PullResponseHeader
	if err := h.ReadFrom(&x.Answer.Ext); err != nil {
		p.done.Pulled(nil, malformed(&x.Request, p.target(), err))
		return
	}
	p.reply.NextOffset = h.NextBeginOffset
	p.reply.MinOffset = h.MinOffset
	p.reply.MaxOffset = h.MaxOffset
	p.reply.SuggestedBrokerId = h.SuggestBrokerID
	if p.reply.Status == messages.PullStatus_PULL_STATUS_FOUND {
		p.reply.Records = x.Answer.Body
	}
	p.done.Pulled(&p.reply, nil)
}

func (p *pull) target() target { return atQueue(p.request.GetAddress(), p.request.GetQueue()) }

// Decode turns the records of a reply into messages: one slab, whose bodies are sub-slices of the records. Messages of a retry
// topic get their original topic back. Corrupt records are reported and left out.
func (l *link) Decode(reply *messages.PullReply, q *messages.Queue, _ string) ([]messages.Message, []actors.CorruptRecord) {
	slab, bad, _ := wire.DecodeMessages(nil, reply.GetRecords(), &wire.DecodeOptions{ // the error is the last of bad
		Topic: q.GetTopic(), Broker: q.GetBroker(), QueueID: q.GetId(),
	})
	if len(bad) == 0 {
		return slab, nil
	}
	corrupt := make([]actors.CorruptRecord, len(bad))
	for i, b := range bad {
		corrupt[i] = actors.CorruptRecord{QueueOffset: b.QueueOffset, Reason: b.Err.Error()}
	}
	return slab, corrupt
}
