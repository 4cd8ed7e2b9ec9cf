package troupe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// PublisherConfig configures a Publisher. Zero fields mean the default.
type PublisherConfig struct {
	// Group is the producer group, for brokers' statistics. Default "troupe".
	Group string
	// Timeout bounds one try. Default 3 s (sendMsgTimeout).
	Timeout time.Duration
	// Retries is how many further brokers or tries a send may take after a failure. Default 2 (retryTimesWhenSendFailed); -1
	// for none. A try that timed out may have stored the message: a retried message can be there twice.
	Retries int
	// Select chooses the queue of a message: an index into queues, which are sorted by broker and id. Default: one after the
	// other. With a Select a failed send is tried again on the same queue only, so that order is kept.
	Select func(m *Message, queues []*Queue) int
	// NewTopicQueues is how many queues a topic gets that a broker creates because of this send. Default 4
	// (defaultTopicQueueNums).
	NewTopicQueues int
}

// Defaults of PublisherConfig.
const (
	DefaultPublisherGroup = "troupe"
	DefaultSendTimeout    = 3 * time.Second
	DefaultSendRetries    = 2
	DefaultNewTopicQueues = 4
)

// Limits of what a broker takes (protocol.md 4.1).
const (
	maxBody       = 4 << 20
	maxProperties = 32767
	// Topic whose route stands for every topic that does not exist yet, on brokers that create topics (protocol.md 7.7).
	autoCreateTopic = "TBW102"
)

// Publisher sends messages. Its methods may be called from any goroutine while the Runtime is started.
type Publisher struct {
	runtime *Runtime
	config  PublisherConfig
	fault   error
	turn    atomic.Uint64
}

// Publisher makes a Publisher of the Runtime's client. A faulty configuration is reported by Send.
func (r *Runtime) Publisher(cfg PublisherConfig) *Publisher {
	cfg.Group = or(cfg.Group, DefaultPublisherGroup)
	cfg.Timeout = or(cfg.Timeout, DefaultSendTimeout)
	cfg.Retries = or(cfg.Retries, DefaultSendRetries)
	cfg.NewTopicQueues = or(cfg.NewTopicQueues, DefaultNewTopicQueues)
	var f faults
	f.group(cfg.Group)
	f.duration("PublisherConfig.Timeout", cfg.Timeout, time.Millisecond, time.Hour)
	f.number("PublisherConfig.Retries", cfg.Retries, -1, 100)
	f.number("PublisherConfig.NewTopicQueues", cfg.NewTopicQueues, 1, 1024)
	return &Publisher{runtime: r, config: cfg, fault: f.err()}
}

// Send stores one message, or several of one topic as a batch in one queue, and returns when a broker has acknowledged.
// Errors: *ConfigError for a message that cannot be sent, ErrNoRoute, *BrokerError, *NetworkError, ErrNotStarted, ErrClosed.
func (p *Publisher) Send(ctx context.Context, ms ...*Message) (*Receipt, error) {
	if p.fault != nil {
		return nil, p.fault
	}
	client := p.runtime.running()
	if client == nil {
		return nil, p.runtime.whyNotRunning()
	}
	req, ids, err := p.encode(client.Env().Link, ms)
	if err != nil {
		return nil, err
	}
	queues, err := p.queues(ctx, client, ms[0].GetTopic())
	if err != nil {
		return nil, fmt.Errorf("send to %s: %w", ms[0].GetTopic(), err)
	}
	receipt, err := p.try(ctx, client, req, ms[0], queues)
	if err != nil {
		return nil, fmt.Errorf("send to %s: %w", ms[0].GetTopic(), err)
	}
	receipt.UniqueIds = ids
	return receipt, nil
}

func (r *Runtime) whyNotRunning() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == closed {
		return ErrClosed
	}
	return ErrNotStarted
}

// encode checks and completes the messages: each gets its unique id. The caller's messages are not changed.
func (p *Publisher) encode(link actors.Link, ms []*Message) (*messages.SendRequest, []string, error) {
	var f faults
	if len(ms) == 0 {
		f.add("messages", 0, "must be at least one")
		return nil, nil, f.err()
	}
	complete := make([]*Message, len(ms))
	ids := make([]string, len(ms))
	for i, m := range ms {
		field := fmt.Sprintf("message %d", i)
		f.topic(field+": topic", m.GetTopic())
		if err := m.Validate(); err != nil {
			f.add(field, m.GetTopic(), err.Error())
		}
		if m.GetTopic() != ms[0].GetTopic() {
			f.add(field+": topic", m.GetTopic(), "must be the same in a batch: "+ms[0].GetTopic())
		}
		if len(ms) > 1 && m.DelayLevel() > 0 {
			f.add(field+": delay level", m.DelayLevel(), "cannot be used in a batch: send the message alone")
		}
		if len(m.GetBody()) > maxBody {
			f.add(field+": body", len(m.GetBody()), fmt.Sprintf("must not be longer than %d bytes", maxBody))
		}
		ids[i] = m.Property(messages.PropertyUniqueKey)
		complete[i] = m
		if ids[i] == "" {
			ids[i] = link.UniqueID()
			complete[i] = m.Clone().SetProperty(messages.PropertyUniqueKey, ids[i])
		}
		if len(complete[i].GetRawProperties()) > maxProperties {
			f.add(field+": properties", len(complete[i].GetRawProperties()),
				fmt.Sprintf("must not be longer than %d bytes", maxProperties))
		}
	}
	if err := f.err(); err != nil {
		return nil, nil, err
	}
	first := complete[0]
	req := &messages.SendRequest{
		ProducerGroup: p.config.Group, BornTimestamp: time.Now().UnixMilli(), DefaultQueues: int32(p.config.NewTopicQueues),
		Body: first.GetBody(), Properties: first.GetRawProperties(), Flag: first.GetFlag(), SysFlag: first.GetSysFlag(),
	}
	if len(ms) > 1 {
		body, err := link.EncodeBatch(complete)
		if err != nil {
			return nil, nil, err
		}
		if len(body) > maxBody {
			f.add("batch", len(body), fmt.Sprintf("must not be longer than %d bytes: send it in parts", maxBody))
			return nil, nil, f.err()
		}
		req.Body, req.Properties, req.Batch = body, nil, true
	}
	return req, ids, nil
}

