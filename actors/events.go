package actors

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/messages"
)

// Observer is told of every event. It is called in the turn of the actor concerned, or on a worker: it must be fast, must
// not block and must not keep the event's referenced messages for long. Calls come from several goroutines at once. A panic
// in it is logged and does no other harm.
type Observer interface {
	Observe(*messages.Event)
}

// eventStyle is how an event kind shows in the log.
type eventStyle struct {
	level logrus.Level
	line  string
}

// Lines are constant; what varies stands in fields. Kinds that a healthy idle client produces often are at debug.
var eventStyles = map[messages.EventKind]eventStyle{
	messages.EventKind_EVENT_KIND_CLIENT_STARTED:        {logrus.InfoLevel, "client started"},
	messages.EventKind_EVENT_KIND_CLIENT_STOPPING:       {logrus.InfoLevel, "client stopping"},
	messages.EventKind_EVENT_KIND_CLIENT_STOPPED:        {logrus.InfoLevel, "client stopped"},
	messages.EventKind_EVENT_KIND_GROUP_READY:           {logrus.InfoLevel, "group ready"},
	messages.EventKind_EVENT_KIND_GROUP_STOPPED:         {logrus.InfoLevel, "group stopped"},
	messages.EventKind_EVENT_KIND_ROUTE_CHANGED:         {logrus.DebugLevel, "route changed"},
	messages.EventKind_EVENT_KIND_ROUTE_MISSING:         {logrus.WarnLevel, "topic has no route: create it or check its name; asking again"},
	messages.EventKind_EVENT_KIND_ROUTE_FAILED:          {logrus.WarnLevel, "no name server answered; asking again"},
	messages.EventKind_EVENT_KIND_CONNECTED:             {logrus.DebugLevel, "connected"},
	messages.EventKind_EVENT_KIND_DISCONNECTED:          {logrus.WarnLevel, "connection lost"},
	messages.EventKind_EVENT_KIND_HEARTBEAT_FAILED:      {logrus.WarnLevel, "heartbeat failed; trying again"},
	messages.EventKind_EVENT_KIND_MEMBERS_UNUSABLE:      {logrus.WarnLevel, "member list unusable; keeping the assignment"},
	messages.EventKind_EVENT_KIND_REBALANCED:            {logrus.InfoLevel, "rebalanced"},
	messages.EventKind_EVENT_KIND_QUEUE_ASSIGNED:        {logrus.DebugLevel, "queue assigned"},
	messages.EventKind_EVENT_KIND_QUEUE_REVOKING:        {logrus.DebugLevel, "queue being revoked"},
	messages.EventKind_EVENT_KIND_QUEUE_REVOKED:         {logrus.DebugLevel, "queue revoked"},
	messages.EventKind_EVENT_KIND_START_OFFSET_FAILED:   {logrus.WarnLevel, "start offset unknown; trying again"},
	messages.EventKind_EVENT_KIND_OFFSET_CORRECTED:      {logrus.WarnLevel, "offset corrected by the broker"},
	messages.EventKind_EVENT_KIND_OFFSET_RESET:          {logrus.WarnLevel, "offset reset on demand of an administrator"},
	messages.EventKind_EVENT_KIND_PULL_DELAYED:          {logrus.DebugLevel, "pull delayed"},
	messages.EventKind_EVENT_KIND_HANDLER_FAILED:        {logrus.DebugLevel, "handler failed"},
	messages.EventKind_EVENT_KIND_HANDLER_PANICKED:      {logrus.ErrorLevel, "handler panicked"},
	messages.EventKind_EVENT_KIND_HANDED_BACK:           {logrus.DebugLevel, "message handed back"},
	messages.EventKind_EVENT_KIND_DEAD_LETTERED:         {logrus.WarnLevel, "message dead-lettered"},
	messages.EventKind_EVENT_KIND_HAND_BACK_FAILED:      {logrus.WarnLevel, "hand-back failed; trying again here"},
	messages.EventKind_EVENT_KIND_MESSAGE_CORRUPT:       {logrus.ErrorLevel, "corrupt message skipped"},
	messages.EventKind_EVENT_KIND_OFFSET_PERSIST_FAILED: {logrus.WarnLevel, "offset not persisted; trying again"},
	messages.EventKind_EVENT_KIND_ACTOR_RESTARTED:       {logrus.ErrorLevel, "actor failed and was restarted"},
	messages.EventKind_EVENT_KIND_ACTOR_GAVE_UP:         {logrus.ErrorLevel, "actor failed too often and was stopped"},
	messages.EventKind_EVENT_KIND_DEAD_LETTER:           {logrus.DebugLevel, "message to a stopped actor"},
	messages.EventKind_EVENT_KIND_HANDLERS_ABANDONED:    {logrus.WarnLevel, "handlers still running were given up"},
	messages.EventKind_EVENT_KIND_SUBSCRIPTION_MISMATCH: {logrus.WarnLevel, "members of the group subscribe differently; align their topics and filters"},
	messages.EventKind_EVENT_KIND_OLDEST_IN_FLIGHT:      {logrus.WarnLevel, "a message is in flight for long and holds the committed offset back"},
	messages.EventKind_EVENT_KIND_CALL_REFUSED:          {logrus.DebugLevel, "broker's request is not supported"},
	messages.EventKind_EVENT_KIND_PULL_LOOP_SILENT:      {logrus.WarnLevel, "queue has not been pulled for long"},
	messages.EventKind_EVENT_KIND_HANDLER_OVERDUE:       {logrus.WarnLevel, "handler runs longer than allowed; its context was ended"},
	messages.EventKind_EVENT_KIND_LOCK_LOST:             {logrus.WarnLevel, "queue lock lost; locking it again"},
	messages.EventKind_EVENT_KIND_QUEUE_SUSPENDED:       {logrus.WarnLevel, "queue suspended after a failure; the same message is handled again"},
	messages.EventKind_EVENT_KIND_LOCK_PASSED_OVER:      {logrus.WarnLevel, "former owner did not give the queue up in time; going on without its lock"},
	messages.EventKind_EVENT_KIND_LOCK_FAILED:           {logrus.WarnLevel, "queue lock not to be had; trying again"},
	messages.EventKind_EVENT_KIND_MESSAGE_DROPPED:       {logrus.WarnLevel, "message dropped"},
	messages.EventKind_EVENT_KIND_OFFSET_STORE_WARNING:  {logrus.WarnLevel, "stored offsets are not what they should be"},
	messages.EventKind_EVENT_KIND_TRACE_DROPPED:         {logrus.WarnLevel, "traces were dropped; messages are consumed all the same"},
	messages.EventKind_EVENT_KIND_ALLOCATION_FAULTY:     {logrus.WarnLevel, "allocation strategy is at fault; see that it gives each queue of the topic to one member"},
	messages.EventKind_EVENT_KIND_QUEUES_SKIPPED:        {logrus.WarnLevel, "queues that the group has never seen begin behind their messages; set UnseenFromFirst to consume these"},
	messages.EventKind_EVENT_KIND_SUBSCRIPTION_REJECTED: {logrus.ErrorLevel, "broker refuses the filter of a topic; it is not consumed"},
	messages.EventKind_EVENT_KIND_SUBSCRIBED:            {logrus.InfoLevel, "subscription changed"},
	messages.EventKind_EVENT_KIND_UNSUBSCRIBED:          {logrus.InfoLevel, "topic unsubscribed"},
	messages.EventKind_EVENT_KIND_PULL_RESUMED:          {logrus.DebugLevel, "pulls go on"},
	messages.EventKind_EVENT_KIND_OFFSET_SOUGHT:         {logrus.InfoLevel, "queue put at another offset by the program"},
	messages.EventKind_EVENT_KIND_BATCHES_UNFINISHED:    {logrus.WarnLevel, "queue given up with batches that were polled and not finished; they are delivered again"},
}

