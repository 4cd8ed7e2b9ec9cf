package troupe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// States that callers and handlers meet; compare with errors.Is.
var (
	// ErrNoRoute: no name server knows the topic.
	ErrNoRoute = actors.ErrNoRoute
	// ErrQueueRevoked is the cause with which a handler's context ends when its queue moves to another member and the grace
	// has passed. Nothing is sent back and no attempt is counted.
	ErrQueueRevoked = actors.ErrQueueRevoked
	// ErrDraining is the cause with which a handler's context ends when a shutdown's drain deadline passes.
	ErrDraining = actors.ErrDraining
	// ErrLockLost is the cause with which a handler's context ends when another member has got the lock of its orderly queue.
	ErrLockLost = actors.ErrLockLost
	// ErrHandlerTimeout is the cause with which a handler's context ends when it runs longer than its group's HandlerTimeout.
	ErrHandlerTimeout = actors.ErrHandlerTimeout
	// ErrRejected is the cause of a start that a broker's refusal ended at once, see *SubscriptionError.
	ErrRejected = actors.ErrRejected
	// ErrClosed: the Runtime was shut down.
	ErrClosed = actors.ErrClosed
	// ErrPolling: another Poll of a pull group that commits by itself is under way. Poll from one goroutine, or set ManualCommit.
	ErrPolling = actors.ErrPolling
	// ErrBatchOutdated: the batch's queue was put at another offset, by Seek, Rewind or an administrator, after the batch was polled.
	ErrBatchOutdated = actors.ErrBatchOutdated
	// ErrNotAssigned: the queue is not this member's.
	ErrNotAssigned = actors.ErrNotAssigned
	// ErrNoOffset: the group has no offset of the queue.
	ErrNoOffset = messages.ErrNoOffset
	// ErrNotSubscribed: Poll of a pull group that neither subscribes to a topic nor has queues assigned.
	ErrNotSubscribed = errors.New("nothing to poll: call Subscribe or Assign first")
	// ErrAssigned and ErrSubscribed: a pull group either subscribes or assigns.
	ErrAssigned   = errors.New("queues are assigned: a pull group that assigns does not subscribe; declare another group")
	ErrSubscribed = errors.New("topics are subscribed to: a pull group that subscribes does not assign; declare another group")
	// ErrNoGroup, ErrNoMessage: no broker knows the group, or has such a message.
	ErrNoGroup   = errors.New("no broker knows the group")
	ErrNoMessage = errors.New("no broker has such a message")
	// ErrMembersOnline: the group has members, and must not for what was asked.
	ErrMembersOnline = errors.New("the group has members online: stop them first")
	// ErrNotStarted: the Runtime has not been started yet.
	ErrNotStarted = errors.New("not started: call Start or Run first")
	// ErrStarted: the Runtime has been started; groups and handlers are declared before.
	ErrStarted = errors.New("already started: declare groups and handlers before Start or Run")
)

// Facts about failures; find them with errors.As.
type (
	// ConfigError is one fault of a configuration: Field, Value, Reason.
	ConfigError = actors.ConfigError
	// PanicError is a panic of a handler, contained as a failed attempt: Value, Stack.
	PanicError = actors.PanicError
	// BrokerError is a refusal: Code, CodeName, Request, Broker, Address, Queue, Remark.
	BrokerError = messages.BrokerError
	// SubscriptionError is a broker's refusal of a topic's filter: Topic, Expression, Refusal with the broker's remark.
	SubscriptionError = messages.SubscriptionError
	// NetworkError is a request that got no answer: Request, Address, Reason, TimedOut, NotSent.
	NetworkError = messages.NetworkError
)

// RetryAfter makes a handler's error mean "again, not before d": the broker's first delay level not below d, the highest
// (2 h) for anything longer.
func RetryAfter(d time.Duration, err error) error { return actors.RetryAfter(d, err) }

// DeadLetter makes a handler's error mean "straight to %DLQ%group".
func DeadLetter(err error) error { return actors.DeadLetter(err) }

// FailedAt makes a batch handler's error mean "only these failed", by index in the batch; the rest is settled.
func FailedAt(failures map[int]error) error { return actors.FailedAt(failures) }

// StartError is a start that did not come to an end in time: what was in the way, by group.
type StartError struct {
	Groups map[string]error
	// Cause is why the start ended: the context's error, or ErrRejected.
	Cause error
}

// Error names each group with what was in its way.
func (e *StartError) Error() string {
	if len(e.Groups) == 0 {
		return fmt.Sprintf("start: %v", e.Cause)
	}
	parts := make([]string, 0, len(e.Groups))
	for _, name := range sortedKeys(e.Groups) {
		parts = append(parts, fmt.Sprintf("group %s: %v", name, e.Groups[name]))
	}
	return fmt.Sprintf("start: %s (%v)", strings.Join(parts, "; "), e.Cause)
}

// Unwrap gives the cause and what was in the way.
func (e *StartError) Unwrap() []error {
	out := []error{e.Cause}
	for _, name := range sortedKeys(e.Groups) {
		out = append(out, e.Groups[name])
	}
	return out
}

// ShutdownError tells what a shutdown had to cut short. The messages concerned are delivered again.
type ShutdownError struct {
	// Abandoned is how many handlers were still running when they were given up.
	Abandoned int64
	// Unpersisted are the queues whose final offset could not be stored, each with the reason.
	Unpersisted []string
}

// Error gives both on one line.
func (e *ShutdownError) Error() string {
	var parts []string
	if e.Abandoned > 0 {
		parts = append(parts, fmt.Sprintf("%d handlers were still running when the drain deadline passed", e.Abandoned))
	}
	if len(e.Unpersisted) > 0 {
		parts = append(parts, "offsets not stored: "+strings.Join(e.Unpersisted, "; "))
	}
	return "shutdown: " + strings.Join(parts, "; ")
}

// Is makes errors.Is(err, context.DeadlineExceeded) true if handlers were abandoned.
func (e *ShutdownError) Is(target error) bool {
	return target == context.DeadlineExceeded && e.Abandoned > 0
}
