package actors

import (
	"context"
	"errors"
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
	checkTimeout     = 3 * time.Second
	offsetTimeout    = 5 * time.Second
	lookTimeout      = time.Minute
	commitTimeout    = 3 * time.Second
	sendBackTimeout  = 5 * time.Second
)

// atMember makes a request that any member of a broker set can answer: of the master if it is known, and of the next member
// if one cannot be reached. Each has the time limit. The errors are those of the first that was asked.
func (e *Env) atMember(
	ctx context.Context, q *messages.Queue, limit time.Duration, request func(ctx context.Context, address string) error,
) (address string, err error) {
	err = &messages.NetworkError{
		Request: "look up broker", Address: q.GetBroker(), NotSent: true,
		Reason: "no route names an address of this broker",
	}
	for i, member := range e.Directory.MembersOf(q.GetBroker()) {
		one, cancel := context.WithTimeout(ctx, limit)
		failure := request(one, member)
		cancel()
		if !unreached(failure) {
			return member, failure
		}
		if i == 0 {
			address, err = member, failure
		}
		if ctx.Err() != nil {
			break
		}
	}
	return address, err
}

// unreached tells whether an error says that there was no way to a broker: it did not refuse, and is not just slow.
func unreached(err error) bool {
	network, ok := errors.AsType[*messages.NetworkError](err)
	return ok && network.NotSent
}
