package rocketmq

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/troupe-mq/troupe/messages"
)

// AddressServer looks name servers up over HTTP: the answer's first line is host:port, several separated by ";"
// (DefaultTopAddressing, protocol.md 1.11). Java's URL is http://DOMAIN/rocketmq/SUBGROUP, with "-UNIT?nofix=1" behind it for a unit.
type AddressServer struct {
	// URL with scheme http or https. Required.
	URL string
	// Client makes the requests; nil: one of its own, without a proxy.
	Client *http.Client
}

var _ Lookup = AddressServer{}

// maxList bounds an address server's answer, in bytes.
const maxList = 64 << 10

// ownClient is used unless the program gives one; it has no state but idle connections, of which it keeps none.
func ownClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// Check tells what is wrong with the URL.
func (a AddressServer) Check() string {
	u, err := url.Parse(a.URL)
	switch {
	case a.URL == "":
		return "has no URL"
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "is not a URL with http or https"
	case u.Host == "":
		return "is a URL without a host"
	}
	return ""
}

// NameServers asks the address server.
func (a AddressServer) NameServers(ctx context.Context) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return nil, lookupFault(a.URL, err.Error())
	}
	client := a.Client
	if client == nil {
		client = ownClient()
	}
	answer, err := client.Do(req)
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }() // what was needed has been read
	if answer.StatusCode != http.StatusOK {
		return nil, lookupFault(a.URL, "status "+strconv.Itoa(answer.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxList))
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	list, fault := parseList(line)
	if fault != "" {
		return nil, lookupFault(a.URL, fault)
	}
	return list, nil
}

// failed names the fault without repeating the URL.
func (a AddressServer) failed(ctx context.Context, err error) error {
	fault := &messages.NetworkError{Request: requestLookup, Address: a.URL, Reason: err.Error(), NotSent: true}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		fault.Reason = u.Err.Error()
	}
	if ctx.Err() != nil {
		fault.Reason, fault.TimedOut = "no answer in time", true
	}
	return fault
}
