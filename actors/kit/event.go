package kit

import (
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

// EventKind is what an Event tells.
type EventKind uint8

// Kinds of events.
const (
	// EventFailed: a panic; the actor is restarted after Wait. The message it was processing is lost.
	EventFailed EventKind = iota
	// EventRestarted: the fresh instance has been started.
	EventRestarted
	// EventGaveUp: a panic, and the actor is stopped for good. The message it was processing is lost.
	EventGaveUp
	// EventStopPanicked: a panic in Stopping, or in ChildStopped after it; the stop goes on.
	EventStopPanicked
	// EventDeadLetter: a message reached nobody: the actor had ended, was ending or never was.
	EventDeadLetter
	// EventNilMessage: somebody sent nil, which is refused.
	EventNilMessage
	// EventLateResult: a result of Go was dropped, because the incarnation that asked for it is gone.
	EventLateResult
	// EventNoResult: the work given to Go returned nil.
	EventNoResult
	// EventSpawnRefused: an actor was to be spawned by an actor that is stopping, or by a system that shuts down.
	EventSpawnRefused

	eventKinds
)

var eventNames = [eventKinds]string{"failed", "restarted", "gave up", "panicked while stopping", "dead letter", "nil message",
	"late result", "no result", "spawn refused"}

var eventLevels = [eventKinds]logrus.Level{logrus.WarnLevel, logrus.InfoLevel, logrus.ErrorLevel, logrus.ErrorLevel, logrus.DebugLevel,
	logrus.ErrorLevel, logrus.DebugLevel, logrus.ErrorLevel, logrus.WarnLevel}

// String is the kind in words, e.g. "dead letter".
func (k EventKind) String() string {
	if k < eventKinds {
		return eventNames[k]
	}
	return "unknown"
}

// Event is something the kernel did or noticed.
type Event struct {
	Kind EventKind
	// Actor is the path of the actor concerned; empty for nobody.
	Actor string
	Role  string
	// Message is the name of the type of the message concerned, never its content.
	Message string
	// Err is the *PanicError of EventFailed, EventGaveUp and EventStopPanicked.
	Err error
	// Wait is the back-off of EventFailed.
	Wait time.Duration
	// Incarnation is that of the actor, from 1.
	Incarnation int64
}

// events counts, logs and passes on.
type events struct {
	log    logrus.FieldLogger
	on     func(Event)
	counts [eventKinds]atomic.Int64
}

func (s *events) emit(e Event) {
	s.write(e, s.counts[e.Kind].Add(1))
	if s.on == nil {
		return
	}
	defer func() { _ = recover() }() // a listener's panic must not reach whoever happened to send
	s.on(e)
}

// write logs the n-th event of its kind. Bugs that repeat at the speed of a sender are logged at powers of two only.
func (s *events) write(e Event, n int64) {
	level := eventLevels[e.Kind]
	if !enabled(s.log, level) || rapid(e.Kind) && n&(n-1) != 0 {
		return
	}
	fields := logrus.Fields{"actor": e.Actor, "role": e.Role}
	if e.Message != "" {
		fields["message"] = e.Message
	}
	if e.Incarnation > 0 {
		fields["incarnation"] = e.Incarnation
	}
	if rapid(e.Kind) && n > 1 {
		fields["times"] = n
	}
	if e.Kind == EventFailed {
		fields["wait"] = e.Wait
	}
	if e.Err != nil {
		fields["error"] = e.Err
	}
	log, text := s.log.WithFields(fields), "actor "+e.Kind.String()
	switch level {
	case logrus.ErrorLevel:
		log.Error(text)
	case logrus.WarnLevel:
		log.Warn(text)
	case logrus.InfoLevel:
		log.Info(text)
	default:
		log.Debug(text)
	}
}

func rapid(kind EventKind) bool {
	return kind == EventNilMessage || kind == EventNoResult || kind == EventSpawnRefused
}

// enabled spares the building of fields that nobody writes; a logger of unknown make is taken to write everything.
func enabled(log logrus.FieldLogger, level logrus.Level) bool {
	switch l := log.(type) {
	case *logrus.Logger:
		return l.IsLevelEnabled(level)
	case *logrus.Entry:
		return l.Logger.IsLevelEnabled(level)
	}
	return true
}
