package rocketmq

import "time"

// DefaultDialTimeout bounds the making of a connection (connectTimeoutMillis).
const DefaultDialTimeout = 3 * time.Second

// timeouts are how long a client waits for answers, by kind of request.
type timeouts struct {
	route, heartbeat, leave, members, committed, commit, bounds, sendBack, lock, send time.Duration
}

// timeoutsOf gives one time-out for every kind, or those of the Java client (protocol.md 2.9) if it is 0.
func timeoutsOf(all time.Duration) timeouts {
	if all > 0 {
		return timeouts{all, all, all, all, all, all, all, all, all, all}
	}
	s := time.Second
	return timeouts{
		route: 3 * s, heartbeat: 3 * s, leave: 3 * s, members: 3 * s, committed: 5 * s, commit: 5 * s, bounds: 6 * s,
		sendBack: 5 * s, lock: s, send: 3 * s,
	}
}

// pullTimeout bounds a pull that names no time of its own.
const pullTimeout = 30 * time.Second
