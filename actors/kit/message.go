package kit

import (
	"reflect"
	"strings"
)

// Message is what actors exchange: pointers to generated protobuf messages, or small structs for what cannot be data. It
// is immutable once sent. Nil is refused.
type Message = any

// Started is the first message of every incarnation.
type Started struct{}

// Stopping is the last message of an actor that is stopped, apart from ChildStopped of children it leaves behind. An
// instance that panicked does not get it.
type Stopping struct{}

// ChildStopped tells a parent, exactly once, that a child has ended with all its own children and that its name is free
// again. It is not delivered to a later incarnation than the one that spawned the child.
type ChildStopped struct {
	Ref  Ref
	Role string
	Name string
	// Err is nil if the child was stopped or stopped itself, or the *PanicError with which it was given up.
	Err error
}

// WorkPanicked is what Go delivers if its work panicked, left its goroutine by Goexit or returned nil.
type WorkPanicked struct {
	// Value is what the work panicked with, ErrGoexit or ErrNoResult.
	Value any
	Stack []byte
}

// typeName is the name of a message's type without the pointer's star, e.g. messages.Pull.
func typeName(m Message) string {
	if m == nil {
		return "nil"
	}
	return nameOf(reflect.TypeOf(m))
}

func nameOf(t reflect.Type) string { return strings.TrimPrefix(t.String(), "*") }
