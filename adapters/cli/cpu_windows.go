package cli

import "syscall"

// cpuSeconds is what this process has used, user and kernel.
func cpuSeconds() float64 {
	process, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(process, &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	return seconds(kernel) + seconds(user)
}

// seconds reads a Filetime as a duration: units of 100 ns.
func seconds(t syscall.Filetime) float64 {
	return float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) / 1e7
}
