package actors

import "github.com/troupe-mq/troupe/messages"

// placement is an order to go on at another offset.
type placement struct {
	offset int64
	// kind is how it is told.
	kind messages.EventKind
	// insist stores the offset for the group whatever else is on its way there.
	insist bool
	// hold leaves what is committed as it is, until something behind the offset is finished; earlier lets batches below it that were
	// handed out be finished.
	hold, earlier bool
	// done, if any, is told once when nothing from before can be delivered any more, or why it did not come to that.
	done func(error)
}

// finish tells whoever waits.
func (p *placement) finish(err error) {
	if p != nil && p.done != nil {
		p.done(err)
		p.done = nil
	}
}

// origin is how the topology calls it where a queue begins by it.
func (p *placement) origin() string {
	if p.kind == messages.EventKind_EVENT_KIND_OFFSET_SOUGHT {
		return "sought"
	}
	return "reset"
}

// seekQueue puts a queue of a pull group at another offset.
type seekQueue struct {
	key messages.QueueKey
	placement
}
