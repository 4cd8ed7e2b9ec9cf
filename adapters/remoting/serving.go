package remoting

import (
	"fmt"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// respond answers a request, unless it is one-way or there is nothing to answer. Whether the connection still takes the
// answer is the peer's concern: it sees the connection end.
func respond(conn *connection, request, answer *wire.Command) {
	if answer == nil || request.IsOneWay() {
		return
	}
	answer.Opaque = request.Opaque
	answer.MarkResponse()
	if err := conn.post(answer); err != nil && answer.Body != nil {
		// Most likely it is too large for a frame. Saying so is better than silence.
		failed := wire.NewResponse(wire.SystemError, err.Error())
		failed.Opaque = request.Opaque
		_ = conn.post(failed) // the connection is gone, then
	}
}

// unsupported is the answer to a request that nobody serves (NettyRemotingAbstract).
func unsupported(cmd *wire.Command) *wire.Command {
	return wire.NewResponse(wire.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", cmd.Code))
}

// guarded runs a handler; a panic becomes SYSTEM_ERROR with its text, as an exception in a Java processor does.
func guarded(handle func() *wire.Command) (answer *wire.Command) {
	defer func() {
		if v := recover(); v != nil {
			answer = wire.NewResponse(wire.SystemError, fmt.Sprint(v))
		}
	}()
	return handle()
}
