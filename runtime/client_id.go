package troupe

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"

	"github.com/troupe-mq/troupe/actors"
)

// newClientID makes ip@pid#random: brokers tell members of a group apart by it, and containers often share ip and pid.
func newClientID() string {
	return fmt.Sprintf("%s@%d#%016x", hostIP(), os.Getpid(), rand.Uint64())
}

// hostIP prefers an IPv4 address that others can reach, as Java does; for a name any will do.
func hostIP() string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "127.0.0.1"
	}
	found := "127.0.0.1"
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.To4() == nil {
			continue
		}
		found = n.IP.String()
		if !n.IP.IsPrivate() {
			return found
		}
	}
	return found
}

// memberships are the groups that the Runtimes of this process are members of, by client id: two equal ids in one group
// would share queues without knowing of each other. It is the only process-wide state of the package.
var memberships = members{entered: make(map[membership]bool)}

type membership struct{ cluster, client, group string }

type members struct {
	mu      sync.Mutex
	entered map[membership]bool
}

func (m *members) enter(spec actors.ClientSpec) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var f faults
	cluster := fmt.Sprint(spec.Transport)
	for _, g := range spec.Groups {
		if m.entered[membership{cluster, spec.ClientID, g.Name}] {
			f.add("Config.ClientID", spec.ClientID, fmt.Sprintf(
				"is already a member of group %s in this process: choose another id, or leave it empty", g.Name))
		}
	}
	if err := f.err(); err != nil {
		return err
	}
	for _, g := range spec.Groups {
		m.entered[membership{cluster, spec.ClientID, g.Name}] = true
	}
	return nil
}

func (m *members) leave(client string, groups []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.entered {
		for _, g := range groups {
			if key.client == client && key.group == g {
				delete(m.entered, key)
			}
		}
	}
}
