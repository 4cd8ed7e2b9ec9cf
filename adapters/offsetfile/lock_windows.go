package offsetfile

import (
	"errors"
	"syscall"
)

var errLocked = errors.New("locked")

// Windows says so if another handle excludes ours.
const errorSharingViolation = syscall.Errno(32)

// lock opens a file that nobody else may open meanwhile; that ends with the process at the latest.
func lock(path string) (unlock func() error, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	return func() error { return syscall.CloseHandle(h) }, nil
}
