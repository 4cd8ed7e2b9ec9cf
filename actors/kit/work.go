package kit

import (
	"context"
	"runtime/debug"
	"time"
)

// result is what work sends to its actor: the message, and for which incarnation it is.
type result struct {
	m           Message
	incarnation int64
}

func (c *cell) work(timeout time.Duration, work func(ctx context.Context) Message) {
	if work == nil {
		panic("kit: no work")
	}
	if c.workCtx == nil {
		c.workCtx, c.cancelWork = context.WithCancelCause(context.Background())
		if c.state.Load() >= stateStopping {
			c.cancelWork(ErrStopped)
		}
	}
	ctx, cancel := c.workCtx, context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	incarnation := c.incarnation
	c.system.works.begin(c.id)
	c.system.dispatcher.Schedule(func() {
		var m Message
		returned := false
		defer func() {
			value := recover()
			cancel()
			switch {
			case !returned && value == nil:
				m = &WorkPanicked{Value: ErrGoexit}
			case !returned:
				m = &WorkPanicked{Value: value, Stack: debug.Stack()}
			case m == nil:
				c.system.events.emit(c.event(EventNoResult, ""))
				m = &WorkPanicked{Value: ErrNoResult}
			}
			c.mailbox.post(entry{m: &result{m, incarnation}})
			c.system.works.end(c.id)
		}()
		m = work(ctx)
		returned = true
	})
}

// endWork cancels what the incarnation has started.
func (c *cell) endWork(cause error) {
	if c.workCtx != nil {
		c.cancelWork(cause)
	}
	if c.state.Load() < stateStopping {
		c.workCtx, c.cancelWork = nil, nil
	}
}
