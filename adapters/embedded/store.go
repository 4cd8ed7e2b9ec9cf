package embedded

import "errors"

// errStoreClosed is the answer of a store after close.
var errStoreClosed = errors.New("store closed")

// store keeps messages: one commit log of records, and per topic and queue an index of entries that point into it. All
// methods may be called from any goroutine; reads never wait for an append to another queue.
type store interface {
	// append writes the drafts in one go, gives each its physical and queue offset and its store time, and reports them in
	// the same order.
	append(drafts []draft) ([]placed, error)
	// queue finds the index of a queue. One that never had a message is empty, and asking for it leaves no trace.
	queue(topic string, id int32) queueIndex
	// queues lists the ids of a topic's queues that exist, ascending.
	queues(topic string) []int32
	// record gives the stored record at a physical offset: size bytes, or as many as the record says if size is 0. The
	// bytes are shared and must not be changed. False if the log does not hold it (any more).
	record(physical int64, size int32) ([]byte, bool)
	// bounds gives the first physical offset that the log holds and the one that the next record gets.
	bounds() (min, max int64)
	// discard forgets log data before a physical offset, as far as whole segments allow. Indexes stay as they are.
	discard(before int64)
	// dropTopic forgets all queues of a topic.
	dropTopic(topic string)
	// close ends the store; appends fail from then on.
	close() error
}

// queueIndex is one consume queue: entry i describes the message with queue offset i.
type queueIndex interface {
	// bounds gives the lowest offset that is kept and the one that the next message gets.
	bounds() (min, max int64)
	// entries appends to dst the entries from an offset on, as many as fit into dst's capacity or exist. From must not be
	// below the minimum.
	entries(dst []entry, from int64) []entry
	// trim forgets everything below an offset; the minimum never moves back.
	trim(min int64)
}

// entry is one unit of a consume queue: 20 bytes on disk.
type entry struct {
	physical int64
	size     int32
	tags     int64 // hash code of the tag; in the schedule topic the time of delivery
}

// draft is one encoded record that still lacks what only the log can know.
type draft struct {
	topic  string
	queue  int32
	record []byte // stored layout, protocol.md 4.1
	tags   int64
	delay  int64 // if positive: tags becomes the store time plus this, in milliseconds
}

// placed tells where a draft was stored.
type placed struct {
	physical    int64
	queueOffset int64
	storeTime   int64
	tags        int64
}
