// Package actors is the cast: one actor a file, each opening with its card. Together they are a RocketMQ client that consumes: routes,
// heartbeats, rebalancing, a Puller and a Consumer for each queue, offsets, retries.
//
// What the cast needs from outside stands in ports.go; it knows no implementation, no network, no file and no wire format. Client is the
// door; README.md in this folder is the reading guide.
package actors
