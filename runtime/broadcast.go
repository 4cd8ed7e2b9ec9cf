package troupe

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/actors/allocation"
)

// BroadcastGroup is a consumer group of which every member gets every message. The cluster keeps neither the members' offsets nor
// what they failed to handle. Start returns when each queue has its start offset: whatever is stored from then on is delivered.
// Declare its topics before the start.
type BroadcastGroup struct {
	group
	config BroadcastConfig
}

// Broadcast declares a group. It must be called before the start; faults are reported by Start.
func (r *Runtime) Broadcast(name string, cfg BroadcastConfig) *BroadcastGroup {
	g := &BroadcastGroup{group: group{runtime: r, name: name}, config: cfg.withDefaults()}
	r.declare(g)
	return g
}

func (g *BroadcastGroup) offsets() OffsetStore { return g.config.Offsets }

func (g *BroadcastGroup) check(f *faults) {
	g.config.check(g.name, f)
	g.checkTopics(f)
}

func (g *BroadcastGroup) spec(version int64) *actors.GroupSpec {
	c := g.config
	spec := c.consumption().spec(g.name)
	spec.Limits.Span = int64(c.MaxSpan)
	spec.RedeliverAfter = DefaultRedeliverAfter
	spec.HandlerTimeout = max(c.HandlerTimeout, 0)
	spec.Allocate = allocation.Average{} // tools are told of it; all queues are every member's
	spec.Broadcast = &actors.BroadcastSpec{LocalRetries: c.LocalRetries, RetryDelay: c.RetryDelay}
	spec.Subscriptions = g.subscriptions(version)
	return spec
}

// openOffsets opens the stores of broadcasting groups. All that fail are reported; then none is left open.
func (r *Runtime) openOffsets(ctx context.Context, spec actors.ClientSpec) error {
	var failures []error
	for i, g := range r.groups { // which nobody changes during a start
		keeper, ok := g.(interface{ offsets() OffsetStore })
		if !ok || keeper.offsets() == nil {
			continue
		}
		table, err := keeper.offsets().Open(ctx, g.groupName())
		if err != nil {
			failures = append(failures, fmt.Errorf("group %s: %w", g.groupName(), err))
			continue
		}
		spec.Groups[i].Broadcast.Offsets = table
	}
	if len(failures) > 0 {
		closeOffsets(spec)
	}
	return errors.Join(failures...)
}

// closeOffsets gives up what was opened for a client that does not come to be.
func closeOffsets(spec actors.ClientSpec) {
	for _, g := range spec.Groups {
		if g.Broadcast != nil && g.Broadcast.Offsets != nil {
			_ = g.Broadcast.Offsets.Close() // nothing was saved
		}
	}
}
