package embedded

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// What a broker writes into every message it takes from a producer.
const defaultRegion = "DefaultRegion"

// stored tells where a message ended up.
type stored struct {
	topic string
	queue int32
	placed
}

// draftOf encodes a message for a queue. A delayed message goes to the schedule topic and remembers where it belongs. The
// message's own topic, queue and hosts are overwritten.
func (b *Broker) draftOf(m *messages.Message, topic string, queue int32, level int) (draft, error) {
	d := draft{topic: topic, queue: queue, tags: wire.TagCode(m.Tag())}
	if level > 0 {
		level = min(level, len(b.cfg.DelayLevels))
		m.SetProperty(messages.PropertyRealTopic, topic)
		m.SetProperty(messages.PropertyRealQueueID, strconv.Itoa(int(queue)))
		d.topic, d.queue = scheduleTopic, int32(level-1)
		d.delay = b.cfg.DelayLevels[level-1].Milliseconds()
	}
	if n := len(m.GetRawProperties()); n > messages.MaxPropertiesLength {
		return draft{}, fmt.Errorf("properties of %d bytes, %d are possible", n, messages.MaxPropertiesLength)
	}
	m.Topic, m.QueueId = d.topic, d.queue
	m.StoreHost = b.host()
	m.BodyCrc = wire.BodyCRC(m.Body)
	record, err := wire.AppendMessage(make([]byte, 0, recordRoom(m)), m)
	d.record = record
	return d, err
}

// recordRoom is as much as a message's record can take.
func recordRoom(m *messages.Message) int {
	return 128 + len(m.Body) + len(m.Topic) + len(m.RawProperties)
}

// put stores drafts and wakes who waits for them.
func (b *Broker) put(drafts []draft) ([]stored, error) {
	at, err := b.store.append(drafts)
	if err != nil {
		return nil, err
	}
	out := make([]stored, len(drafts))
	for i := range drafts {
		out[i] = stored{topic: drafts[i].topic, queue: drafts[i].queue, placed: at[i]}
	}
	if life := b.running(); life != nil {
		life.announce(out)
	}
	b.events.happened()
	return out, nil
}

// announce tells held pulls and the scheduler about new messages.
func (i *incarnation) announce(list []stored) {
	if i.holds.count.Load() == 0 && list[0].topic != scheduleTopic && len(list) == 1 {
		return
	}
	for len(list) > 0 {
		// Runs of one queue are announced together.
		first := list[0]
		n := 1
		for n < len(list) && list[n].topic == first.topic && list[n].queue == first.queue {
			n++
		}
		run := list[:n]
		list = list[n:]
		if first.topic == scheduleTopic {
			select {
			case i.wake <- struct{}{}:
			default: // it is already awake
			}
			continue
		}
		if i.holds.count.Load() == 0 {
			continue
		}
		entries := make([]entry, len(run))
		for k := range run {
			entries[k] = entry{physical: run[k].physical, tags: run[k].tags}
		}
		i.arrived(queueID{first.topic, first.queue}, run[n-1].queueOffset+1, entries)
	}
}

// offsetID is the id of a stored record: address of the broker and commit-log offset.
func (b *Broker) offsetID(physical int64) string {
	m := messages.Message{StoreHost: b.host(), CommitLogOffset: physical}
	return m.OffsetID()
}

// pickQueue chooses a queue when a producer leaves the choice to the broker.
func pickQueue(t *topicConfig) int32 {
	if t.writeQueues <= 0 {
		return 0
	}
	return rand.Int32N(t.writeQueues)
}
