package rocketmq

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/actors"
)

// Cluster says how to reach one RocketMQ cluster. It implements actors.Transport.
type Cluster struct {
	// NameServers are asked for routes, host:port each. One is chosen and kept; the others take its place while it fails. At
	// least one is required, unless there is a Lookup (namesrvAddr).
	NameServers []string
	// Lookup finds the name servers instead: AddressServer over HTTP, Environment. It is asked when a route is first needed,
	// again after 10 s and then each 120 s, as in Java; the last good list stays in use.
	Lookup Lookup
	// Namespace separates tenants of one cluster: on the wire topics and groups are called N%topic and N%group. Handlers,
	// events and topology show the plain names. Empty: none.
	Namespace string
	// NamespaceV2 is the second kind of namespace: names stay as they are, and every request says whose it is (ext ns). Plain
	// brokers ignore it. Empty: none.
	NamespaceV2 string
	// Credentials sign every request; zero: unsigned.
	Credentials Credentials
	// TLS is used for every connection; nil: plain. The server's name is the host of the address, unless it is set; a client
	// certificate, a private authority and so on are the config's (useTLS).
	TLS *tls.Config
	// VIPChannel sends what a client asks of brokers to their second listener, two ports below (vipChannelEnabled): all but
	// heartbeats and pulls.
	VIPChannel bool
	// DialTimeout bounds the making of a connection, with the TLS handshake. Default 3 s (connectTimeoutMillis).
	DialTimeout time.Duration
	// RequestTimeout bounds every request but pulls, 1 ms to 3 s. Default as in Java, by kind of request: 3 s
	// (mqClientApiTimeout), 1 s for locks, 5 s for offsets and messages handed back, 6 s for a queue's bounds.
	RequestTimeout time.Duration
	// Dialer opens connections; nil: net.Dialer. Connections are made on demand; after a failed attempt the next one waits
	// at least 1 s.
	Dialer func(ctx context.Context, network, address string) (net.Conn, error)
}

// What can be asked for as a time-out. The actors give no request more than the latter.
const (
	maxDialTimeout    = 60 * time.Second
	maxRequestTimeout = 3 * time.Second
)

// Check reports every fault of the configuration; it causes no traffic.
func (c Cluster) Check() []*actors.ConfigError {
	var faults []*actors.ConfigError
	fault := func(field string, value any, reason string) {
		faults = append(faults, &actors.ConfigError{Field: "Cluster." + field, Value: value, Reason: reason})
	}
	c.checkNameServers(fault)
	if reason := faultOfNamespace(c.Namespace); reason != "" {
		fault("Namespace", c.Namespace, reason)
	}
	if reason := faultOfNamespace(c.NamespaceV2); reason != "" {
		fault("NamespaceV2", c.NamespaceV2, reason)
	}
	c.Credentials.faults(func(field, reason string) { fault("Credentials."+field, "(not shown)", reason) })
	if reason := faultOfTimeout(c.DialTimeout, maxDialTimeout); reason != "" {
		fault("DialTimeout", c.DialTimeout, reason)
	}
	if reason := faultOfTimeout(c.RequestTimeout, maxRequestTimeout); reason != "" {
		fault("RequestTimeout", c.RequestTimeout, reason)
	}
	if c.TLS != nil && c.TLS.MinVersion > c.TLS.MaxVersion && c.TLS.MaxVersion != 0 {
		fault("TLS", tls.VersionName(c.TLS.MinVersion), "no version of TLS is left: the least allowed is above "+tls.VersionName(c.TLS.MaxVersion))
	}
	return faults
}

func (c Cluster) checkNameServers(fault func(field string, value any, reason string)) {
	for i, address := range c.NameServers {
		if reason := faultOfAddress(address); reason != "" {
			fault("NameServers["+strconv.Itoa(i)+"]", address, reason)
		}
	}
	switch {
	case c.Lookup == nil:
		if len(c.NameServers) == 0 {
			fault("NameServers", c.NameServers, "at least one address, host:port, or a Lookup is needed")
		}
	case reflect.ValueOf(c.Lookup).Kind() == reflect.Pointer && reflect.ValueOf(c.Lookup).IsNil():
		fault("Lookup", c.Lookup, "is a nil pointer")
	default:
		if len(c.NameServers) > 0 {
			fault("Lookup", fmt.Sprintf("%T", c.Lookup), "cannot stand beside NameServers: one of them has to decide")
		}
		if reason := c.Lookup.Check(); reason != "" {
			fault("Lookup", fmt.Sprintf("%T", c.Lookup), reason)
		}
	}
}

// faultOfTimeout tells what is wrong with a time-out, 0 being the default; empty: nothing.
func faultOfTimeout(d, most time.Duration) string {
	if d != 0 && (d < time.Millisecond || d > most) {
		return fmt.Sprintf("is not within 1 ms … %v", most)
	}
	return ""
}

// faultOfNamespace tells what is wrong with a namespace's name; empty: nothing.
func faultOfNamespace(name string) string {
	if len(name) > 64 {
		return "is longer than 64 bytes"
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return "has characters other than a-z, A-Z, 0-9, _ and -"
		}
	}
	return ""
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
	if c.Namespace == "" {
		return newLink(c, cfg), nil
	}
	names := &namespace{name: c.Namespace}
	if cfg.Calls != nil {
		cfg.Calls = names.calls(cfg.Calls)
	}
	l := newLink(c, cfg)
	return &namespacedLink{namespacedAdmin: namespacedAdmin{AdminPort: l, names: names}, link: l, names: names}, nil
}

var _ actors.Transport = Cluster{}
