package allocation

import (
	"cmp"
	"crypto/md5" // #nosec G501 -- the hash of Java's strategy, it protects nothing
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/troupe-mq/troupe/messages"
)

// ConsistentHash puts each member at several places of a ring and each queue at one; a queue belongs to the next member up
// the ring. When members come or go few queues move, at the price of uneven shares. It gives what
// org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash gives.
type ConsistentHash struct {
	// VirtualNodes is how many places a member has; 0: 10, as in Java.
	VirtualNodes int
	// Hash places a text on the ring; nil: the first four bytes of its MD5, as in Java.
	Hash func(text string) int64
}

// DefaultVirtualNodes is how many places a member has on the ring.
const DefaultVirtualNodes = 10

// Name is CONSISTENT_HASH.
func (ConsistentHash) Name() string { return "CONSISTENT_HASH" }

// Allocate gives the queues that follow one of the member's places, in the order of all queues; it never fails.
func (s ConsistentHash) Allocate(me string, members []string, queues []messages.QueueKey) ([]messages.QueueKey, error) {
	place, _, sorted := ranked(me, members, queues)
	if place < 0 {
		return nil, nil
	}
	hash, ring := s.Hash, s.ring(members)
	if hash == nil {
		hash = md5Hash
	}
	var mine []messages.QueueKey
	for _, q := range sorted {
		// The text is Java's MessageQueue.toString.
		h := hash("MessageQueue [topic=" + q.Topic + ", brokerName=" + q.Broker + ", queueId=" + strconv.Itoa(int(q.ID)) + "]")
		at, _ := slices.BinarySearchFunc(ring, h, func(n virtualNode, h int64) int { return cmp.Compare(n.hash, h) })
		if at == len(ring) {
			at = 0
		}
		if ring[at].member == me {
			mine = append(mine, q)
		}
	}
	return mine, nil
}

type virtualNode struct {
	hash   int64
	member string
}

// ring is the places of all members in ascending order. Where two have the same, it is that of the later member.
func (s ConsistentHash) ring(members []string) []virtualNode {
	nodes, hash := cmp.Or(s.VirtualNodes, DefaultVirtualNodes), s.Hash
	if hash == nil {
		hash = md5Hash
	}
	places := make(map[int64]string, nodes*len(members))
	for _, m := range slices.SortedFunc(slices.Values(members), messages.CompareText) {
		for i := range nodes {
			places[hash(m+"-"+strconv.Itoa(i))] = m
		}
	}
	ring := make([]virtualNode, 0, len(places))
	for h, m := range places {
		ring = append(ring, virtualNode{h, m})
	}
	slices.SortFunc(ring, func(x, y virtualNode) int { return cmp.Compare(x.hash, y.hash) })
	return ring
}

func md5Hash(text string) int64 {
	sum := md5.Sum([]byte(text)) // #nosec G401 -- see the import
	return int64(binary.BigEndian.Uint32(sum[:4]))
}
