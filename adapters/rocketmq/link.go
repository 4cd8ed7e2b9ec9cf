package rocketmq

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// link implements actors.Link over one remoting client.
type link struct {
	client   *remoting.Client
	servers  *nameServers
	lookup   *lookup // nil: the list of name servers is fixed
	timeouts timeouts
	vip      bool
	clientID string
	ids      *wire.UniqueIDs
}

var _ actors.Link = (*link)(nil)

func newLink(c Cluster, cfg actors.LinkConfig) *link {
	l := &link{
		servers:  newNameServers(c.NameServers, cfg.Jitter),
		timeouts: timeoutsOf(c.RequestTimeout),
		vip:      c.VIPChannel,
		clientID: cfg.ClientID,
		ids:      wire.NewUniqueIDs(ownAddress(cfg.ClientID), os.Getpid(), rand.Uint32(), nil),
	}
	rc := remoting.ClientConfig{
		Dial: c.Dialer, DialTimeout: cmp.Or(c.DialTimeout, DefaultDialTimeout), TLS: c.TLS, Sign: c.marks(), Jitter: cfg.Jitter, Log: cfg.Log,
	}
	if cfg.Calls != nil {
		rc.Requests = brokerCalls(cfg.Calls)
	}
	if cfg.Changed != nil {
		rc.Changed = func(address string, up bool, cause error) {
			change := &messages.ConnectionChanged{Address: address, Up: up}
			if cause != nil {
				change.Reason = cause.Error()
			}
			cfg.Changed(change)
		}
	}
	l.client = remoting.NewClient(rc)
	if c.Lookup != nil {
		l.lookup = newLookup(c.Lookup, cfg.Log, l.found)
	}
	return l
}

// ownAddress is what unique ids carry: the address a client id begins with, else one of this machine's.
func ownAddress(clientID string) netip.Addr {
	host, _, _ := strings.Cut(clientID, "@")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		addresses = nil // no address is as good as an unreadable one
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			if ip, ok := netip.AddrFromSlice(n.IP.To4()); ok {
				return ip
			}
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// target is what a request is about, for error texts.
type target struct {
	address string
	broker  string
	queue   *messages.Queue
}

// atQueue names a queue of the broker at an address.
func atQueue(address string, q *messages.Queue) target {
	return target{address: address, broker: q.GetBroker(), queue: q}
}

// header is what the wire's request headers have in common.
type header interface{ AppendTo(*wire.Ext) }

// newRequest makes a request of a header and a body, either of which may be nil.
func newRequest(code wire.RequestCode, h header, body []byte) *wire.Command {
	cmd := wire.NewRequest(code)
	if h != nil {
		h.AppendTo(&cmd.Ext)
	}
	cmd.Body = body
	return cmd
}

// call sends a request and waits for the answer, whatever its code, but not beyond the time-out.
func (l *link) call(ctx context.Context, timeout time.Duration, address string, cmd *wire.Command) (*wire.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return l.client.Call(ctx, l.via(address, cmd), cmd)
}

// via is the address to which a request goes that is meant for another.
func (l *link) via(address string, cmd *wire.Command) string {
	if l.vip && onVIPChannel(wire.RequestCode(cmd.Code)) {
		return vipAddress(address)
	}
	return address
}

// ask is call for requests that have one good answer; every other code is a *messages.BrokerError.
func (l *link) ask(ctx context.Context, timeout time.Duration, t target, cmd *wire.Command) (*wire.Command, error) {
	answer, err := l.call(ctx, timeout, t.address, cmd)
	if err != nil {
		return nil, err
	}
	if answer.Code != int32(wire.Success) {
		return nil, refusal(cmd, answer, t)
	}
	return answer, nil
}

// refusal is the error that an answer with another code than success stands for.
func refusal(cmd, answer *wire.Command, t target) *messages.BrokerError {
	return &messages.BrokerError{
		Code:     answer.Code,
		CodeName: wire.ResponseCode(answer.Code).String(),
		Request:  wire.RequestCode(cmd.Code).String(),
		Broker:   t.broker,
		Address:  t.address,
		Queue:    t.queue,
		Remark:   answer.Remark,
	}
}

// malformed is the error of an answer that says success but cannot be read: as good as none.
func malformed(cmd *wire.Command, t target, err error) *messages.NetworkError {
	return &messages.NetworkError{
		Request: wire.RequestCode(cmd.Code).String(),
		Address: t.address,
		Reason:  "malformed answer: " + err.Error(),
	}
}

// NameServers gives the addresses of the name servers, as configured or found last.
func (l *link) NameServers() []string { return l.servers.list() }

// found takes over a list of name servers that was looked up. Connections to those that are gone are closed.
func (l *link) found(addresses []string) {
	for _, gone := range l.servers.replace(addresses) {
		l.client.Forget(gone)
	}
}

// Facts tells the state of every known connection.
func (l *link) Facts() []*messages.ConnectionFacts {
	facts, servers := l.client.Facts(), l.servers.list()
	for _, f := range facts {
		f.Role = "broker"
		if slices.Contains(servers, f.GetAddress()) {
			f.Role = "name server"
		}
	}
	return facts
}

// KeepBrokers closes connections to broker addresses that are not in the list.
func (l *link) KeepBrokers(addresses []string) {
	keep := append(l.servers.list(), addresses...)
	if l.vip {
		for _, a := range addresses {
			keep = append(keep, vipAddress(a))
		}
	}
	for _, f := range l.client.Facts() {
		if !slices.Contains(keep, f.GetAddress()) {
			l.client.Forget(f.GetAddress())
		}
	}
}

// Close closes every connection and waits for the Link's goroutines. Pending requests end with an error.
func (l *link) Close() error {
	if l.lookup != nil {
		l.lookup.close()
	}
	return l.client.Close()
}
