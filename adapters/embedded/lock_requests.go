package embedded

import "github.com/troupe-mq/troupe/adapters/wire"

// lock answers LOCK_BATCH_MQ (41) with the queues that the client now holds; always with success.
func (i *incarnation) lock(cmd *wire.Command) *wire.Command {
	body, err := wire.DecodeLockRequest(cmd.Body)
	if err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	granted := wire.LockResponse{}
	for _, q := range body.Queues {
		if i.locks.tryLock(groupQueue{body.Group, q.Topic, q.QueueID}, body.ClientID) {
			granted.Queues = append(granted.Queues, q)
		}
	}
	return acceptBody(granted.Encode())
}

// unlock answers UNLOCK_BATCH_MQ (42).
func (i *incarnation) unlock(cmd *wire.Command) *wire.Command {
	body, err := wire.DecodeLockRequest(cmd.Body)
	if err != nil {
		return refuse(wire.SystemError, err.Error())
	}
	for _, q := range body.Queues {
		i.locks.unlock(groupQueue{body.Group, q.Topic, q.QueueID}, body.ClientID)
	}
	return accept()
}
