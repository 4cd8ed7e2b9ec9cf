package apachebroker

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts a child into a process group of its own. With bound set the kernel kills it when the thread that started it ends, hence
// also when this process is killed; the caller then has to keep that thread alive.
func isolate(cmd *exec.Cmd, bound bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if bound {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}

func terminate(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killTree(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
