package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	idleQueues  = 1024
	idleSettle  = 10 * time.Second // from a client's start to its idle time
)

// benchmark is one run of the driver on one broker.
type benchmark struct {
	settings
	cluster *apachebroker.Cluster
	bin     string
	serial  atomic.Int64
	backlog string
	// leaves has what the second member's leaving cost, by client and round: the run that shows its joining shows that, too.
	leaves map[string]map[int]moved
}

func (b *benchmark) unique(name string) string {
	return fmt.Sprintf("%s-%d", name, b.serial.Add(1))
}

// scenario runs every client in turn, round by round, and gives the figures by client.
func (b *benchmark) scenario(ctx context.Context, name string) (map[string]figures, error) {
	scenario, known := scenarios[name]
	if !known {
		return nil, fmt.Errorf("unknown scenario %q: must be one of %s", name, scenarioNames)
	}
	var clients []string
	for _, c := range b.clients {
		if (c != "raw" || scenario.raw) && (scenario.only == nil || slices.Contains(scenario.only, c)) {
			clients = append(clients, c)
		}
	}
	if scenario.stored != nil {
		if err := b.prepareBacklog(ctx, scenario.stored(b.settings)); err != nil {
			return nil, err
		}
	}
	rows := make(map[string]figures)
	for round := range b.rounds {
		samples, err := b.round(ctx, name, clients, round)
		if err != nil {
			return nil, err
		}
		for i, s := range samples {
			fmt.Fprintf(os.Stderr, "%s round %d %-6s", name, round+1, clients[i])
			for _, c := range columns[name] {
				fmt.Fprintf(os.Stderr, "  %s %s", number(c.of(s), c.digits), c.name)
			}
			fmt.Fprintln(os.Stderr)
			rows[clients[i]] = append(rows[clients[i]], s)
		}
	}
	return rows, nil
}

// round runs the clients one after the other; idle ones, which leave the machine to each other, side by side.
func (b *benchmark) round(ctx context.Context, name string, clients []string, round int) ([]sample, error) {
	samples, failures := make([]sample, len(clients)), make([]error, len(clients))
	one := func(i int) {
		var err error
		if samples[i], err = b.once(ctx, name, clients[i], round); err != nil {
			failures[i] = fmt.Errorf("%s: %w", clients[i], err)
		}
	}
	var all sync.WaitGroup
	for i := range clients {
		if name == "idle" {
			all.Go(func() { one(i) })
			continue
		}
		if one(i); failures[i] != nil {
			return nil, failures[i]
		}
	}
	all.Wait()
	return samples, errors.Join(failures...)
}

func (b *benchmark) once(ctx context.Context, scenario, client string, round int) (s sample, err error) {
	t := task{group: b.unique("group")}
	switch scenario {
	case "backlog", "orderly", "pull", "hand":
		t.topic, t.count, t.orderly = b.backlog, scenarios[scenario].stored(b.settings), scenario == "orderly"
		t.pull = map[string]string{"pull": "poll", "hand": "hand"}[scenario]
		return b.measure(ctx, client, t, nil)
	case "join":
		if b.leaves[client] == nil {
			b.leaves[client] = map[int]moved{}
		}
		s.moved, b.leaves[client][round], err = b.members(ctx, client, true)
		return s, err
	case "leave":
		if shown, ok := b.leaves[client][round]; ok {
			return sample{moved: shown}, nil
		}
		_, s.moved, err = b.members(ctx, client, true)
		return s, err
	case "crash":
		_, s.moved, err = b.members(ctx, client, false)
		return s, err
	case "idle":
		t.topic, t.idle, t.settle = b.unique("idle-"+client), b.idle, idleSettle
		if err := b.cluster.CreateTopic(ctx, t.topic, idleQueues); err != nil {
			return sample{}, err
		}
		return b.measure(ctx, client, t, nil)
	}
	t.topic, t.count, t.latency = b.unique(scenario), liveRate*liveSeconds, true
	if scenario == "slow" {
		t.sleepEvery = sleepEvery
	}
	if err := b.cluster.CreateTopic(ctx, t.topic, queues); err != nil {
		return sample{}, err
	}
	return b.measure(ctx, client, t, func(ctx context.Context) error {
		return b.publishAt(ctx, t, liveRate, make([]int64, t.count))
	})
}

// measure runs one client process; live publishes once the client is ready.
func (b *benchmark) measure(ctx context.Context, client string, t task, live func(context.Context) error) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute+t.idle)
	defer cancel()
	t.nameServer = b.cluster.NameServer()
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

// prepareBacklog fills a topic and reads it a few times, so that the broker's code is compiled before anything is measured.
func (b *benchmark) prepareBacklog(ctx context.Context, n int) error {
	b.backlog = b.unique("backlog")
	if err := b.cluster.CreateTopic(ctx, b.backlog, queues); err != nil {
		return err
	}
	begin := time.Now()
	if err := b.fill(ctx, b.backlog, n); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "backlog of %d × %d B stored in %.0f s\n", n, bodySize, time.Since(begin).Seconds())
	for range b.warm {
		if _, err := b.measure(ctx, "raw", task{topic: b.backlog, group: b.unique("group"), count: n}, nil); err != nil {
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

// publishAt sends at a steady rate, one queue after the other; each body begins with the time of sending and a number. It notes these times.
func (b *benchmark) publishAt(ctx context.Context, t task, rate int, sent []int64) error {
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
				time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(rate))))
				body := make([]byte, bodySize)
				sent[i] = time.Now().UnixNano()
				binary.BigEndian.PutUint64(body, uint64(sent[i]))
				binary.BigEndian.PutUint64(body[8:], uint64(i))
				_, failures[w] = p.Send(ctx, troupe.NewMessage(t.topic, body))
			}
		})
	}
	all.Wait()
	return errors.Join(append(failures, rt.Shutdown(ctx))...)
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
