package troupe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-mq/troupe/actors/allocation"
	"github.com/troupe-mq/troupe/messages"
)

// Allocation says how the queues of a topic are shared among the members of a group (allocateMessageQueueStrategy). All members,
// also those in other languages, must use the same. The zero value is Averagely.
type Allocation struct {
	strategy allocation.Strategy
	faults   []string
}

// Averagely gives each member a range of neighbours (AllocateMessageQueueAveragely, AVG).
func Averagely() Allocation { return Allocation{strategy: allocation.Average{}} }

// ByCircle deals the queues out one by one (AllocateMessageQueueAveragelyByCircle, AVG_BY_CIRCLE).
func ByCircle() Allocation { return Allocation{strategy: allocation.Circle{}} }

// Configured gives this member the listed queues, those that exist, whoever else is in the group
// (AllocateMessageQueueByConfig, CONFIG). The lists of all members together must hold each queue once. The queues of the
// retry topic are divided averagely unless the list has one of them; in Java nobody gets these.
func Configured(queues ...*Queue) Allocation {
	var a Allocation
	var keys []messages.QueueKey
	if len(queues) == 0 {
		a.fault("Configured needs at least one queue")
	}
	for _, q := range queues {
		switch key := q.Key(); {
		case q.GetTopic() == "" || q.GetBroker() == "" || q.GetId() < 0:
			a.fault("Configured: queue %s needs a topic, a broker's name and an id from 0", q.Text())
		case slices.Contains(keys, key):
			a.fault("Configured: queue %s is there twice", q.Text())
		default:
			keys = append(keys, key)
		}
	}
	a.strategy = allocation.Configured{Queues: keys}
	return a
}

// MachineRoom shares only the queues of brokers in the given rooms; a broker in a room is called room@name
// (AllocateMessageQueueByMachineRoom, MACHINE_ROOM).
func MachineRoom(rooms ...string) Allocation {
	a := Allocation{strategy: allocation.MachineRoom{Rooms: slices.Clone(rooms)}}
	if len(rooms) == 0 {
		a.fault("MachineRoom needs at least one room")
	}
	for _, room := range rooms {
		if room == "" || strings.Contains(room, "@") {
			a.fault("MachineRoom: room %q must not be empty or hold an @", room)
		}
	}
	return a
}

// MachineRoomNearby shares the queues of a room among the members in it, by inner; those of a room without a member go to all
// members (AllocateMachineRoomNearby, MACHINE_ROOM_NEARBY-inner). roomOfBroker names the room of a broker, by its name,
// roomOfMember that of a member, by its client id: set Config.ClientID so that it tells. If either gives "", the queues stay where
// they are and an event says why. The functions must give the same on all members; several calls may run at once.
func MachineRoomNearby(inner Allocation, roomOfBroker func(broker string) string, roomOfMember func(clientID string) string) Allocation {
	a := Allocation{
		strategy: allocation.Nearby{Inner: inner.orDefault(), RoomOfBroker: roomOfBroker, RoomOfMember: roomOfMember},
		faults:   slices.Clone(inner.faults),
	}
	if roomOfBroker == nil || roomOfMember == nil {
		a.fault("MachineRoomNearby needs both functions")
	}
	return a
}

// Limits of ConsistentHash.
const maxVirtualNodes = 10_000

// ConsistentHash puts each member at several places of a ring and gives it the queues before them
// (AllocateMessageQueueConsistentHash, CONSISTENT_HASH): when members come or go, few queues move. virtualNodes is the number of places
// of a member, 1 to 10000; 0 is Java's default, 10.
func ConsistentHash(virtualNodes int) Allocation { return consistentHash(virtualNodes, nil) }

// ConsistentHashBy is ConsistentHash with a hash of the user's own; Java's is the first four bytes of the text's MD5.
func ConsistentHashBy(virtualNodes int, hash func(text string) int64) Allocation {
	a := consistentHash(virtualNodes, hash)
	if hash == nil {
		a.fault("ConsistentHashBy needs a hash function")
	}
	return a
}

func consistentHash(virtualNodes int, hash func(string) int64) Allocation {
	a := Allocation{strategy: allocation.ConsistentHash{VirtualNodes: virtualNodes, Hash: hash}}
	if virtualNodes < 0 || virtualNodes > maxVirtualNodes {
		a.fault("ConsistentHash: virtual nodes must be from 1 to %d, or 0 for %d", maxVirtualNodes, allocation.DefaultVirtualNodes)
	}
	return a
}

// AllocateFunc gives the member me, a client id, some of the queues of one topic. Both lists are copies, sorted as on all
// members. It is called for each topic, the retry topic too, in every round: it must be fast and give the same whenever it is
// called with the same. An error or a panic leaves the queues where they are; queues that are not the topic's and second mentions
// are left out. An event tells each fault once.
type AllocateFunc func(me string, members []string, queues []*Queue) ([]*Queue, error)

// AllocateBy shares queues by a function; the name is told to tools.
func AllocateBy(name string, f AllocateFunc) Allocation {
	a := Allocation{strategy: allocation.Custom{As: name, Divide: f}}
	if strings.TrimSpace(name) == "" {
		a.fault("AllocateBy needs a name")
	}
	if f == nil {
		a.fault("AllocateBy needs a function")
	}
	return a
}

// String is the strategy's name in Java.
func (a Allocation) String() string { return a.orDefault().Name() }

func (a *Allocation) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

func (a Allocation) orDefault() allocation.Strategy {
	if a.strategy == nil {
		return allocation.Average{}
	}
	return a.strategy
}

func (f *faults) allocation(field string, a Allocation) {
	for _, reason := range a.faults {
		f.add(field, a.String(), reason)
	}
}
