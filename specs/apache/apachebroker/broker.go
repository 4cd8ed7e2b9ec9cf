package apachebroker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// A Broker is one broker process of a cluster. Its address and store stay the same over restarts, unless it is moved.
type Broker struct {
	cluster *Cluster
	name    string
	id      string // "0" is a master
	home    home
	store   string
	config  map[string]string

	mu      sync.Mutex
	port    int
	process *process
	times   StartTimes
}

// StartTimes says how long the last start of a broker took, counted from the start of its process.
type StartTimes struct {
	Boot       time.Duration // until it said "boot success": its port is open
	Registered time.Duration // until the name server knew its topics: clients can use it
}

// AddBroker starts one more broker and returns when it serves and the name server knows it. The name must be new, unless config makes it a
// slave (brokerId, brokerRole). config adds lines to those of the cluster's options.
func (c *Cluster) AddBroker(ctx context.Context, name string, config map[string]string) (*Broker, error) {
	b := c.newBroker(name, config)
	return b, c.add(ctx, b)
}

func (c *Cluster) newBroker(name string, config map[string]string) *Broker {
	lines := maps.Clone(c.options.Config)
	if lines == nil {
		lines = map[string]string{}
	}
	maps.Copy(lines, config)
	b := &Broker{cluster: c, name: name, id: "0", home: c.home, config: lines}
	if id := lines["brokerId"]; id != "" {
		b.id = id
	}
	b.store = c.home.path(filepath.Join("store", name+"-"+b.id))
	return b
}

