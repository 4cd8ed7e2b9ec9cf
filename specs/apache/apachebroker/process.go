package apachebroker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// process is one running Java program: its own process group, its output in a file, its end announced by a closed channel.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string        // path of the file with standard output and error
	done chan struct{} // closed when the program has ended and err is set
	err  error
}

// launch starts a program whose standard error, and unless out is given also its standard output, go to the end of the file log. It lives
// until it ends by itself or is stopped; on Linux it also ends with this process.
func launch(name, log string, cmd *exec.Cmd, out io.Writer) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the child has its own descriptor
	cmd.Stderr, cmd.Stdout = file, file
	if out != nil {
		cmd.Stdout = out
	}
	isolate(cmd, true)
	p := &process{name: name, cmd: cmd, log: log, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel binds the child to the thread that started it, so this thread must stay until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop asks the program to end and waits for it; when ctx ends first it is killed, and the error says so.
func (p *process) stop(ctx context.Context) error {
	if !p.running() {
		return nil
	}
	if err := terminate(p.cmd.Process); err != nil && p.running() {
		return fmt.Errorf("terminate %s: %w", p.name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s did not end, killed: %w", p.name, ctx.Err()), p.kill())
	}
}

// kill ends the program at once and waits until it is gone.
func (p *process) kill() error {
	if !p.running() {
		return nil
	}
	if err := killTree(p.cmd.Process); err != nil && p.running() {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// output is the end of the program's log file, for error messages.
func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(tail(text, 4096))
}

// failure is an error that carries the program's last words.
func (p *process) failure(what string, err error) error {
	return fmt.Errorf("%s: %s: %w\n--- end of %s\n%s", p.name, what, err, p.log, p.output())
}

var errEnded = errors.New("the process has ended")

// poll asks a question until the answer is yes, the process ends, or ctx ends. Java offers no event for its state, so this is the one
// place that looks again and again.
func (p *process) poll(ctx context.Context, what string, question func() bool) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for !question() {
		select {
		case <-tick.C:
		case <-p.done:
			return p.failure(what, errEnded)
		case <-ctx.Done():
			return p.failure(what, ctx.Err())
		}
	}
	return nil
}
