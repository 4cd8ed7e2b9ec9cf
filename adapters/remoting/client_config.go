package remoting

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// ClientConfig says how a Client connects and what it tells. The zero value is usable; defaults are those of
// NettyClientConfig.
type ClientConfig struct {
	// Dial opens a connection; nil: net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// DialTimeout bounds Dial and the TLS handshake together; 0: 3 s.
	DialTimeout time.Duration
	// CallTimeout bounds a Call or OneWay whose context has no deadline; 0: 3 s.
	CallTimeout time.Duration
	// TLS is used for every connection; the server name defaults to the host of the address. nil: plain.
	TLS *tls.Config
	// Sign is called last before a request is encoded, on the goroutine that makes the request. It is not called again when a
	// request is sent again after GO_AWAY.
	Sign func(*wire.Command)
	// Requests answers what the peer asks, on a goroutine of its own; ctx ends with the connection. A nil result, or a one-way
	// request, is not answered. A panic is answered with SYSTEM_ERROR. nil: everything is answered REQUEST_CODE_NOT_SUPPORTED.
	Requests func(ctx context.Context, address string, cmd *wire.Command) *wire.Command
	// Changed is told when a connection was made, and when it was lost or retired by GO_AWAY, in this order for one address; not
	// when the Client itself is closed. It must not block.
	Changed func(address string, up bool, cause error)
	// Idle closes a connection on which nothing was read or written for that long; 0: 120 s.
	Idle time.Duration
	// HalfOpen closes a connection if a request timed out and nothing at all was read for that long; 0: 30 s.
	HalfOpen time.Duration
	// Jitter gives numbers in [0,1) for the back-off, on any goroutine; nil: math/rand/v2.
	Jitter func() float64
	// Log gets at most two lines a minute for one address; nil: silent.
	Log logrus.FieldLogger
}

// withDefaults fills what is not set.
func (c ClientConfig) withDefaults() ClientConfig {
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = 3 * time.Second
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = 3 * time.Second
	}
	if c.Idle == 0 {
		c.Idle = 120 * time.Second
	}
	if c.HalfOpen == 0 {
		c.HalfOpen = 30 * time.Second
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	return c
}
