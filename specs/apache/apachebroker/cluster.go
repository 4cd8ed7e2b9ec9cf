package apachebroker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Cluster is a running name server with its brokers. Its methods may be called from several goroutines; stopping and starting the same
// program at the same time is refused by nothing but makes no sense.
type Cluster struct {
	options Options
	java    string
	lib     string
	home    home
	remove  func() error
	port    int // the name server's

	mu         sync.Mutex
	nameServer *process
	brokers    []*Broker
	closed     bool
	booted     time.Duration
}

// How often Start moves to other ports when something else took one of them between the look and the bind.
const attempts = 3

// A program that is not ready by then never will be, whatever the caller's patience.
const bootLimit = 2 * time.Minute

// Start downloads the release if necessary, starts a name server and one broker (broker-a) on free ports of 127.0.0.1 and returns when the
// broker serves and is known to the name server. ctx bounds the start only; the cluster runs until Close, and on Linux not longer than
// this process. On failure nothing is left behind and the error has the end of the log.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	lib, err := Prepare(ctx, o.Version)
	if err != nil {
		return nil, err
	}
	dir, remove, err := makeDir(o.Dir, "troupe-apache-"+string(o.Version)+"-*")
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, java: java, lib: lib, remove: remove}
	if c.home, err = newHome(dir, o.Version); err == nil {
		err = c.home.write(o.Files)
	}
	if err == nil {
		err = c.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start Apache RocketMQ %s: %w", o.Version, err), c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := retryPorts(func() error {
		port, err := freePort([]int{0})
		if err != nil {
			return err
		}
		c.port = port
		return c.StartNameServer(ctx)
	}); err != nil {
		return err
	}
	_, err := c.AddBroker(ctx, "broker-a", nil)
	return err
}

// retryPorts runs a start again when it failed because a port was taken.
func retryPorts(start func() error) (err error) {
	for range attempts {
		if err = start(); err == nil || !strings.Contains(err.Error(), "Address already in use") && !strings.Contains(err.Error(), "BindException") {
			return err
		}
	}
	return err
}

// Version is the release that runs.
func (c *Cluster) Version() Version { return c.options.Version }

// Dir has the stores, configuration files and logs.
func (c *Cluster) Dir() string { return string(c.home) }

// NameServer is the address of the name server, "127.0.0.1:port". It stays the same over restarts.
func (c *Cluster) NameServer() string { return local(c.port) }

// Broker is the first broker, broker-a.
func (c *Cluster) Broker() *Broker { return c.Brokers()[0] }

// BrokerAddr is the address of the first broker.
func (c *Cluster) BrokerAddr() string { return c.Broker().Addr() }

// Brokers lists all brokers in the order in which they were added.
func (c *Cluster) Brokers() []*Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.brokers)
}

// NameServerBoot is how long the name server's last start took.
func (c *Cluster) NameServerBoot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.booted
}

// StartNameServer starts the name server again on its port after StopNameServer or KillNameServer, and returns when it serves.
func (c *Cluster) StartNameServer(ctx context.Context) error {
	file := c.home.path("namesrv.conf")
	err := os.WriteFile(file, conf(map[string]string{
		"listenPort":      strconv.Itoa(c.port),
		"rocketmqHome":    string(c.home),
		"kvConfigPath":    c.home.path("kv.json"),
		"configStorePath": c.home.path("namesrv.properties"),
	}), 0o644)
	if err != nil {
		return err
	}
	args := append([]string{"-Xms16m", "-Xmx32m", "-XX:MaxDirectMemorySize=24m"}, SmallJVM()...)
	args = append(args, c.home.properties("namesrv.rmq.log")...)
	args = append(args, c.options.properties()...)
	args = append(args, "-cp", c.home.classPath(c.lib), "org.apache.rocketmq.namesrv.NamesrvStartup", "-c", file)
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	began := time.Now()
	p, err := c.launch("name server", c.home.path("namesrv.log"), args)
	if err != nil {
		return err
	}
	if err := p.poll(ctx, "boot", p.says("boot success")); err != nil {
		return errors.Join(err, p.kill())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nameServer, c.booted = p, time.Since(began)
	return nil
}

// launch starts a Java program of this cluster, unless the cluster is closed.
func (c *Cluster) launch(name, log string, args []string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if err := os.Remove(log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err // an old "boot success" would be taken for the new one
	}
	cmd := exec.Command(c.java, args...)
	cmd.Dir = string(c.home)
	return launch(fmt.Sprintf("%s %s", name, c.options.Version), log, cmd, nil)
}

// StopNameServer ends the name server with SIGTERM, as an operator would, and waits until it is gone (about 5 s).
func (c *Cluster) StopNameServer(ctx context.Context) error {
	if p := c.nameServerProcess(); p != nil {
		return p.stop(ctx)
	}
	return nil
}

// KillNameServer ends the name server with SIGKILL.
func (c *Cluster) KillNameServer() error {
	if p := c.nameServerProcess(); p != nil {
		return p.kill()
	}
	return nil
}

func (c *Cluster) nameServerProcess() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nameServer
}

// Logs is the end of every log of the cluster, for the report of a failed spec.
func (c *Cluster) Logs() string {
	var text strings.Builder
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nameServer != nil {
		fmt.Fprintf(&text, "--- name server\n%s\n", c.nameServer.output())
	}
	for _, b := range c.brokers {
		fmt.Fprintf(&text, "--- %s %s\n%s\n%s\n", b.name, b.id, b.output(), fileTail(b.home.path(b.file(".rmq.log"))))
	}
	return text.String()
}

// Close kills every process of the cluster and removes its temporary directory. It is what a suite calls at its end; a clean end of a
// broker is Broker.Stop. Closing twice is harmless.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	nameServer, brokers := c.nameServer, slices.Clone(c.brokers)
	c.mu.Unlock()
	var errs []error
	for _, b := range brokers {
		errs = append(errs, b.Kill())
	}
	if nameServer != nil {
		errs = append(errs, nameServer.kill())
	}
	return errors.Join(append(errs, c.remove())...)
}

// says answers whether the program has written a text yet.
func (p *process) says(text string) func() bool {
	return func() bool {
		log, err := os.ReadFile(p.log)
		return err == nil && strings.Contains(string(log), text)
	}
}

func fileTail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(tail(text, 4096))
}
