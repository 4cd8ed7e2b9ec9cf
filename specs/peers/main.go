// Command peers measures consumers side by side: Troupe, rocketmq-client-go, Apache's Java client and a raw pull loop, in turn, each in a
// process of its own, on one real broker. It prints medians with their spread and writes them as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

type settings struct {
	scenarios, clients []string
	rounds, messages   int
	warm               int
	idle               time.Duration
	out                string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s settings
	scenarios := flag.String("scenario", scenarioNames, "what to measure; comma separated")
	clients := flag.String("clients", "raw,troupe,go,java", "raw, troupe, go, java; comma separated")
	flag.IntVar(&s.rounds, "rounds", 3, "alternating rounds")
	flag.IntVar(&s.messages, "messages", 1_000_000, "messages of the backlog; orderly groups get a fifth of them")
	flag.DurationVar(&s.idle, "idle", time.Minute, "how long idle clients are measured")
	flag.IntVar(&s.warm, "warm", 8, "raw runs over the backlog before anything is measured: a cold broker is two to four times slower")
	flag.StringVar(&s.out, "json", filepath.Join("results", "peers.json"), "file for the results")
	flag.Parse()
	s.scenarios, s.clients = strings.Split(*scenarios, ","), strings.Split(*clients, ",")
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	bin, err := build(ctx)
	if err != nil {
		return err
	}
	cluster, err := apachebroker.Start(ctx, apachebroker.ForBenchmarks(apachebroker.V5_3_3))
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Close() }() // nothing of it is kept
	b := &benchmark{settings: s, cluster: cluster, bin: bin, leaves: map[string]map[int]moved{}}
	fmt.Printf("Apache %s, %s %s/%s, %d cores shared by client and broker, %d alternating rounds\n", cluster.Version(), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.rounds)
	results := make(map[string]map[string]figures)
	for _, name := range s.scenarios {
		rows, err := b.scenario(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results[name] = rows
		fmt.Println()
		printTable(os.Stdout, name, s.clients, rows)
	}
	return write(s.out, s, results)
}

func write(file string, s settings, results map[string]map[string]figures) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(map[string]any{
		"at": time.Now().UTC().Format(time.RFC3339), "go": runtime.Version(), "cores": runtime.NumCPU(), "broker": string(apachebroker.V5_3_3),
		"rounds": s.rounds, "messages": s.messages, "idle_seconds": s.idle.Seconds(), "scenarios": results,
	}, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println("\nwritten to", file)
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