// Repeats of one line about one thing are written once in this time, with the number left out in between.
const repeatPeriod = time.Minute

// Things remembered for the rate limit; beyond that the oldest memory is given up.
const repeatMemory = 1024

// Events counts, logs and hands on what happens. Safe for concurrent use.
type Events struct {
	counts    []atomic.Int64
	log       logrus.FieldLogger
	observers []Observer

	mu      sync.Mutex
	repeats map[repeatKey]*repeat
}

type repeatKey struct {
	kind                          messages.EventKind
	group, topic, address, detail string
}

type repeat struct {
	last       time.Time
	suppressed int64
}

// NewEvents makes the events of one client. log and observers may not be nil.
func NewEvents(log logrus.FieldLogger, observers ...Observer) *Events {
	return &Events{
		counts: make([]atomic.Int64, lastKind()+1), log: log, observers: observers,
		repeats: make(map[repeatKey]*repeat),
	}
}

// lastKind is the highest number of a kind; the numbers have gaps.
func lastKind() (last messages.EventKind) {
	for number := range messages.EventKind_name {
		last = max(last, messages.EventKind(number))
	}
	return last
}

// Record counts the event, tells the observers and writes its line.
func (e *Events) Record(ev *messages.Event) {
	if ev.GetAt() == 0 {
		ev.At = time.Now().UnixMilli()
	}
	e.counts[ev.GetKind()].Add(1)
	for _, o := range e.observers {
		e.observe(o, ev)
	}
	e.write(ev)
}

