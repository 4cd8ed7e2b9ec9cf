package remoting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// Reasons with which connections and requests end. They appear as the reason of a *messages.NetworkError.
var (
	errClosed     = errors.New("closed")
	errIdle       = errors.New("closed as idle")
	errHalfOpen   = errors.New("nothing was read while requests timed out: the connection is taken for half open")
	errBacklog    = errors.New("the peer does not read: too much waits to be written")
	errLost       = errors.New("the peer closed the connection")
	errDisconnect = errors.New("disconnected")
	errGoneAway   = errors.New("the broker is going away")
)

// requestName names a request for error texts.
func requestName(cmd *wire.Command) string { return wire.RequestCode(cmd.Code).String() }

// lost says that the connection broke while a request was out.
func lost(x *Exchange, cause error) error {
	return &messages.NetworkError{Request: requestName(&x.Request), Address: x.address, Reason: "connection lost: " + reasonOf(cause)}
}

// notSent says that there was no connection for a request.
func notSent(x *Exchange, cause error) error {
	return &messages.NetworkError{Request: requestName(&x.Request), Address: x.address, Reason: reasonOf(cause), NotSent: true}
}

// timedOut says that a request got no answer in time.
func timedOut(x *Exchange) error {
	return &messages.NetworkError{
		Request: requestName(&x.Request), Address: x.address, Reason: "no answer in time", TimedOut: true, NotSent: x.conn.Load() == nil,
	}
}

// cancelled says that the caller gave a request up; the cause is wrapped beside the network error.
func cancelled(x *Exchange, cause error) error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return timedOut(x)
	}
	err := &messages.NetworkError{
		Request: requestName(&x.Request), Address: x.address, Reason: "cancelled", NotSent: x.conn.Load() == nil,
	}
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// reasonOf gives the short reason of a network fault, lower case, without addresses where the error is a common one.
func reasonOf(err error) string {
	switch {
	case err == nil:
		return errClosed.Error()
	case errors.Is(err, io.EOF):
		return errLost.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errLost.Error() + " within a frame"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset by the peer"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "timed out"
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}
