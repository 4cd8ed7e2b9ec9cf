package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

const (
	queues      = 8
	bodySize    = 256
	batchSize   = 32
	liveRate    = 2000 // messages a second
	liveSeconds = 20
	sleepEvery  = 100
)

// benchmark is one run of the driver on one broker.
type benchmark struct {
	settings
	cluster *apachebroker.Cluster
	bin     string
	serial  int
	backlog string
}

func (b *benchmark) unique(name string) string {
	b.serial++
	return fmt.Sprintf("%s-%d", name, b.serial)
}

// scenario runs every client in turn, round by round, and gives the figures by client.
func (b *benchmark) scenario(ctx context.Context, name string) (map[string]figures, error) {
	rows := make(map[string]figures)
	clients := b.clients
	switch name {
	case "backlog":
		if err := b.prepareBacklog(ctx); err != nil {
			return nil, err
		}
	case "latency", "slow":
		clients = nil
		for _, c := range b.clients {
			if c != "raw" { // it handles nothing, so it has no latency
				clients = append(clients, c)
			}
		}
	default:
		return nil, fmt.Errorf("unknown scenario %q: must be backlog, latency or slow", name)
	}
	for round := range b.rounds {
		for _, client := range clients {
			s, err := b.once(ctx, name, client)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", client, err)
			}
			fmt.Fprintf(os.Stderr, "%s round %d %-6s %9.0f msg/s  %6.2f CPU s  broker %6.2f CPU s  p50 %.2f ms  p99 %.2f ms\n", name, round+1, client,
				s.MessagesPerSecond, s.CPUSeconds, s.BrokerCPU, s.P50, s.P99)
			rows[client] = append(rows[client], s)
		}
	}
	return rows, nil
}

func (b *benchmark) once(ctx context.Context, scenario, client string) (sample, error) {
	if scenario == "backlog" {
		return b.measure(ctx, client, task{topic: b.backlog, count: b.stored()}, nil)
	}
	t := task{topic: b.unique(scenario), count: liveRate * liveSeconds, latency: true}
	if scenario == "slow" {
		t.sleepEvery = sleepEvery
	}
	if err := b.cluster.CreateTopic(ctx, t.topic, queues); err != nil {
		return sample{}, err
	}
	return b.measure(ctx, client, t, func(ctx context.Context) error { return b.publishLive(ctx, t) })
}

// measure runs one client process; live publishes once the client is ready.
func (b *benchmark) measure(ctx context.Context, client string, t task, live func(context.Context) error) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	t.nameServer, t.group = b.cluster.NameServer(), b.unique("group")
	p, err := launch(ctx, b.bin, client, t)
	if err != nil {
		return sample{}, err
	}
	defer p.end()
	before := cpuOf(b.cluster.Broker().PID())
	if live != nil {
		if err := p.ready(ctx); err != nil {
			return sample{}, err
		}
		time.Sleep(3 * time.Second) // the peers need seconds from their start to the first pull
		if err := live(ctx); err != nil {
			return sample{}, err
		}
	}
	s, err := p.summary(ctx)
	s.BrokerCPU = cpuOf(b.cluster.Broker().PID()) - before
	return s, err
}

func (b *benchmark) stored() int { return b.messages / batchSize * batchSize }

// prepareBacklog fills a topic and reads it a few times, so that the broker's code is compiled before anything is measured.
func (b *benchmark) prepareBacklog(ctx context.Context) error {
	b.backlog = b.unique("backlog")
	if err := b.cluster.CreateTopic(ctx, b.backlog, queues); err != nil {
		return err
	}
	begin := time.Now()
	if err := b.fill(ctx, b.backlog, b.stored()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "backlog of %d × %d B stored in %.0f s\n", b.stored(), bodySize, time.Since(begin).Seconds())
	for range b.warm {
		if _, err := b.once(ctx, "backlog", "raw"); err != nil {
			return err
		}
	}
	return nil
}

// publisher starts a Runtime that only publishes.
func (b *benchmark) publisher(ctx context.Context, cfg troupe.PublisherConfig) (*troupe.Runtime, *troupe.Publisher, error) {
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{b.cluster.NameServer()}}, troupe.Config{})
	if err != nil {
		return nil, nil, err
	}
	return rt, rt.Publisher(cfg), rt.Start(ctx)
}

func (b *benchmark) fill(ctx context.Context, topic string, n int) error {
	rt, p, err := b.publisher(ctx, troupe.PublisherConfig{Retries: 20})
	if err != nil {
		return err
	}
	const writers = 8
	var all sync.WaitGroup
	failures := make([]error, writers)
	body := bytes.Repeat([]byte("x"), bodySize)
	for w := range writers {
		all.Go(func() {
			for i := w; i < n/batchSize && failures[w] == nil; i += writers {
				batch := make([]*troupe.Message, batchSize)
				for k := range batch {
					batch[k] = troupe.NewMessage(topic, body).WithTag("TagA").WithKeys("order-" + strconv.Itoa(i*batchSize+k))
				}
				_, failures[w] = p.Send(ctx, batch...)
			}
		})
	}
	all.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return rt.Shutdown(ctx)
}

// publishLive sends at a steady rate; each body begins with the time of sending and a number.
func (b *benchmark) publishLive(ctx context.Context, t task) error {
	rt, p, err := b.publisher(ctx, troupe.PublisherConfig{})
	if err != nil {
		return err
	}
	const writers = 8
	var all sync.WaitGroup
	failures := make([]error, writers)
	begin := time.Now()
	for w := range writers {
		all.Go(func() {
			for i := w; i < t.count && failures[w] == nil; i += writers {
				time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / liveRate)))
				body := make([]byte, bodySize)
				binary.BigEndian.PutUint64(body, uint64(time.Now().UnixNano()))
				binary.BigEndian.PutUint64(body[8:], uint64(i))
				_, failures[w] = p.Send(ctx, troupe.NewMessage(t.topic, body))
			}
		})
	}
	all.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return rt.Shutdown(ctx)
}

// cpuOf is what a process has used so far, in seconds; 0 where there is no /proc.
func cpuOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64) // the kernel writes numbers
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}
