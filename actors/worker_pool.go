package actors

import (
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
	"github.com/troupe-mq/troupe/messages"
)

// WorkerPool is the place in the tree of the pool in which user code runs, and watches over what runs there. Consumers submit
// to the pool itself, because a hop for each hand-over would wake one goroutine more.
//
//	Owns        the pool's life
//	Parent      ConsumerGroup
//	In          OverdueTick
//	Out         HandBack to the RetrySender; failedHere to the Consumer
//	Invariants  a handler that runs longer than the group allows is told by its context, and its messages go back once, or are dropped if
//	            the group broadcasts
//	Restart     the pool goes on
//	Source      ConsumeMessageConcurrentlyService.cleanExpireMsg (protocol.md 5.7)
type WorkerPool struct {
	env   *Env
	group *groupContext
}

// Delay level with which messages of an overdue handler go back, as in Java.
const overdueLevel = 3

// A handler's time is looked at this often within the limit.
const overdueLooks = 8

// Receive handles one message.
func (a *WorkerPool) Receive(c *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case kit.Started:
		a.watch(c, &messages.OverdueTick{})
	case *messages.OverdueTick:
		a.look()
		a.watch(c, m)
	}
}

func (a *WorkerPool) watch(c *kit.Context, tick *messages.OverdueTick) {
	if limit := a.group.spec.HandlerTimeout; limit > 0 {
		c.After(max(limit/overdueLooks, time.Millisecond), tick)
	}
}

func (a *WorkerPool) look() {
	for _, late := range a.group.calls.takeOverdue(time.Now(), a.group.spec.HandlerTimeout) {
		h := late.h
		ms := late.batch.Messages()[late.first:late.end]
		a.env.Events.Record(&messages.Event{
			Kind: messages.EventKind_EVENT_KIND_HANDLER_OVERDUE, Group: a.group.spec.Name, Queue: h.q.queue,
			Offset: ms[0].GetQueueOffset(), MessageId: ms[0].MessageID(), Count: int64(len(ms)),
			DelayMillis: a.group.spec.HandlerTimeout.Milliseconds(),
		})
		if !a.group.spec.expires() || !h.current() {
			continue
		}
		for i := range ms {
			if late.batch.Settled(late.first + i) {
				continue
			}
			h.q.countFailure()
			if a.group.spec.broadcasts() { // it still runs, so it must not be tried again beside itself
				h.consumer.Tell(&failedHere{batch: late.batch, index: late.first + i, epoch: h.epoch, err: DeadLetter(ErrHandlerTimeout)})
			} else {
				h.handBack(late.batch, late.first+i, &ms[i], overdueLevel, ErrHandlerTimeout.Error())
			}
		}
	}
}
