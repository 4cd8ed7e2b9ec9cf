package actors

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/actors/processqueue"
	"github.com/troupe-mq/troupe/messages"
)

// RetrySender hands failed messages back to their broker.
//
//	Owns        the line of messages to hand back and how many are under way
//	Parent      ConsumerGroup
//	In          handBack (HandBack with its place), handBackDone
//	Out         HandedBack (with its place) to the Consumer that asked
//	Invariants  at most maxHandBacks requests are under way; each HandBack gets exactly one HandedBack; a message is
//	            settled by its Consumer only after the broker has taken it
//	Restart     what is under way is asked for again by nobody: the parent keeps the line, so waiting ones are sent
//	Source      DefaultMQPushConsumerImpl.sendMessageBack (protocol.md 5.7, 7.8)
type RetrySender struct {
	env           *Env
	group         string
	maxReconsumes int32
	line          *handBackLine
}

// handBackLine is what survives a restart of the RetrySender.
type handBackLine struct {
	waiting  []*handBack
	underway map[*handBack]struct{}
	inFlight atomic.Int64
}

// handBack is HandBack with the place of the message in its window.
type handBack struct {
	*messages.HandBack
	asker kit.Ref
	batch *processqueue.Batch
	index int
	epoch int64
	// done is told of the outcome instead of an asker, for what a program hands back itself.
	done func(error)
}

// handedBack is HandedBack with the place of the message in its window.
type handedBack struct {
	reply *messages.HandedBack
	batch *processqueue.Batch
	index int
	epoch int64
}

type handBackDone struct {
	w   *handBack
	err error
}

const maxHandBacks = 64

// Delay level of the first retry; each further one is a level higher (protocol.md 5.12).
const firstRetryLevel = 3

func newHandBackLine() *handBackLine {
	return &handBackLine{underway: make(map[*handBack]struct{})}
}

// Receive handles one message.
func (a *RetrySender) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		for w := range a.line.underway {
			a.line.waiting = append(a.line.waiting, w)
		}
		clear(a.line.underway)
		a.send(c)
	case *handBack:
		if a.maxReconsumes == 0 { // on the wire 0 means the broker's own maximum
			m.DelayLevel = levelDeadLetter
		}
		a.line.waiting = append(a.line.waiting, m)
		a.send(c)
	case *handBackDone:
		a.done(c, m)
	}
}

func (a *RetrySender) send(c *kit.Context) {
	for len(a.line.waiting) > 0 && len(a.line.underway) < maxHandBacks {
		w := a.line.waiting[0]
		a.line.waiting = slices.Delete(a.line.waiting, 0, 1)
		a.line.underway[w] = struct{}{}
		c.Go(2*sendBackTimeout, func(ctx context.Context) kit.Message {
			return &handBackDone{w: w, err: contained(func() error { return a.handBack(ctx, w.HandBack) })}
		})
	}
	a.line.inFlight.Store(int64(len(a.line.waiting) + len(a.line.underway)))
}

func (a *RetrySender) done(c *kit.Context, d *handBackDone) {
	delete(a.line.underway, d.w)
	if d.w.done != nil {
		d.w.done(d.err)
	} else {
		c.Tell(d.w.asker, &handedBack{
			reply: &messages.HandedBack{HandBack: d.w.HandBack, Failure: messages.FailureOf(d.err)},
			batch: d.w.batch, index: d.w.index, epoch: d.w.epoch,
		})
	}
	a.record(d)
	a.send(c)
}

func (a *RetrySender) record(d *handBackDone) {
	m := d.w.HandBack
	kind := messages.EventKind_EVENT_KIND_HANDED_BACK
	switch {
	case d.err != nil:
		kind = messages.EventKind_EVENT_KIND_HAND_BACK_FAILED
	case m.GetDelayLevel() == levelDeadLetter || m.GetMessage().GetReconsumeTimes() >= a.maxReconsumes:
		kind = messages.EventKind_EVENT_KIND_DEAD_LETTERED
	}
	a.env.Events.Record(&messages.Event{
		Kind: kind, Group: a.group, Queue: m.GetQueue(), Offset: m.GetMessage().GetQueueOffset(), Text: m.GetReason(),
		MessageId: m.GetMessage().MessageID(), Count: int64(m.GetMessage().GetReconsumeTimes()),
		Failure: messages.FailureOf(d.err),
	})
}

