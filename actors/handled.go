package actors

import (
	"time"

	"github.com/troupe-mq/troupe/actors/kit"
)

// handled is what the modes have in common whose messages handlers get: what they settled is what may be committed.
type handled struct{ *Consumer }

func (a handled) start(*kit.Context) {}

func (a handled) advanced(offset int64) { a.q.status.committed.Store(offset) }

func (a handled) leave(_ *kit.Context, grace time.Duration) time.Duration { return grace }

func (a handled) cancels() bool { return true }
