package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

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
}

// sample is what one run of a client came to.
type sample struct {
	report.Summary
	BrokerCPU float64 `json:"broker_cpu_seconds"`
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

// process is a running client: its lines, and how to end it.
type process struct {
	lines chan string
	end   func()
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
		"-count", strconv.Itoa(t.count), "-latency="+strconv.FormatBool(t.latency), "-sleep-every", strconv.Itoa(t.sleepEvery))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{lines: make(chan string, 16)}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	p.end = func() {
		_ = cmd.Process.Kill() // it has ended, or is not wanted any more
		_ = cmd.Wait()
	}
	return p, nil
}

func launchJava(ctx context.Context, t task) (*process, error) {
	peer, err := apachebroker.Java(ctx, apachebroker.Program{
		Version: apachebroker.V5_3_3, Sources: java.Sources, Main: "Bench", JVM: []string{"-Xmx512m"},
		Args: []string{t.nameServer, t.topic, t.group, strconv.Itoa(t.count), strconv.FormatBool(t.latency), strconv.Itoa(t.sleepEvery)},
	})
	if err != nil {
		return nil, err
	}
	p := &process{lines: make(chan string, 16)}
	go func() {
		defer close(p.lines)
		for _, kind := range []string{"ready", "summary"} {
			events, err := peer.Await(ctx, kind, 1)
			if err != nil {
				return
			}
			p.lines <- events[0].Line
		}
	}()
	p.end = func() { _ = peer.Kill(); _ = peer.Close() } // it has ended, or is not wanted any more
	return p, nil
}

var errEnded = errors.New("the client ended without a summary")

// await gives the next line with an event of the kind.
func (p *process) await(ctx context.Context, kind string) (string, error) {
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return "", errEnded
			}
			if strings.Contains(line, `"event":"`+kind+`"`) {
				return line, nil
			}
		case <-ctx.Done():
			return "", ctx.Err()
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
	return s, json.Unmarshal([]byte(line), &s.Summary)
}
