package allocation

import (
	"slices"
	"strings"

	"github.com/troupe-mq/troupe/messages"
)

// MachineRoom divides only the queues of brokers that stand in one of the given rooms; a broker in a room is called
// room@name. Queues elsewhere, on brokers with other names too, are nobody's in this group. It gives what
// org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom gives: an equal stretch for each member, and
// what remains at the end one by one to the first ones.
type MachineRoom struct {
	Rooms []string
}

// Name is MACHINE_ROOM.
func (MachineRoom) Name() string { return "MACHINE_ROOM" }

// Allocate gives the member's share of the rooms' queues; it never fails.
func (s MachineRoom) Allocate(me string, members []string, queues []messages.QueueKey) ([]messages.QueueKey, error) {
	place, count, sorted := ranked(me, members, queues)
	if place < 0 {
		return nil, nil
	}
	sorted = slices.DeleteFunc(sorted, func(q messages.QueueKey) bool { return !s.holds(q.Broker) })
	share, rest := len(sorted)/count, len(sorted)%count
	mine := slices.Clone(sorted[place*share : (place+1)*share])
	if place < rest {
		mine = append(mine, sorted[count*share+place])
	}
	return mine, nil
}

// holds splits a name as Java's String.split does, which drops empty pieces at the end: "room@x@" is in a room, "room@" is not.
func (s MachineRoom) holds(broker string) bool {
	room, name, found := strings.Cut(strings.TrimRight(broker, "@"), "@")
	return found && !strings.Contains(name, "@") && slices.Contains(s.Rooms, room)
}
