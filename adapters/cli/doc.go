// Package cli is the troupe command: one file a verb. Results go to standard output, in JSON one object a line; logs and progress go
// to standard error. Exit codes: 0 good, 1 failed, 2 wrong usage. Ctrl-C drains.
//
// It composes runtime, adapters/rocketmq, adapters/embedded and adapters/topology, and has no behaviour of RocketMQ of its own.
package cli
