//go:build unix && !linux

package apachebroker

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts a child into a process group of its own. Only Linux can also bind its life to ours.
func isolate(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func terminate(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killTree(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
