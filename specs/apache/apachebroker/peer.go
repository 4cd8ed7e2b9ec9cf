package apachebroker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// An Event is one line that a Java peer printed. Which fields are set depends on the kind: "ready", "message", "sent", "stopped".
type Event struct {
	Kind           string `json:"event"`
	MsgID          string `json:"msgId"` // the unique id if the message has one
	OffsetMsgID    string `json:"offsetMsgId"`
	Topic          string `json:"topic"`
	Queue          int32  `json:"queue"`
	Offset         int64  `json:"offset"`
	ReconsumeTimes int32  `json:"reconsumeTimes"`
	Tags           string `json:"tags"`
	Keys           string `json:"keys"`
	Body           string `json:"body"` // its beginning
	Size           int    `json:"size"` // of the whole body, bytes
	BornTimestamp  int64  `json:"bornTimestamp"`
	StoreTimestamp int64  `json:"storeTimestamp"`
	Accepted       bool   `json:"accepted"` // what the listener answered
	Status         string `json:"status"`   // of a send, e.g. SEND_OK
	Count          int    `json:"count"`
	Line           string `json:"-"` // the line itself
}

// A Peer is a running Java program.
type Peer struct {
	process *process
	stdin   io.WriteCloser
	remove  func() error

	mu      sync.Mutex
	events  []Event
	other   strings.Builder // lines that are no events
	changed chan struct{}   // closed and replaced at every new line
	ended   bool            // the output is complete
}

func newPeer(p *process, stdin io.WriteCloser, remove func() error) *Peer {
	return &Peer{process: p, stdin: stdin, remove: remove, changed: make(chan struct{})}
}

func (p *Peer) read(lines io.Reader) {
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		line := scanner.Text()
		var e Event
		isEvent := strings.HasPrefix(line, `{"event":`) && json.Unmarshal([]byte(line), &e) == nil
		e.Line = line
		p.mu.Lock()
		if isEvent {
			p.events = append(p.events, e)
		} else {
			p.other.WriteString(line + "\n")
		}
		p.announce()
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.ended = true
	p.announce()
	p.mu.Unlock()
	_, _ = io.Copy(io.Discard, lines) // after a line that is too long the program must not block
}

func (p *Peer) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Events lists everything the program has said so far.
func (p *Peer) Events() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

// Of lists the events of one kind so far, e.g. Of("message").
func (p *Peer) Of(kind string) []Event {
	return slices.DeleteFunc(p.Events(), func(e Event) bool { return e.Kind != kind })
}

// Output is what the program printed on standard output besides events.
func (p *Peer) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.other.String()
}

// Log is the end of the program's standard error.
func (p *Peer) Log() string { return p.process.output() }

// PID is the process id.
func (p *Peer) PID() int { return p.process.pid() }

// Await waits until the program has said at least n events of a kind and returns those. It fails with the program's last words when the
// program ends before, or ctx does.
func (p *Peer) Await(ctx context.Context, kind string, n int) ([]Event, error) {
	for {
		p.mu.Lock()
		changed, ended := p.changed, p.ended
		p.mu.Unlock()
		found := p.Of(kind)
		if len(found) >= n {
			return found, nil
		}
		what := fmt.Sprintf("wait for %d × %q, got %d", n, kind, len(found))
		if ended {
			return found, p.process.failure(what, errEnded)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found, p.process.failure(what, ctx.Err())
		}
	}
}

// Wait waits for the program's end; an exit code other than 0 is an error.
func (p *Peer) Wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		changed, ended := p.changed, p.ended
		p.mu.Unlock()
		if ended {
			<-p.process.done
			if p.process.err != nil {
				return p.process.failure("run", p.process.err)
			}
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p.process.failure("wait for its end", ctx.Err())
		}
	}
}

// Stop asks the program on its standard input to shut its client down, and waits for its end.
func (p *Peer) Stop(ctx context.Context) error {
	if _, err := io.WriteString(p.stdin, "stop\n"); err != nil && p.process.running() {
		return fmt.Errorf("stop %s: %w", p.process.name, err)
	}
	return p.Wait(ctx)
}

// Kill ends the program with SIGKILL, as if its machine had lost power.
func (p *Peer) Kill() error { return p.process.kill() }

// Close kills the program if it still runs, waits until its output is complete, and removes its temporary directory.
func (p *Peer) Close() error {
	err := p.Kill()
	_ = p.stdin.Close() // the program is gone
	for {
		p.mu.Lock()
		changed, ended := p.changed, p.ended
		p.mu.Unlock()
		if ended {
			return errors.Join(err, p.remove())
		}
		<-changed
	}
}