// handBack asks the broker that served the message; if that fails it publishes a copy to the retry topic itself.
func (a *RetrySender) handBack(ctx context.Context, m *messages.HandBack) error {
	msg := m.GetMessage()
	if m.GetPublish() {
		return a.publish(ctx, m)
	}
	addr, ok := a.env.Directory.Master(m.GetQueue().GetBroker())
	first := error(&messages.NetworkError{
		Request: "CONSUMER_SEND_MSG_BACK", Address: m.GetQueue().GetBroker(), NotSent: true, Reason: "no master is known",
	})
	if ok {
		one, cancel := context.WithTimeout(ctx, sendBackTimeout)
		first = a.env.Link.SendBack(one, &messages.SendBack{
			Address: addr, Broker: m.GetQueue().GetBroker(), Group: a.group, CommitLogOffset: msg.GetCommitLogOffset(),
			DelayLevel: wireLevel(m, a.maxReconsumes), OriginMessageId: msg.MessageID(), OriginTopic: msg.GetTopic(),
			MaxReconsumeTimes: a.maxReconsumes,
		})
		cancel()
		if first == nil {
			return nil
		}
	}
	if err := a.publish(ctx, m); err != nil {
		return errors.Join(first, err)
	}
	return nil
}

// publish is the fallback (protocol.md 5.7): a normal send to %RETRY%group, to any broker that takes it.
func (a *RetrySender) publish(ctx context.Context, m *messages.HandBack) error {
	topic := RetryTopic(a.group)
	route, err := a.env.Directory.Route(topic)
	if route == nil {
		if err == nil {
			err = &messages.NoRouteError{Topic: topic}
		}
		return err
	}
	req := retryCopy(m, a.maxReconsumes)
	req.ProducerGroup = a.group
	err = &messages.NoRouteError{Topic: topic}
	for _, g := range route.GetQueues() {
		addr, ok := a.env.Directory.Master(g.GetBroker())
		if !ok || g.GetPerm()&permWrite == 0 || g.GetWriteQueues() == 0 {
			continue
		}
		req.Address, req.Queue = addr, &messages.Queue{Topic: topic, Broker: g.GetBroker()}
		if _, err = a.env.Link.Send(ctx, req); err == nil {
			return nil
		}
	}
	return err
}

// wireLevel is the delay level that goes along with a hand-back: none on the way to the dead letter topic, which some brokers
// would obey there, too (pains A31).
func wireLevel(m *messages.HandBack, maxReconsumes int32) int32 {
	if m.GetDelayLevel() > 0 && m.GetMessage().GetReconsumeTimes() >= maxReconsumes {
		return levelByBroker
	}
	return m.GetDelayLevel()
}

// retryCopy makes the message that the fallback publishes: same body, flag and properties, one more try. A count above the
// maximum makes the broker put it into the dead letter topic.
func retryCopy(m *messages.HandBack, maxReconsumes int32) *messages.SendRequest {
	msg := m.GetMessage()
	times := msg.GetReconsumeTimes() + 1
	level := m.GetDelayLevel()
	switch level {
	case levelByBroker:
		level = firstRetryLevel + msg.GetReconsumeTimes()
	case levelDeadLetter:
		times = max(times, maxReconsumes+1)
	}
	if times > maxReconsumes {
		level = 0 // brokers of 4.x would delay the way into the dead letter topic, too
	}
	origin := msg.Property(messages.PropertyOriginMessageID)
	if origin == "" {
		origin = msg.MessageID()
	}
	props := dropProperties(msg.GetRawProperties(), messages.PropertyOriginMessageID, messages.PropertyRetryTopic,
		messages.PropertyReconsumeTime, messages.PropertyMaxReconsumeTimes, messages.PropertyDelay,
		messages.PropertyTransactionPrepared)
	for _, p := range [][2]string{
		{messages.PropertyOriginMessageID, origin},
		{messages.PropertyRetryTopic, msg.GetTopic()},
		{messages.PropertyReconsumeTime, strconv.Itoa(int(times))},
		{messages.PropertyMaxReconsumeTimes, strconv.Itoa(int(maxReconsumes))},
		{messages.PropertyDelay, strconv.Itoa(int(level))},
	} {
		props = append(props, p[0]+"\x01"+p[1]+"\x02"...)
	}
	return &messages.SendRequest{
		Body: msg.GetBody(), Properties: props, Flag: msg.GetFlag(), BornTimestamp: msg.GetBornTimestamp(),
		ReconsumeTimes: times, MaxReconsumeTimes: maxReconsumes,
	}
}

// dropProperties copies a property text without the named ones.
func dropProperties(raw []byte, names ...string) []byte {
	out := make([]byte, 0, len(raw)+256)
	for entry := range strings.SplitSeq(string(raw), "\x02") {
		name, _, ok := strings.Cut(entry, "\x01")
		if !ok || slices.Contains(names, name) {
			continue
		}
		out = append(append(out, entry...), '\x02')
	}
	return out
}
