package apachebroker

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken below the range from which systems draw the ports of outgoing connections, so that no client takes one between our look
// and the broker's bind, or while a broker is being restarted.
const (
	firstPort = 20000
	lastPort  = 31000
)

// A broker opens three ports: its own, that minus two (the VIP channel) and that plus one (replication).
var brokerPorts = []int{0, -2, +1}

// freePort finds a port that is free together with its neighbours at the given distances.
func freePort(distances []int) (int, error) {
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if allFree(port, distances) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port with neighbours %v between %d and %d", distances, firstPort, lastPort)
}

func allFree(port int, distances []int) bool {
	for _, d := range distances {
		// Java binds all interfaces, so that is what has to be free.
		l, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port+d)))
		if err != nil {
			return false
		}
		_ = l.Close() // nothing was accepted
	}
	return true
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
