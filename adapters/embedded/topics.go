package embedded

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-mq/troupe/adapters/wire"
)

// Names that RocketMQ gives a meaning.
const (
	autoCreateTopic = "TBW102"
	scheduleTopic   = "SCHEDULE_TOPIC_XXXX"
	retryPrefix     = "%RETRY%"
	dlqPrefix       = "%DLQ%"
)

// maxQueues bounds the queues of a topic, so that a mistyped number does not become a table of billions.
const maxQueues = 65536

// maxTopicLength bounds ordinary topic names, maxRetryTopicLength those of retry and dead letter topics, in bytes.
const (
	maxTopicLength      = 127
	maxRetryTopicLength = 255
)

// topicConfig is what a broker knows about one topic. Values are immutable; a change replaces them.
type topicConfig struct {
	name        string
	readQueues  int32
	writeQueues int32
	perm        int32
	sysFlag     int32
	order       bool
}

func (t *topicConfig) readable() bool { return t.perm&wire.PermRead != 0 }
func (t *topicConfig) writable() bool { return t.perm&wire.PermWrite != 0 }

// text writes a topic as brokers do in their remarks.
func (t *topicConfig) text() string {
	return fmt.Sprintf("TopicConfig [topicName=%s, readQueueNums=%d, writeQueueNums=%d, perm=%s, topicFilterType=SINGLE_TAG, topicSysFlag=%d, order=%t, attributes={}]",
		t.name, t.readQueues, t.writeQueues, permText(t.perm), t.sysFlag, t.order)
}

func permText(perm int32) string {
	b := []byte("---")
	if perm&wire.PermRead != 0 {
		b[0] = 'R'
	}
	if perm&wire.PermWrite != 0 {
		b[1] = 'W'
	}
	if perm&wire.PermInherit != 0 {
		b[2] = 'X'
	}
	return string(b)
}

// topicTable is the topics of one broker.
type topicTable struct {
	mu     sync.RWMutex
	topics map[string]*topicConfig
}

func newTopicTable(autoCreate bool) *topicTable {
	t := &topicTable{topics: map[string]*topicConfig{}}
	if autoCreate {
		t.put(&topicConfig{name: autoCreateTopic, readQueues: 8, writeQueues: 8, perm: wire.PermRead | wire.PermWrite | wire.PermInherit})
	}
	t.put(queueTopic(scheduleTopic, 18))
	t.put(queueTopic(halfTopic, 1))
	t.put(queueTopic(opTopic, 1))
	return t
}

func (t *topicTable) get(name string) *topicConfig {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.topics[name]
}

func (t *topicTable) put(c *topicConfig) {
	t.mu.Lock()
	t.topics[c.name] = c
	t.mu.Unlock()
}

// ensure gives the topic, made with c if it did not exist.
func (t *topicTable) ensure(c *topicConfig) (_ *topicConfig, made bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.topics[c.name]; old != nil {
		return old, false
	}
	t.topics[c.name] = c
	return c, true
}

func (t *topicTable) remove(name string) {
	t.mu.Lock()
	delete(t.topics, name)
	t.mu.Unlock()
}

func (t *topicTable) names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.topics))
}

// queueTopic is the configuration of a topic with as many queues for reading as for writing.
func queueTopic(name string, queues int32) *topicConfig {
	return &topicConfig{name: name, readQueues: queues, writeQueues: queues, perm: wire.PermRead | wire.PermWrite}
}

// checkTopicName says what is wrong with a topic name, "" if nothing.
func checkTopicName(name string) string {
	limit := maxTopicLength
	if strings.HasPrefix(name, retryPrefix) || strings.HasPrefix(name, dlqPrefix) {
		limit = maxRetryTopicLength
	}
	if strings.TrimSpace(name) == "" {
		return "the topic is blank"
	}
	if illegalCharacter(name) {
		return fmt.Sprintf("the topic %q has characters outside %s", name, "^[%|a-zA-Z0-9_-]+$")
	}
	if len(name) > limit {
		return fmt.Sprintf("the topic is longer than %d characters", limit)
	}
	return ""
}

// checkGroupName says what is wrong with a group name, "" if nothing.
func checkGroupName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "the group is blank"
	case illegalCharacter(name):
		return fmt.Sprintf("the group %q has characters outside %s", name, "^[%|a-zA-Z0-9_-]+$")
	case len(name) > 255:
		return "the group is longer than 255 characters"
	}
	return ""
}

func illegalCharacter(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			return false
		}
		return !strings.ContainsRune("%|_-", r)
	})
}

// refusesSends tells whether producers may not write to a topic because the broker itself keeps it.
func refusesSends(name string) bool {
	switch name {
	case scheduleTopic, halfTopic, opTopic, uncheckedTopic, "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT":
		return true
	}
	return false
}

// isSystemTopic tells whether a topic belongs to the broker and not to a user.
func isSystemTopic(name string) bool {
	return name == autoCreateTopic || refusesSends(name) || strings.HasPrefix(name, "rmq_sys_")
}
