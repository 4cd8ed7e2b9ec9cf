package rocketmq

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/troupe-mq/troupe/actors"
)

// Cluster says how to reach one RocketMQ cluster. It implements actors.Transport.
type Cluster struct {
	// NameServers are asked for routes, host:port each. One is chosen and kept; the others take its place while it fails. At
	// least one is required.
	NameServers []string
	// Credentials sign every request; zero: unsigned.
	Credentials Credentials
	// TLS is used for every connection; nil: plain.
	TLS *tls.Config
	// Dialer opens connections; nil: net.Dialer. Connections are made on demand, each attempt within 3 s.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)
}

// Credentials of the ACL of RocketMQ.
type Credentials struct {
	AccessKey string
	SecretKey string
	// SecurityToken accompanies temporary keys; empty: none.
	SecurityToken string
}

func (c Credentials) isZero() bool { return c == Credentials{} }

// Check reports every fault of the configuration; it causes no traffic.
func (c Cluster) Check() []*actors.ConfigError {
	var faults []*actors.ConfigError
	fault := func(field string, value any, reason string) {
		faults = append(faults, &actors.ConfigError{Field: "Cluster." + field, Value: value, Reason: reason})
	}
	if len(c.NameServers) == 0 {
		fault("NameServers", c.NameServers, "at least one address, host:port, is needed")
	}
	for i, address := range c.NameServers {
		if reason := faultOfAddress(address); reason != "" {
			fault("NameServers["+strconv.Itoa(i)+"]", address, reason)
		}
	}
	switch k := c.Credentials; {
	case k.isZero():
	case k.AccessKey == "":
		fault("Credentials.AccessKey", "", "is needed beside a secret key or token")
	case k.SecretKey == "":
		fault("Credentials.SecretKey", "(not shown)", "is needed beside an access key")
	}
	return faults
}

// faultOfAddress tells what is wrong with host:port; empty: nothing.
func faultOfAddress(address string) string {
	if strings.ContainsAny(address, ";,") {
		return "is a list; give each address as an element of its own"
	}
	if strings.Contains(address, "://") {
		return "is a URL; host:port is needed"
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "is not host:port"
	}
	if host == "" {
		return "has no host"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "has no port within 1 … 65535"
	}
	return ""
}

// Open makes a Link. It opens no connection.
func (c Cluster) Open(cfg actors.LinkConfig) (actors.Link, error) {
	if faults := c.Check(); len(faults) > 0 {
		errs := make([]error, len(faults))
		for i, f := range faults {
			errs[i] = f
		}
		return nil, errors.Join(errs...)
	}
	return newLink(c, cfg), nil
}

var _ actors.Transport = Cluster{}
