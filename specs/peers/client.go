package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
	"github.com/troupe-mq/troupe/specs/peers/java"
	"github.com/troupe-mq/troupe/specs/peers/report"
)

// task is what a client process is asked to do.
type task struct {
	nameServer, topic, group string
	count                    int
	latency                  bool
	sleepEvery               int
	orderly, member          bool
	pull                     string
	idle, settle             time.Duration
}

// sample is what one run of a client came to.
type sample struct {
	report.Summary
	BrokerCPU float64 `json:"broker_cpu_seconds"`
	moved
}

// build compiles the Go clients into a folder.
func build(ctx context.Context) (dir string, err error) {
	if dir, err = filepath.Abs(filepath.Join("results", "bin")); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "./clients/...")
	cmd.Stderr = os.Stderr
	return dir, cmd.Run()
}

// process is a running client: its events, its deliveries, and how to end it.
type process struct {
	lines      chan string       // events
	stop       func() error      // asks it to leave its group
	end        func()            // kills it when it still runs, and returns when everything it said has come
	logLines   atomic.Int64      // what a Go client has written to standard error
	deliveries func() []delivery // so far; all of them once it has ended
}

func launch(ctx context.Context, bin, client string, t task) (*process, error) {
	if client == "java" {
		return launchJava(ctx, t)
	}
	program := map[string]string{"raw": "raw", "go": "gopeer", "troupe": "troupe"}[client]
	if program == "" {
		return nil, fmt.Errorf("unknown client %q: must be raw, troupe, go or java", client)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, program), "-nameserver", t.nameServer, "-topic", t.topic, "-group", t.group,
		"-count", strconv.Itoa(t.count), "-latency="+strconv.FormatBool(t.latency), "-sleep-every", strconv.Itoa(t.sleepEvery),
		"-orderly="+strconv.FormatBool(t.orderly), "-member="+strconv.FormatBool(t.member), "-idle", t.idle.String(), "-settle", t.settle.String(),
		"-pull", t.pull)
	p := &process{lines: make(chan string, 16)}
	cmd.Stderr = os.Stderr
	if t.idle > 0 { // what a client logs is counted
		cmd.Stderr = &lineCounter{&p.logLines}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var delivered []delivery
	p.deliveries = func() []delivery {
		mu.Lock()
		defer mu.Unlock()
		return delivered
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			if d, ok := parseDelivery(s.Text()); ok {
				mu.Lock()
				delivered = append(delivered, d)
				mu.Unlock()
			} else {
				p.lines <- s.Text()
			}
		}
	}()
	p.stop = func() error { _, err := io.WriteString(in, "stop\n"); return err }
	p.end = func() {
		_ = cmd.Process.Kill() // it has ended, or is not wanted any more
		<-read
		_ = cmd.Wait()
	}
	return p, nil
}

func launchJava(ctx context.Context, t task) (*process, error) {
	jvm := []string{"-Xmx512m"}
	if t.idle > 0 { // what it logs by itself
		jvm = append(jvm, "-Drmq.level=INFO")
	}
	peer, err := apachebroker.Java(ctx, apachebroker.Program{
		Version: apachebroker.V5_3_3, Sources: java.Sources, Main: "Bench", JVM: jvm,
		Args: []string{
			t.nameServer, t.topic, t.group, strconv.Itoa(t.count), strconv.FormatBool(t.latency), strconv.Itoa(t.sleepEvery),
			strconv.FormatBool(t.orderly), strconv.FormatBool(t.member),
			strconv.FormatInt(t.idle.Milliseconds(), 10), strconv.FormatInt(t.settle.Milliseconds(), 10), t.pull,
		},
	})
	if err != nil {
		return nil, err
	}
	p := &process{lines: make(chan string, 16)}
	ended, cancel := context.WithCancel(ctx)
	go func() {
		defer close(p.lines)
		for _, kind := range []string{"ready", "summary", "stopped"} {
			if kind == "summary" && t.member || kind == "stopped" && !t.member {
				continue
			}
			events, err := peer.Await(ended, kind, 1)
			if err != nil {
				return
			}
			p.lines <- events[0].Line
		}
	}()
	p.stop = func() error { return peer.Stop(ctx) }
	p.deliveries = func() (all []delivery) {
		for line := range strings.Lines(peer.Output()) {
			if d, ok := parseDelivery(line); ok {
				all = append(all, d)
			}
		}
		return all
	}
	p.end = func() { // it has ended, or is not wanted any more
		_ = peer.Kill()
		_ = peer.Close()
		cancel()
	}
	return p, nil
}

var errEnded = errors.New("the client ended too soon")

// await gives the next line with an event of the kind.
func (p *process) await(ctx context.Context, kind string) (string, error) {
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return "", fmt.Errorf("wait for %s: %w", kind, errEnded)
			}
			if strings.Contains(line, `"event":"`+kind+`"`) {
				return line, nil
			}
		case <-ctx.Done():
			return "", fmt.Errorf("wait for %s: %w", kind, ctx.Err())
		}
	}
}

func (p *process) ready(ctx context.Context) error {
	_, err := p.await(ctx, "ready")
	return err
}

func (p *process) summary(ctx context.Context) (s sample, err error) {
	line, err := p.await(ctx, "summary")
	if err != nil {
		return s, err
	}
	err = json.Unmarshal([]byte(line), &s.Summary)
	s.LogLines += float64(p.logLines.Load())
	return s, err
}

// lineCounter counts the lines written to it.
type lineCounter struct{ lines *atomic.Int64 }

func (c *lineCounter) Write(text []byte) (int, error) {
	c.lines.Add(int64(strings.Count(string(text), "\n")))
	return len(text), nil
}
