package troupe

import (
	"github.com/troupe-mq/troupe/actors"
)

// ConcurrentGroup is a consumer group whose messages are handled side by side, in clustering mode: each message goes to one
// member. Declare its topics before the start.
type ConcurrentGroup struct {
	group
	config ConcurrentConfig
}

// Concurrent declares a group. It must be called before the start; faults are reported by Start.
func (r *Runtime) Concurrent(name string, cfg ConcurrentConfig) *ConcurrentGroup {
	g := &ConcurrentGroup{group: group{runtime: r, name: name}, config: cfg.withDefaults()}
	r.declare(g)
	return g
}

func (g *ConcurrentGroup) check(f *faults) {
	g.config.check(g.name, f)
	g.checkTopics(f)
}

func (g *ConcurrentGroup) spec(version int64) *actors.GroupSpec {
	c := g.config
	spec := c.consumption().spec(g.name)
	spec.Limits.Span = int64(c.MaxSpan)
	spec.MaxReconsumes = int32(max(c.MaxRetries, 0))
	spec.RedeliverAfter = c.RedeliverAfter
	spec.HandlerTimeout = max(c.HandlerTimeout, 0)
	spec.HandOff = max(c.HandOff, 0)
	spec.Allocate = c.Allocation.orDefault()
	spec.Subscriptions = g.subscriptions(version)
	return spec
}
