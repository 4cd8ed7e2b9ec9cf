package actors

import (
	"errors"
	"fmt"

	"github.com/troupe-mq/troupe/actors/pollbuffer"
	"github.com/troupe-mq/troupe/messages"
)

// Causes with which a handler's context ends, and states that callers meet.
var (
	// ErrQueueRevoked ends the context of a handler whose queue moves to another member. Nothing is sent back and no attempt
	// is counted: the new owner delivers the message again.
	ErrQueueRevoked = pollbuffer.ErrRevoked
	// ErrHandlerTimeout ends the context of a handler that runs longer than its group allows.
	ErrHandlerTimeout = errors.New("handler timeout")
	// ErrLockLost ends the context of a handler of an orderly queue whose lock another member has got.
	ErrLockLost = errors.New("queue lock lost")
	// ErrRejected is the cause of a start that a broker's refusal ended, which waiting would not change.
	ErrRejected = errors.New("refused by a broker")
	// ErrDraining ends the context of a handler that is still running when the drain deadline of a shutdown passes.
	ErrDraining = errors.New("draining: the deadline of the shutdown passed")
	// ErrOffsetCorrected ends the context of a handler whose queue was moved to another offset by the broker.
	ErrOffsetCorrected = errors.New("offset corrected by the broker")
	// ErrPolling: another Poll of a group that commits by itself is under way.
	ErrPolling = pollbuffer.ErrPolling
	// ErrBatchOutdated: the batch's queue was put at another offset after the batch was polled.
	ErrBatchOutdated = pollbuffer.ErrOutdated
	// ErrNotAssigned: the queue is not this member's at present.
	ErrNotAssigned = errors.New("queue not assigned to this member")
	// ErrClosed is returned by a Runtime or Publisher that was shut down.
	ErrClosed = errors.New("closed")
	// ErrNoRoute says that no name server knows a topic.
	ErrNoRoute = messages.ErrNoRoute
)

// ConfigError is one fault of a configuration.
type ConfigError struct {
	// Field as written in Go, e.g. ConcurrentConfig.Workers.
	Field string
	// Value that was given.
	Value any
	// Reason says what is wrong and what is allowed.
	Reason string
}

// Error names field, value and reason.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s = %v: %s", e.Field, e.Value, e.Reason)
}

// PanicError is a panic of user code, contained as a failed attempt.
type PanicError struct {
	Value any
	Stack []byte
}

// Error gives the panic's value; the stack is in the field.
func (e *PanicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.Value) }

// Unwrap gives the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
