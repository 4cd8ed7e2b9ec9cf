package allocation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-mq/troupe/messages"
)

// Nearby keeps queues in their machine room: those of a room are divided among the room's members, and those of a room
// without a member among all members. It gives what org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby
// gives. Resolvers are called for every queue and every member; they must be fast and give the same on each member.
type Nearby struct {
	// Inner divides the queues of each room.
	Inner Strategy
	// RoomOfBroker and RoomOfMember name the room of a broker, by its name, and of a member, by its client id; "" means
	// that it is not known, which is an error.
	RoomOfBroker, RoomOfMember func(name string) string
}

// Name is MACHINE_ROOM_NEARBY- and the name of Inner.
func (s Nearby) Name() string { return "MACHINE_ROOM_NEARBY-" + s.Inner.Name() }

// Allocate gives the member's share of its own room's queues, then its shares of the deserted rooms' in the order of their
// names. It fails if a room is not known.
func (s Nearby) Allocate(me string, members []string, queues []messages.QueueKey) ([]messages.QueueKey, error) {
	if !slices.Contains(members, me) {
		return nil, nil
	}
	queuesIn, membersIn := make(map[string][]messages.QueueKey), make(map[string][]string)
	for _, q := range queues {
		room := s.RoomOfBroker(q.Broker)
		if room == "" {
			return nil, fmt.Errorf("the machine room of broker %q is not known", q.Broker)
		}
		queuesIn[room] = append(queuesIn[room], q)
	}
	for _, m := range members {
		room := s.RoomOfMember(m)
		if room == "" {
			return nil, fmt.Errorf("the machine room of member %q is not known", m)
		}
		membersIn[room] = append(membersIn[room], m)
	}
	var mine []messages.QueueKey
	if home := s.RoomOfMember(me); len(queuesIn[home]) > 0 {
		share, err := s.Inner.Allocate(me, membersIn[home], queuesIn[home])
		if err != nil {
			return nil, err
		}
		mine = append(mine, share...)
	}
	for _, room := range slices.SortedFunc(maps.Keys(queuesIn), messages.CompareText) {
		if len(membersIn[room]) > 0 {
			continue
		}
		share, err := s.Inner.Allocate(me, members, queuesIn[room])
		if err != nil {
			return nil, err
		}
		mine = append(mine, share...)
	}
	return mine, nil
}
