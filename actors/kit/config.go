package kit

import (
	"io"
	"math/rand/v2"

	"github.com/sirupsen/logrus"
)

// Defaults of a Config.
const (
	DefaultMaxIdle    = 64
	DefaultThroughput = 30
)

// Config is what a System needs from outside. The zero value is usable.
type Config struct {
	// Log gets one line per supervision directive and, at debug level, one per dead letter. Nil: silent.
	Log logrus.FieldLogger
	// Jitter gives numbers in [0,1) for back-offs; it is called from any goroutine. Nil: math/rand/v2.
	Jitter func() float64
	// MaxIdle is how many goroutines stay parked for the next turn. Default 64.
	MaxIdle int
	// Throughput is how many messages an actor processes before it lets others run. It is a matter of fairness, hardly of
	// speed. Default 30.
	Throughput int
	// OnEvent is told of restarts, given-up actors, dead letters, dropped results and the like. It is called from any
	// goroutine, also in turns and in Tell; it must be fast, must not block and must not call Shutdown. A panic in it
	// is swallowed.
	OnEvent func(Event)
	// OnDeliver is told of each message that is about to be delivered, in the receiver's turn: for specs that hold an actor
	// to the messages it says it takes and sends. The rules of OnEvent hold. It slows every message down.
	OnDeliver func(Delivery)
	// DefaultDispatcher runs turns as the library's own dispatcher does, on a new goroutine per wake-up: several times slower, for
	// comparison.
	DefaultDispatcher bool
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = &logrus.Logger{Out: io.Discard, Formatter: new(logrus.TextFormatter), Hooks: make(logrus.LevelHooks), Level: logrus.PanicLevel}
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.MaxIdle <= 0 {
		c.MaxIdle = DefaultMaxIdle
	}
	if c.Throughput <= 0 {
		c.Throughput = DefaultThroughput
	}
	return c
}
