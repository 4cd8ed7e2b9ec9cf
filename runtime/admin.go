package troupe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// Admin does what operators do: it looks at topics, groups and messages of a cluster, and changes them. It is a client of no group
// and leaves nothing behind at the brokers. Its methods may be called from any goroutine; each request is bounded by 5 s and by its context.
type Admin struct {
	link actors.Link
	port actors.AdminPort
}

// toolsGroup is the group in whose name messages are read: brokers have it, and keep no offset of it (MixAll.TOOLS_CONSUMER_GROUP).
const toolsGroup = "TOOLS_CONSUMER"

// OpenAdmin makes an Admin. It opens no connection. Close it in the end. Errors: *ConfigError values, joined; an error if the transport
// cannot administer.
func OpenAdmin(t Transport, opts ...Option) (*Admin, error) {
	o := options{log: silent(), jitter: rand.Float64}
	for _, opt := range opts {
		opt(&o)
	}
	var f faults
	for _, fault := range t.Check() {
		f.list = append(f.list, fault)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	link, err := t.Open(actors.LinkConfig{
		ClientID: newClientID(), Log: o.log, Jitter: o.jitter,
		Calls:   func(context.Context, *messages.BrokerCall) *messages.BrokerCallReply { return nil },
		Changed: func(*messages.ConnectionChanged) {},
	})
	if err != nil {
		return nil, err
	}
	a, err := adminOf(link)
	if err != nil {
		return nil, errors.Join(err, link.Close())
	}
	return a, nil
}

func adminOf(link actors.Link) (*Admin, error) {
	port, ok := link.(actors.AdminPort)
	if !ok {
		return nil, fmt.Errorf("the transport's %T cannot administer", link)
	}
	return &Admin{link: link, port: port}, nil
}

// Close closes the connections.
func (a *Admin) Close() error { return a.link.Close() }

// server is a broker's address: its master's, or a slave's where there is none.
type server struct {
	broker, address string
	master          bool
}

// mastersOnly refuses servers that are slaves: what is changed there does not reach a master, and is undone by the next one.
func mastersOnly(servers []server) error {
	for _, s := range servers {
		if !s.master {
			return fmt.Errorf("broker %s has no master now, and only a master can be changed: is it down?", s.broker)
		}
	}
	return nil
}

// masters gives the master of each broker of the cluster, or a slave where there is none.
func (a *Admin) masters(ctx context.Context) ([]server, error) {
	brokers, err := a.port.Brokers(ctx)
	if err != nil {
		return nil, err
	}
	out := serversOf(brokers)
	if len(out) == 0 {
		return nil, errors.New("the name servers know no broker: is one running, and registered there?")
	}
	return out, nil
}

// changeable gives the master of each broker; an error if one has none.
func (a *Admin) changeable(ctx context.Context) ([]server, error) {
	servers, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	return servers, mastersOnly(servers)
}

// serving gives the same as masters for the brokers of a topic.
func (a *Admin) serving(ctx context.Context, topic string) ([]server, *messages.TopicRoute, error) {
	var f faults
	f.topic("topic", topic)
	if err := f.err(); err != nil {
		return nil, nil, err
	}
	route, err := a.link.Route(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	return serversOf(route.GetBrokers()), route, nil
}

func serversOf(brokers []*messages.BrokerAddresses) (out []server) {
	for _, b := range brokers {
		ids := make([]int64, 0, len(b.GetAddresses()))
		for id := range b.GetAddresses() {
			ids = append(ids, id)
		}
		if len(ids) > 0 {
			id := slices.Min(ids)
			out = append(out, server{broker: b.GetBroker(), address: b.GetAddresses()[id], master: id == 0})
		}
	}
	return out
}

// each asks brokers one after the other; what fails is told with the broker's name.
func each(servers []server, ask func(s server) error) error {
	var errs []error
	for _, s := range servers {
		if err := ask(s); err != nil {
			errs = append(errs, fmt.Errorf("broker %s at %s: %w", s.broker, s.address, err))
		}
	}
	return errors.Join(errs...)
}

// refused tells whether an error is a broker's refusal with one of the codes.
func refused(err error, codes ...int32) bool {
	refusal, ok := errors.AsType[*BrokerError](err)
	return ok && slices.Contains(codes, refusal.GetCode())
}

// Codes of refusals that say that there is nothing to tell (protocol.md 1.4).
const (
	codeSystemError    = 1
	codeTopicNotExist  = 17
	codeNotFound       = 22
	codeGroupNotExist  = 26
	codeNoMemberOnline = 206
)

func isSystemTopic(name string) bool {
	return slices.Contains([]string{
		"TBW102", "SELF_TEST_TOPIC", "BenchmarkTest", "OFFSET_MOVED_EVENT", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC",
		"RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "RMQ_SYS_TRACE_TOPIC", "CHECKPOINT_TOPIC",
	}, name) || strings.HasPrefix(name, "rmq_sys_")
}

func isSystemGroup(name string) bool {
	return slices.Contains([]string{
		toolsGroup, "FILTERSRV_CONSUMER", "__MONITOR_CONSUMER", "SELF_TEST_C_GROUP", "SELF_TEST_P_GROUP", "CID_ONS-HTTP-PROXY", "CID_ONSAPI_PULL",
		"CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", "CID_SYS_RMQ_TRANS", "CID_DefaultHeartBeatSyncerTopic",
	}, name) || strings.HasPrefix(name, "CID_RMQ_SYS_")
}

func timeOf(millis int64) time.Time {
	if millis <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}
