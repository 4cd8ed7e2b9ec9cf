package embedded

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/troupe-mq/troupe/messages"
)

// publishChunk is how many messages Publish stores in one go.
const publishChunk = 4096

// Publish stores messages directly, without a connection, as if a producer had sent them from 127.0.0.1: topics are made
// on demand, delay levels hold. A message goes to the queue in its QueueId if its Broker is this broker's name, else the
// messages of a call go round the queues of their topic, beginning at the first. The messages are not changed. All are
// stored or, on an error, none of those behind the one that is named.
func (b *Broker) Publish(ms ...*messages.Message) error {
	if b.running() == nil {
		return ErrStopped
	}
	turn := map[string]int32{}
	born := messages.HostBytes(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0))
	drafts := make([]draft, 0, min(len(ms), publishChunk))
	for k, m := range ms {
		d, err := b.publication(m, born, turn)
		if err != nil {
			return fmt.Errorf("publish message %d of %d to %s: %w", k+1, len(ms), m.GetTopic(), err)
		}
		drafts = append(drafts, d)
		if len(drafts) == publishChunk || k == len(ms)-1 {
			if _, err := b.put(drafts); err != nil {
				return fmt.Errorf("publish to %s: %w", m.GetTopic(), err)
			}
			drafts = drafts[:0]
		}
	}
	return nil
}

func (b *Broker) publication(m *messages.Message, born []byte, turn map[string]int32) (draft, error) {
	if wrong := checkTopicName(m.GetTopic()); wrong != "" {
		return draft{}, fmt.Errorf("%s", wrong)
	}
	if len(m.GetBody()) > b.cfg.MaxMessageBytes {
		return draft{}, fmt.Errorf("body of %d bytes, %d are possible", len(m.GetBody()), b.cfg.MaxMessageBytes)
	}
	t := b.topics.get(m.GetTopic())
	if t == nil {
		if b.cfg.NoTopicCreation && !strings.HasPrefix(m.GetTopic(), retryPrefix) {
			return draft{}, fmt.Errorf("topic does not exist")
		}
		t = b.ensureTopic(queueTopic(m.GetTopic(), 4))
	}
	queue := turn[t.name] % max(1, t.writeQueues)
	if m.GetBroker() == b.cfg.BrokerName {
		queue = m.GetQueueId()
		if queue < 0 || queue >= max(t.readQueues, t.writeQueues) {
			return draft{}, fmt.Errorf("queue %d of %d", queue, t.writeQueues)
		}
	} else {
		turn[t.name] = queue + 1
	}
	c := &messages.Message{
		Body: m.GetBody(), RawProperties: m.GetRawProperties(), Flag: m.GetFlag(), SysFlag: m.GetSysFlag(),
		BornTimestamp: m.GetBornTimestamp(), BornHost: born, ReconsumeTimes: m.GetReconsumeTimes(),
	}
	if c.BornTimestamp == 0 {
		c.BornTimestamp = time.Now().UnixMilli()
	}
	if c.Property(messages.PropertyWait) == "" {
		c.SetProperty(messages.PropertyWait, "true")
	}
	b.stamp(c)
	return b.draftOf(c, t.name, queue, c.DelayLevel())
}
