package messages

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrNoRoute says that no name server knows a route for a topic.
var ErrNoRoute = errors.New("no route")

// ErrNoOffset says that the cluster keeps no offset for a group and queue (QUERY_NOT_FOUND, 22). It is the only answer
// that lets a group start by its ConsumeFrom rule.
var ErrNoOffset = errors.New("no offset stored")

// Error gives request, broker, queue, code and the broker's own remark on one line.
func (e *BrokerError) Error() string {
	var b strings.Builder
	b.WriteString(e.GetRequest())
	if e.GetQueue() != nil {
		fmt.Fprintf(&b, " %s", e.GetQueue().Text())
	} else if e.GetBroker() != "" {
		fmt.Fprintf(&b, " %s", e.GetBroker())
	}
	if e.GetAddress() != "" {
		fmt.Fprintf(&b, " (%s)", e.GetAddress())
	}
	fmt.Fprintf(&b, ": %s (%d)", e.GetCodeName(), e.GetCode())
	if e.GetRemark() != "" {
		fmt.Fprintf(&b, ": %s", e.GetRemark())
	}
	return b.String()
}

// Error gives request, address and reason on one line.
func (e *NetworkError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.GetRequest(), e.GetAddress(), e.GetReason())
}

// Timeout tells whether the deadline passed.
func (e *NetworkError) Timeout() bool { return e.GetTimedOut() }

// Is makes errors.Is(err, context.DeadlineExceeded) true for a request that timed out.
func (e *NetworkError) Is(target error) bool {
	return target == context.DeadlineExceeded && e.GetTimedOut()
}

// Error names the topic, its filter and the broker's remark, which tells the position.
func (e *SubscriptionError) Error() string {
	return fmt.Sprintf("subscription of topic %s: filter %q refused: %v", e.GetTopic(), e.GetExpression(), e.GetRefusal())
}

// Unwrap gives the broker's refusal.
func (e *SubscriptionError) Unwrap() error { return e.GetRefusal() }

// NoRouteError is ErrNoRoute with its topic.
type NoRouteError struct{ Topic string }

// Error names the topic.
func (e *NoRouteError) Error() string { return fmt.Sprintf("no route for topic %q", e.Topic) }

// Is makes errors.Is(err, ErrNoRoute) true.
func (e *NoRouteError) Is(target error) bool { return target == ErrNoRoute }

// FailureOf packs an error so that it can travel between actors; nil for nil.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	var be *BrokerError
	var ne *NetworkError
	var nr *NoRouteError
	var se *SubscriptionError
	switch {
	case errors.As(err, &se):
		return &Failure{Cause: &Failure_Subscription{Subscription: se}}
	case errors.As(err, &be):
		return &Failure{Cause: &Failure_Broker{Broker: be}}
	case errors.As(err, &ne):
		return &Failure{Cause: &Failure_Network{Network: ne}}
	case errors.As(err, &nr):
		return &Failure{Cause: &Failure_NoRoute{NoRoute: nr.Topic}}
	case errors.Is(err, ErrNoOffset):
		return &Failure{Cause: &Failure_NoOffset{NoOffset: true}}
	}
	return &Failure{Cause: &Failure_Other{Other: err.Error()}}
}

// Err unpacks the error again; nil for nil.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	switch c := f.GetCause().(type) {
	case *Failure_Broker:
		return c.Broker
	case *Failure_Network:
		return c.Network
	case *Failure_NoRoute:
		return &NoRouteError{Topic: c.NoRoute}
	case *Failure_NoOffset:
		return ErrNoOffset
	case *Failure_Subscription:
		return c.Subscription
	case *Failure_Other:
		return errors.New(c.Other)
	}
	return errors.New("unknown failure")
}