// observe calls the program's code, whose fault may not become an actor's or a worker's.
func (e *Events) observe(o Observer, ev *messages.Event) {
	ended := false
	defer func() {
		if ended {
			return
		}
		value, stack := recover(), debug.Stack()
		if suppressed, pass := e.passes(repeatKey{detail: fmt.Sprintf("%T", o)}, time.UnixMilli(ev.GetAt())); pass {
			e.log.WithFields(logrus.Fields{
				"event": EventName(ev.GetKind()), "cause": fmt.Sprint(value), "stack": string(stack), "suppressed": suppressed,
			}).Error("an observer of events panicked")
		}
	}()
	o.Observe(ev)
	ended = true
}

// Counts gives how often each kind happened, by its short name, e.g. OFFSET_CORRECTED; kinds that never did are left out.
func (e *Events) Counts() map[string]int64 {
	out := make(map[string]int64)
	for kind := range e.counts {
		if n := e.counts[kind].Load(); n > 0 {
			out[EventName(messages.EventKind(kind))] = n
		}
	}
	return out
}

// Count gives how often one kind happened.
func (e *Events) Count(kind messages.EventKind) int64 { return e.counts[kind].Load() }

// EventName is an event kind's name without its prefix.
func EventName(kind messages.EventKind) string { return kind.String()[len("EVENT_KIND_"):] }

func (e *Events) write(ev *messages.Event) {
	style, ok := eventStyles[ev.GetKind()]
	if !ok {
		style = eventStyle{logrus.InfoLevel, EventName(ev.GetKind())}
	}
	suppressed := int64(0)
	if style.level <= logrus.WarnLevel {
		var pass bool
		key := repeatKey{ev.GetKind(), ev.GetGroup(), ev.GetTopic(), ev.GetAddress(), ev.GetActor()}
		if suppressed, pass = e.passes(key, time.UnixMilli(ev.GetAt())); !pass {
			return
		}
	}
	line := e.log.WithFields(fieldsOf(ev))
	if suppressed > 0 {
		line = line.WithField("suppressed", suppressed)
	}
	switch style.level {
	case logrus.DebugLevel:
		line.Debug(style.line)
	case logrus.InfoLevel:
		line.Info(style.line)
	case logrus.WarnLevel:
		line.Warn(style.line)
	default:
		line.Error(style.line)
	}
}

// passes tells whether a line may be written, and how many like it were not.
func (e *Events) passes(key repeatKey, now time.Time) (suppressed int64, pass bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.repeats[key]
	if r != nil && now.Sub(r.last) < repeatPeriod {
		r.suppressed++
		return 0, false
	}
	if r == nil {
		if len(e.repeats) >= repeatMemory {
			e.forgetOldest()
		}
		r = &repeat{}
		e.repeats[key] = r
	}
	suppressed, r.suppressed, r.last = r.suppressed, 0, now
	return suppressed, true
}

func (e *Events) forgetOldest() {
	var oldest repeatKey
	var at time.Time
	for k, r := range e.repeats {
		if at.IsZero() || r.last.Before(at) {
			oldest, at = k, r.last
		}
	}
	delete(e.repeats, oldest)
}

func fieldsOf(ev *messages.Event) logrus.Fields {
	f := logrus.Fields{"event": EventName(ev.GetKind())}
	set := func(name, value string) {
		if value != "" {
			f[name] = value
		}
	}
	set("group", ev.GetGroup())
	set("topic", ev.GetTopic())
	set("address", ev.GetAddress())
	set("actor", ev.GetActor())
	set("cause", ev.GetText())
	set("message_id", ev.GetMessageId())
	set("stack", ev.GetStack())
	if q := ev.GetQueue(); q != nil {
		f["topic"], f["broker"], f["queue"] = q.GetTopic(), q.GetBroker(), q.GetId()
	}
	if ev.GetFailure() != nil {
		f["error"] = ev.GetFailure().Err().Error()
	}
	if ev.GetOffset() != 0 || ev.GetPreviousOffset() != 0 {
		f["offset"] = ev.GetOffset()
	}
	if ev.GetPreviousOffset() != 0 {
		f["previous_offset"] = ev.GetPreviousOffset()
	}
	if ev.GetCount() != 0 {
		f["count"] = ev.GetCount()
	}
	if ev.GetDelayMillis() != 0 {
		f["delay"] = (time.Duration(ev.GetDelayMillis()) * time.Millisecond).String()
	}
	return f
}
