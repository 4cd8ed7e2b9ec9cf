package rocketmq

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/messages"
)

// Lookup finds the name servers of a cluster: an AddressServer, an Environment or one of the program's own.
type Lookup interface {
	// Check tells what is wrong with the configuration, without any traffic; "": nothing.
	Check() string
	// NameServers gives the addresses, host:port each. ctx ends after 3 s. The error should say where was looked.
	NameServers(ctx context.Context) ([]string, error)
}

// Environment takes the name servers from an environment variable, as Java does by itself; here it has to be asked for.
// It is read anew at each refresh.
type Environment struct {
	// Variable holds host:port, several separated by ";". Default "NAMESRV_ADDR".
	Variable string
}

// DefaultVariable is the environment variable that Java reads.
const DefaultVariable = "NAMESRV_ADDR"

var _ Lookup = Environment{}

func (e Environment) variable() string {
	if e.Variable == "" {
		return DefaultVariable
	}
	return e.Variable
}

// Check tells what is wrong with the variable's value.
func (e Environment) Check() string {
	if _, fault := parseList(os.Getenv(e.variable())); fault != "" {
		return fault + " (environment variable " + e.variable() + ")"
	}
	return ""
}

// NameServers reads the variable.
func (e Environment) NameServers(context.Context) ([]string, error) {
	list, fault := parseList(os.Getenv(e.variable()))
	if fault != "" {
		return nil, lookupFault("environment variable "+e.variable(), fault)
	}
	return list, nil
}

// requestLookup stands for the request in the error of a lookup.
const requestLookup = "look up name servers"

// lookupFault is the error of a lookup that gave nothing usable.
func lookupFault(where, reason string) error {
	return &messages.NetworkError{Request: requestLookup, Address: where, Reason: reason}
}

// parseList reads addresses separated by ";", or says what is wrong. Every one must be good: half a list is a fault of the list.
func parseList(text string) (list []string, fault string) {
	for a := range strings.SplitSeq(text, ";") {
		if a = strings.TrimSpace(a); a == "" {
			continue
		}
		if fault := faultOfAddress(a); fault != "" {
			return nil, "address \"" + a + "\" " + fault
		}
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, "names no address"
	}
	return list, ""
}

// Times of the Java client (MQClientInstance.startScheduledTask, protocol.md 1.11).
const (
	lookupTimeout = 3 * time.Second
	lookupFirst   = 10 * time.Second
	lookupPeriod  = 120 * time.Second
)

// lookup keeps the list of name servers fresh: looked up when it is first needed, again after 10 s and then each 120 s. Until
// there is a list every question looks again; a failure later keeps the list there is.
type lookup struct {
	source Lookup
	log    logrus.FieldLogger
	found  func([]string)

	ctx    context.Context
	cancel context.CancelFunc
	turn   chan struct{} // held by the one who looks
	wg     sync.WaitGroup

	mu     sync.Mutex
	known  bool
	closed bool
}

func newLookup(source Lookup, log logrus.FieldLogger, found func([]string)) *lookup {
	ctx, cancel := context.WithCancel(context.Background())
	return &lookup{source: source, log: log, found: found, ctx: ctx, cancel: cancel, turn: make(chan struct{}, 1)}
}

// ensure waits until there is a list, or says why there is none.
func (l *lookup) ensure(ctx context.Context) error {
	if l.isKnown() {
		return nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return lookupFault("", context.Cause(ctx).Error())
	case <-l.ctx.Done():
		return lookupFault("", "closed")
	}
	if l.isKnown() {
		return nil
	}
	if err := l.look(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = true
	if !l.closed {
		l.wg.Add(1)
		go l.refresh()
	}
	return nil
}

func (l *lookup) isKnown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// look asks the source once.
func (l *lookup) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()
	list, err := l.source.NameServers(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		if fault := faultOfAddress(a); fault != "" {
			return lookupFault("", "address \""+a+"\" "+fault)
		}
	}
	if len(list) == 0 {
		return lookupFault("", "names no address")
	}
	l.found(list)
	return nil
}

func (l *lookup) refresh() {
	defer l.wg.Done()
	timer := time.NewTimer(lookupFirst)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-l.ctx.Done():
			return
		}
		if err := l.look(l.ctx); err != nil && l.ctx.Err() == nil && l.log != nil {
			l.log.WithError(err).Warn("name servers cannot be looked up; the last list stays in use")
		}
		timer.Reset(lookupPeriod)
	}
}

// close ends the refreshing and waits for it.
func (l *lookup) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.wg.Wait()
}
