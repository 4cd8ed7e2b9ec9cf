package actors

import "github.com/troupe-mq/troupe/actors/kit"

// WorkerPool is the place in the tree of the pool in which user code runs, and nothing else: Consumers submit to the pool
// itself, because a hop for each hand-over would wake one goroutine more.
//
//	Owns        the pool's life
//	Parent      ConsumerGroup
//	In, out     nothing
//	Restart     the pool goes on
type WorkerPool struct{}

// Receive handles one message.
func (a *WorkerPool) Receive(*kit.Context, kit.Message) {}
