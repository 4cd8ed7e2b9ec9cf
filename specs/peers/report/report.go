// Package report is what every Go client of the comparison does alike: flags, counting, latencies and the summary line.
package report

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Task is what a client is asked to do, from its flags.
type Task struct {
	NameServer, Topic, Group string
	Count                    int64
	// Latency notes the age of each message, whose body begins with the time it was sent: nanoseconds, big-endian. SleepEvery
	// makes every n-th message (by the number after the time) sleep 200 ms; those ages are left out.
	Latency    bool
	SleepEvery int64
}

// Flags reads the task.
func Flags() *Task {
	t := &Task{}
	flag.StringVar(&t.NameServer, "nameserver", "", "")
	flag.StringVar(&t.Topic, "topic", "", "")
	flag.StringVar(&t.Group, "group", "", "")
	flag.Int64Var(&t.Count, "count", 0, "")
	flag.BoolVar(&t.Latency, "latency", false, "")
	flag.Int64Var(&t.SleepEvery, "sleep-every", 0, "")
	flag.Parse()
	return t
}

// Summary is the last line of a client.
type Summary struct {
	Event             string  `json:"event"`
	Messages          int64   `json:"messages"`
	Seconds           float64 `json:"seconds"`
	MessagesPerSecond float64 `json:"messages_per_second"`
	CPUSeconds        float64 `json:"cpu_seconds"`
	Mallocs           float64 `json:"mallocs_per_message"`
	Bytes             float64 `json:"bytes_per_message"`
	GCs               float64 `json:"gcs"`
	PeakMB            float64 `json:"peak_rss_mb"`
	P50               float64 `json:"p50_ms"`
	P99               float64 `json:"p99_ms"`
	P999              float64 `json:"p999_ms"`
	Max               float64 `json:"max_ms"`
}

// Run counts what a client gets.
type Run struct {
	task        *Task
	got         atomic.Int64
	first, last atomic.Int64
	cpu         float64
	before      runtime.MemStats
	done        chan struct{}
	mu          sync.Mutex
	ages        []time.Duration
}

// Start notes what had been spent before the first message.
func Start(t *Task) *Run {
	r := &Run{task: t, done: make(chan struct{})}
	if t.Latency {
		r.ages = make([]time.Duration, 0, t.Count)
	}
	runtime.ReadMemStats(&r.before)
	r.cpu = CPU()
	return r
}

// Ready tells the driver that messages may come.
func (r *Run) Ready() { fmt.Println(`{"event":"ready"}`) }

// Message is called by the client for each message.
func (r *Run) Message(body []byte) {
	n := r.got.Add(1)
	if n == 1 {
		r.first.Store(time.Now().UnixNano())
	}
	if r.task.Latency {
		r.age(body)
	}
	if n == r.task.Count {
		r.last.Store(time.Now().UnixNano())
		close(r.done)
	}
}

func (r *Run) age(body []byte) {
	number := int64(binary.BigEndian.Uint64(body[8:]))
	if r.task.SleepEvery > 0 && number%r.task.SleepEvery == 0 {
		time.Sleep(200 * time.Millisecond)
		return
	}
	age := time.Duration(time.Now().UnixNano() - int64(binary.BigEndian.Uint64(body)))
	r.mu.Lock()
	r.ages = append(r.ages, age)
	r.mu.Unlock()
}

// Wait prints the summary when everything has come.
func (r *Run) Wait() {
	<-r.done
	cpu := CPU() - r.cpu
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	n := float64(r.task.Count)
	s := Summary{
		Event: "summary", Messages: r.task.Count, CPUSeconds: cpu, GCs: float64(after.NumGC - r.before.NumGC),
		Seconds: time.Duration(r.last.Load() - r.first.Load()).Seconds(), Mallocs: float64(after.Mallocs-r.before.Mallocs) / n,
		Bytes: float64(after.TotalAlloc-r.before.TotalAlloc) / n, PeakMB: peak(),
	}
	s.MessagesPerSecond = n / s.Seconds
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ages) > 0 {
		slices.Sort(r.ages)
		at := func(q float64) float64 { return float64(r.ages[int(q*float64(len(r.ages)-1))].Microseconds()) / 1000 }
		s.P50, s.P99, s.P999, s.Max = at(0.5), at(0.99), at(0.999), at(1)
	}
	line, _ := json.Marshal(s) // numbers only
	fmt.Println(string(line))
}

// CPU is what this process has used, in seconds.
func CPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak is the high-water mark of resident memory, in MB.
func peak() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			return kb / 1000
		}
	}
	return 0
}
