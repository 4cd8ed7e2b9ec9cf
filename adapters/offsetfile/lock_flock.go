//go:build darwin || linux || freebsd || netbsd || openbsd || dragonfly

package offsetfile

import (
	"errors"
	"os"
	"syscall"
)

var errLocked = errors.New("locked")

// lock takes an exclusive lock that ends with the process at the latest. On file systems without locks nothing is locked.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(errLocked, f.Close())
	}
	return f.Close, nil
}