// add starts a new broker.
func (c *Cluster) add(ctx context.Context, b *Broker) error {
	if err := b.Move(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	if !c.closed {
		c.brokers = append(c.brokers, b)
		c.mu.Unlock()
		return nil
	}
	c.mu.Unlock()
	return errors.Join(errClosed, b.Kill())
}

// AddSlave starts slave 1 of a broker, which replicates what the master stores (see AwaitReplica). It begins with a copy of the master's
// topics and groups: afterwards it looks at them and at the offsets every 10 s only, every 60 s in 5.x. It serves consumers; Apache's default
// is that a slave of 5.x refuses every pull.
func (c *Cluster) AddSlave(ctx context.Context, of *Broker) (*Broker, error) {
	b := c.newBroker(of.name, map[string]string{"brokerId": "1", "brokerRole": "SLAVE", "slaveReadEnable": "true"})
	for _, name := range []string{"topics.json", "subscriptionGroup.json"} {
		text, err := os.ReadFile(filepath.Join(of.store, "config", name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(b.store, "config"), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(b.store, "config", name), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, c.add(ctx, b)
}

// Move starts a broker that does not run at another address, with its store: what a new container does to a broker.
func (b *Broker) Move(ctx context.Context) error {
	return retryPorts(func() error {
		port, err := freePort(brokerPorts)
		if err != nil {
			return err
		}
		if port == b.listens() {
			return b.Move(ctx)
		}
		b.mu.Lock()
		b.port = port
		b.mu.Unlock()
		return b.Start(ctx)
	})
}

// Name is the broker's name in routes.
func (b *Broker) Name() string { return b.name }

// Addr is the broker's address, "127.0.0.1:port".
func (b *Broker) Addr() string { return local(b.listens()) }

// VIPAddr is the address of the broker's second listener, two ports below.
func (b *Broker) VIPAddr() string { return local(b.listens() - 2) }

func (b *Broker) listens() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.port
}

// Store is the directory with the commit log.
func (b *Broker) Store() string { return b.store }

// PID is the process id of the running broker, or 0.
func (b *Broker) PID() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.process == nil || !b.process.running() {
		return 0
	}
	return b.process.pid()
}

// StartTimes tells how long the last start took.
func (b *Broker) StartTimes() StartTimes {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.times
}

func (b *Broker) lines() map[string]string {
	port := b.listens()
	lines := map[string]string{
		"brokerClusterName":    "DefaultCluster",
		"brokerName":           b.name,
		"brokerId":             b.id,
		"brokerIP1":            "127.0.0.1",
		"brokerIP2":            "127.0.0.1",
		"listenPort":           strconv.Itoa(port),
		"haListenPort":         strconv.Itoa(port + 1),
		"namesrvAddr":          b.cluster.NameServer(),
		"storePathRootDir":     b.store,
		"storePathCommitLog":   filepath.Join(b.store, "commitlog"),
		"enablePropertyFilter": "true",
		// Small files: the next one is always created in advance. A message has to fit into one, and may have 4 MiB.
		"mappedFileSizeCommitLog":    "8388608",
		"mappedFileSizeConsumeQueue": "60000",
		"maxHashSlotNum":             "1000",
		"maxIndexNum":                "4000",
		// Delay levels work without the wheel, and it burns a third of a core and delays SIGTERM by 20 s.
		"timerWheelEnable": "false",
		// A machine with a full disk should not decide about a suite.
		"diskMaxUsedSpaceRatio": "95",
	}
	maps.Copy(lines, b.config)
	return lines
}

// Start starts the broker again on its port and store after Stop or Kill, and returns when it serves and the name server knows it.
func (b *Broker) Start(ctx context.Context) error {
	o := b.cluster.options
	file := b.home.path(b.file(".conf"))
	lines := b.lines()
	if err := os.WriteFile(file, conf(lines), 0o644); err != nil {
		return err
	}
	args := append([]string{"-Xms16m", "-Xmx" + o.Heap, "-XX:MaxDirectMemorySize=" + o.Direct}, o.JVM...)
	args = append(args, openPackages...)
	args = append(args, b.home.properties(b.file(".rmq.log"))...)
	args = append(args, o.properties()...)
	args = append(args, "-cp", b.home.classPath(b.cluster.lib), "org.apache.rocketmq.broker.BrokerStartup", "-c", file)
	began := time.Now()
	p, err := b.cluster.launch(b.name, b.home.path(b.file(".log")), args)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.process = p
	b.mu.Unlock()
	if err := b.ready(ctx, p, began, lines); err != nil {
		return errors.Join(err, p.kill())
	}
	return nil
}

// ready waits for the port and for the name server. Boot success is not readiness: the first registration of 5.x is often lost and would be
// repeated only 10 s later, and until then no topic has a route. A changed permission makes the broker register at once.
func (b *Broker) ready(ctx context.Context, p *process, began time.Time, lines map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	var times StartTimes
	if err := p.poll(ctx, "boot", p.says("boot success")); err != nil {
		return err
	}
	times.Boot = time.Since(began)
	permission := lines["brokerPermission"]
	if permission == "" {
		permission = "6"
	}
	if _, err := success(b.cluster.Call(ctx, b.Addr(), Request{Code: updateBrokerConfig, Body: []byte("brokerPermission=" + permission + "\n")})); err != nil {
		return p.failure("ask for registration", err)
	}
	topic := "TBW102"
	if lines["autoCreateTopicEnable"] == "false" {
		topic = "SELF_TEST_TOPIC"
	}
	var last error
	err := p.poll(ctx, "register at the name server", func() bool {
		var known bool
		known, last = b.cluster.knows(ctx, b, topic)
		return known
	})
	if err != nil {
		return errors.Join(err, last)
	}
	times.Registered = time.Since(began)
	b.mu.Lock()
	b.times = times
	b.mu.Unlock()
	return nil
}

// Stop ends the broker with SIGTERM and waits until it is gone: 7 to 16 s, during which it no longer serves. Its store is clean then.
func (b *Broker) Stop(ctx context.Context) error {
	if p := b.current(); p != nil {
		return p.stop(ctx)
	}
	return nil
}

// Kill ends the broker with SIGKILL; the next Start recovers the store.
func (b *Broker) Kill() error {
	if p := b.current(); p != nil {
		return p.kill()
	}
	return nil
}

// Restart is Stop and Start.
func (b *Broker) Restart(ctx context.Context) error {
	if err := b.Stop(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", b.name, err)
	}
	return b.Start(ctx)
}

func (b *Broker) current() *process {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.process
}

// file names a file of this broker.
func (b *Broker) file(suffix string) string { return b.name + "-" + b.id + suffix }

func (b *Broker) output() string {
	if p := b.current(); p != nil {
		return p.output()
	}
	return ""
}
