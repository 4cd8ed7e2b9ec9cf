package embedded

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/sirupsen/logrus"
)

// Config describes a broker. The zero Config is a broker as Apache delivers it, listening on a free port of 127.0.0.1
// and serving as its own name server there.
type Config struct {
	// Listen is the TCP address; "" means 127.0.0.1:0.
	Listen string
	// Listener, if set, is used instead of Listen; the broker closes it.
	Listener net.Listener
	// Advertise is the address in routes; "" means the listener's own.
	Advertise string
	// NameServer is where the broker registers; nil: the broker is its own, on the same port.
	NameServer *NameServer
	// ClusterName defaults to DefaultCluster, BrokerName to broker-a; BrokerID 0 is a master.
	ClusterName string
	BrokerName  string
	BrokerID    int64
	// NoTopicCreation: a send to an unknown topic is refused (autoCreateTopicEnable=false).
	NoTopicCreation bool
	// NoGroupCreation: requests of unknown groups are refused (autoCreateSubscriptionGroup=false).
	NoGroupCreation bool
	// PropertyFilter: SQL92 subscriptions are served (enablePropertyFilter=true). Apache leaves it off.
	PropertyFilter bool
	// NoLitePull: code 361 is refused (litePullMessageEnable=false).
	NoLitePull bool
	// LastMeansLast: a group without offset gets QUERY_NOT_FOUND also on a topic that still has its first message. Apache
	// answers 0 there, so that a new group that starts from the last offset sees the old messages of a young topic.
	LastMeansLast bool
	// ClientSideReset: a reset of offsets is told to the members of the group (220), which carry it out, as brokers before 5.2
	// do (useServerSideResetOffset=false). Otherwise each queue's next pull answers it.
	ClientSideReset bool
	// DelayLevels are the delays of levels 1, 2, …; nil: the 18 of Apache, 1 s to 2 h.
	DelayLevels []time.Duration
	// PullMessages and PullBytes bound one pull's answer; 0: 32 and 262,144.
	PullMessages int
	PullBytes    int
	// MaxMessageBytes bounds one message's body; 0: 4 MiB.
	MaxMessageBytes int
	// NoTransactions: half messages of transactions are refused (rejectTransactionMessage=true).
	NoTransactions bool
	// TransactionTimeout is how old a half message must be before its producers are asked what became of it, unless the message
	// says so itself (CHECK_IMMUNITY_TIME_IN_SECONDS); 0: 6 s.
	TransactionTimeout time.Duration
	// TransactionCheckInterval is the time between two rounds of asking; 0: 30 s, as in Apache since 5.0 (before: 60 s).
	TransactionCheckInterval time.Duration
	// TransactionCheckMax is how often producers are asked about one half message; after that it is moved to
	// TRANS_CHECK_MAX_TIME_TOPIC. 0: 15.
	TransactionCheckMax int
	// RetainBytes is how much of the log is kept; the oldest megabytes beyond it are forgotten. 0: everything.
	RetainBytes int64
	// Credentials, if set, are those that every request but for routes must be signed with; others are refused with NO_PERMISSION.
	Credentials Credentials
	// TLS, if set, is the server's side of TLS; plain connections are then not taken.
	TLS *tls.Config
	// Log gets what happens on connections; nil: silence.
	Log logrus.FieldLogger
}

// defaultDelayLevels are Apache's (messageDelayLevel).
func defaultDelayLevels() []time.Duration {
	s, m, h := time.Second, time.Minute, time.Hour
	return []time.Duration{s, 5 * s, 10 * s, 30 * s, m, 2 * m, 3 * m, 4 * m, 5 * m, 6 * m, 7 * m, 8 * m, 9 * m, 10 * m, 20 * m, 30 * m, h, 2 * h}
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.ClusterName == "" {
		c.ClusterName = "DefaultCluster"
	}
	if c.BrokerName == "" {
		c.BrokerName = "broker-a"
	}
	if c.DelayLevels == nil {
		c.DelayLevels = defaultDelayLevels()
	}
	if c.PullMessages == 0 {
		c.PullMessages = 32
	}
	if c.PullBytes == 0 {
		c.PullBytes = 262144
	}
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = 4 << 20
	}
	if c.TransactionTimeout == 0 {
		c.TransactionTimeout = 6 * time.Second
	}
	if c.TransactionCheckInterval == 0 {
		c.TransactionCheckInterval = 30 * time.Second
	}
	if c.TransactionCheckMax == 0 {
		c.TransactionCheckMax = 15
	}
	return c
}
