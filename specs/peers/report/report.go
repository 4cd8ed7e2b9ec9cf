// Package report is what every Go client of the comparison does alike: flags, counting, latencies, deliveries and the summary line.
package report

import (
	"bufio"
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
	// Pull asks for a program that comes for its messages: "poll" for a managed one, "hand" for one that pulls each queue itself.
	Pull string
	// Orderly asks for a group that handles each queue in order.
	Orderly bool
	// Member prints every delivery as it happens, and leaves when standard input says so; a Count is not waited for.
	Member bool
	// Idle is how long to do nothing, once Settle has passed since the client was ready; a Count is not waited for.
	Idle, Settle time.Duration
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
	flag.StringVar(&t.Pull, "pull", "", "")
	flag.BoolVar(&t.Orderly, "orderly", false, "")
	flag.BoolVar(&t.Member, "member", false, "")
	flag.DurationVar(&t.Idle, "idle", 0, "")
	flag.DurationVar(&t.Settle, "settle", 0, "")
	flag.Parse()
	return t
}

// Summary is the last line of a client.
type Summary struct {
	Event             string  `json:"event"`
	Messages          int64   `json:"messages"`
	Seconds           float64 `json:"seconds"`
	MessagesPerSecond float64 `json:"messages_per_second"`
	FirstSeconds      float64 `json:"first_message_seconds"` // from before the client was made
	CPUSeconds        float64 `json:"cpu_seconds"`
	StartCPUSeconds   float64 `json:"start_cpu_seconds"` // of an idle run: what came before its idle time
	Mallocs           float64 `json:"mallocs_per_message"`
	Bytes             float64 `json:"bytes_per_message"`
	GCs               float64 `json:"gcs"`
	PeakMB            float64 `json:"peak_rss_mb"`
	RSSMB             float64 `json:"rss_mb"`
	Tasks             float64 `json:"tasks"` // goroutines, or threads in Java
	LogLines          float64 `json:"log_lines"`
	P50               float64 `json:"p50_ms"`
	P99               float64 `json:"p99_ms"`
	P999              float64 `json:"p999_ms"`
	Max               float64 `json:"max_ms"`
}

// Run counts what a client gets.
type Run struct {
	task        *Task
	got         atomic.Int64
	begin       time.Time
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
	r.begin = time.Now()
	return r
}

// Ready tells the driver that messages may come.
func (r *Run) Ready() { r.print(`{"event":"ready"}`) }

func (r *Run) print(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Println(line) // without the driver nobody wants it
}

// Message is called by the client for each message, with the queue that it is from.
func (r *Run) Message(queue int, body []byte) {
	if r.task.Member {
		now := time.Now().UnixNano() // before the lock, which others may hold
		r.print(fmt.Sprintf("delivery %d %d %d", queue, binary.BigEndian.Uint64(body[8:]), now))
		return
	}
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

// Wait returns when the client has done what it was asked, and has printed its summary. The client shuts down then.
func (r *Run) Wait() {
	switch {
	case r.task.Member:
		for in := bufio.NewScanner(os.Stdin); in.Scan() && in.Text() != "stop"; {
			continue
		}
	case r.task.Idle > 0:
		r.idle()
	default:
		<-r.done
		r.summary()
	}
}

// Stopped tells the driver that the client has left its group.
func (r *Run) Stopped() { r.print(`{"event":"stopped"}`) }

// idle measures a client that has nothing to do.
func (r *Run) idle() {
	time.Sleep(r.task.Settle)
	started := CPU()
	time.Sleep(r.task.Idle)
	line, _ := json.Marshal(Summary{ // numbers only
		Event: "summary", Seconds: r.task.Idle.Seconds(), CPUSeconds: CPU() - started, StartCPUSeconds: started - r.cpu,
		PeakMB: memory("VmHWM"), RSSMB: memory("VmRSS"), Tasks: float64(runtime.NumGoroutine()),
	})
	r.print(string(line))
}

func (r *Run) summary() {
	cpu := CPU() - r.cpu
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	n := float64(r.task.Count)
	s := Summary{
		Event: "summary", Messages: r.task.Count, CPUSeconds: cpu, GCs: float64(after.NumGC - r.before.NumGC),
		FirstSeconds: time.Duration(r.first.Load() - r.begin.UnixNano()).Seconds(),
		Seconds:      time.Duration(r.last.Load() - r.first.Load()).Seconds(), Mallocs: float64(after.Mallocs-r.before.Mallocs) / n,
		Bytes: float64(after.TotalAlloc-r.before.TotalAlloc) / n, PeakMB: memory("VmHWM"), RSSMB: memory("VmRSS"),
	}
	s.MessagesPerSecond = n / s.Seconds
	r.mu.Lock()
	if len(r.ages) > 0 {
		slices.Sort(r.ages)
		at := func(q float64) float64 { return float64(r.ages[int(q*float64(len(r.ages)-1))].Microseconds()) / 1000 }
		s.P50, s.P99, s.P999, s.Max = at(0.5), at(0.99), at(0.999), at(1)
	}
	r.mu.Unlock()
	line, _ := json.Marshal(s) // numbers only
	r.print(string(line))
}

// CPU is what this process has used, in seconds.
func CPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// memory is a figure of this process in MB: VmHWM, the high-water mark of resident memory, or VmRSS, the resident memory now.
func memory(field string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kb float64
		if _, err := fmt.Sscanf(line, field+": %f kB", &kb); err == nil {
			return kb / 1000
		}
	}
	return 0
}
