package embedded

import "github.com/troupe-mq/troupe/adapters/wire"

// refuse is an answer without success.
func refuse(code wire.ResponseCode, remark string) *wire.Command {
	return wire.NewResponse(code, remark)
}

// accept is the plain answer of success.
func accept() *wire.Command { return wire.NewResponse(wire.Success, "") }

// acceptBody is success with a body.
func acceptBody(body []byte) *wire.Command {
	answer := accept()
	answer.Body = body
	return answer
}
