//go:build !unix

package apachebroker

import (
	"os"
	"os/exec"
)

// isolate does nothing where there are no process groups.
func isolate(*exec.Cmd, bool) {}

// terminate can only kill here: there is no signal that asks a program to end.
func terminate(p *os.Process) error { return p.Kill() }

func killTree(p *os.Process) error { return p.Kill() }