// queues gives the queues of a topic that take messages; for a topic that does not exist those it will have, where brokers
// create topics by themselves.
func (p *Publisher) queues(ctx context.Context, client *actors.Client, topic string) ([]*Queue, error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	if route, _ := client.Env().Directory.Route(topic); route == nil {
		client.Watch(topic)
	}
	route, err := client.Env().Directory.Await(ctx, topic)
	if err == nil {
		if queues := asQueues(actors.PublishQueues(route), topic); len(queues) > 0 {
			return queues, nil
		}
		return nil, fmt.Errorf("no queue takes messages: no broker of the topic has a master with write permission: %w", ErrNoRoute)
	}
	if !errors.Is(err, ErrNoRoute) {
		return nil, err
	}
	if route, _ := client.Env().Directory.Route(autoCreateTopic); route == nil {
		client.Watch(autoCreateTopic)
	}
	err = fmt.Errorf("%w at %s", err, strings.Join(client.Env().Link.NameServers(), ", "))
	standIn, standInErr := client.Env().Directory.Await(ctx, autoCreateTopic)
	if standInErr != nil {
		return nil, err
	}
	var queues []*Queue
	for _, key := range actors.PublishQueues(standIn) {
		if int(key.ID) < p.config.NewTopicQueues {
			queues = append(queues, &Queue{Topic: topic, Broker: key.Broker, Id: key.ID})
		}
	}
	if len(queues) == 0 {
		return nil, err
	}
	return queues, nil
}

func asQueues(keys []messages.QueueKey, topic string) []*Queue {
	out := make([]*Queue, len(keys))
	for i, key := range keys {
		out[i] = &Queue{Topic: topic, Broker: key.Broker, Id: key.ID}
	}
	return out
}

func (p *Publisher) try(ctx context.Context, client *actors.Client, req *messages.SendRequest, m *Message, queues []*Queue) (*Receipt, error) {
	chosen := int(p.turn.Add(1) % uint64(len(queues)))
	if p.config.Select != nil {
		if chosen = p.config.Select(m, queues); chosen < 0 || chosen >= len(queues) {
			return nil, &ConfigError{
				Field: "PublisherConfig.Select", Value: chosen, Reason: fmt.Sprintf("must give an index below %d", len(queues)),
			}
		}
	}
	var failures []error
	for try := 0; try <= max(p.config.Retries, 0); try++ {
		queue := queues[chosen]
		receipt, err := p.once(ctx, client, req, queue)
		if err == nil {
			return receipt, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil || !worthRetrying(err) {
			break
		}
		client.Refresh(queue.GetTopic())
		if p.config.Select == nil {
			chosen = otherBroker(queues, chosen)
		}
	}
	return nil, errors.Join(failures...)
}

func (p *Publisher) once(ctx context.Context, client *actors.Client, req *messages.SendRequest, queue *Queue) (*Receipt, error) {
	env := client.Env()
	addr, ok := env.Directory.Master(queue.GetBroker())
	if !ok {
		return nil, &NetworkError{
			Request: "SEND_MESSAGE", Address: queue.GetBroker(), NotSent: true, Reason: "the broker has no master",
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	req.Address, req.Queue = addr, queue
	return env.Link.Send(ctx, req)
}

// Codes after which another broker, or the same one later, may take the message (protocol.md 2.5; Java's
// retryResponseCodes).
var retriableSends = map[int32]bool{1: true, 2: true, 14: true, 16: true, 17: true, 204: true, 205: true}

func worthRetrying(err error) bool {
	if refused, ok := errors.AsType[*BrokerError](err); ok {
		return retriableSends[refused.GetCode()]
	}
	return true
}

// otherBroker goes on to the next queue of another broker, or of the same if there is no other.
func otherBroker(queues []*Queue, at int) int {
	for i := 1; i < len(queues); i++ {
		if next := (at + i) % len(queues); queues[next].GetBroker() != queues[at].GetBroker() {
			return next
		}
	}
	return (at + 1) % len(queues)
}
