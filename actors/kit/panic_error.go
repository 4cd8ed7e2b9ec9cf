package kit

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrGoexit is the value of a failure of a turn or work that left its goroutine by runtime.Goexit.
	ErrGoexit = errors.New("goroutine left by Goexit")
	// ErrNoResult is the value of a WorkPanicked for work that returned nil.
	ErrNoResult = errors.New("work returned no message")
	// ErrRestarted is the cause with which the context of work is cancelled when the actor that started it fails.
	ErrRestarted = errors.New("actor failed and is restarted")
	// ErrStopped is the cause with which the context of work is cancelled when the actor that started it stops.
	ErrStopped = errors.New("actor stopped")
)

// PanicError is a panic in an actor's turn.
type PanicError struct {
	// Value is what it panicked with, or ErrGoexit.
	Value any
	// Stack is that of the panicking goroutine.
	Stack []byte
	// Actor is the path of the actor.
	Actor string
	// Message is the name of the type of the message that was being processed, e.g. messages.Pull.
	Message string

	cell        *cell
	incarnation int64
	giveUp      bool
	wait        time.Duration
}

// Error names actor, message and value.
func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: panic on %s: %v", e.Actor, e.Message, e.Value)
}

// Unwrap gives the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
