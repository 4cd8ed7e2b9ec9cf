package actors

import "fmt"

// contained calls a port and turns a panic in it into an error: it is a failed request, and no reason to start the actor
// that made it anew.
func contained(call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v", value)
		}
	}()
	return call()
}
