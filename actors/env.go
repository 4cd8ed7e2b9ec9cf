package actors

import (
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// Env is what all actors of one client share. Everything in it is safe for concurrent use.
type Env struct {
	ClientID  string
	Link      Link
	Directory *Directory
	Events    *Events
	Memory    *Memory
	Periods   Periods
}

// Periods are the timers of a client. Zero fields are not allowed here: runtime fills in the defaults.
type Periods struct {
	// RouteRefresh is how often routes are asked for again; Java's pollNameServerInterval, 30 s.
	RouteRefresh time.Duration
	// Heartbeat is Java's heartbeatBrokerInterval, 30 s.
	Heartbeat time.Duration
	// Rebalance is how often members and queues are compared; Java's 20 s.
	Rebalance time.Duration
	// Persist is Java's persistConsumerOffsetInterval, 5 s.
	Persist time.Duration
}

// Time-outs of the single requests (protocol.md 2.9).
const (
	routeTimeout     = 3 * time.Second
	heartbeatTimeout = 3 * time.Second
	memberTimeout    = 3 * time.Second
	offsetTimeout    = 5 * time.Second
	commitTimeout    = 3 * time.Second
	sendBackTimeout  = 5 * time.Second
)

// brokerOf gives the address for requests that may go to any member of a broker set, the master if it is known.
func (e *Env) brokerOf(q *messages.Queue) (string, error) {
	addr, _, ok := e.Directory.Address(q.GetBroker(), masterID)
	if !ok {
		return "", &messages.NetworkError{
			Request: "look up broker", Address: q.GetBroker(), NotSent: true,
			Reason: "no route names an address of this broker",
		}
	}
	return addr, nil
}
