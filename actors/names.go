package actors

import "strings"

// Names that RocketMQ derives from a group (protocol.md 5.12).
const (
	retryPrefix   = "%RETRY%"
	handOffPrefix = "%HANDOFF%"
	dlqPrefix     = "%DLQ%"
)

// RetryTopic is the topic through which a group's failed messages come back.
func RetryTopic(group string) string { return retryPrefix + group }

// DeadLetterTopic is the topic that takes a group's messages after the last try.
func DeadLetterTopic(group string) string { return dlqPrefix + group }

// HandOffGroup is the name in which a concurrent group locks its queues.
func HandOffGroup(group string) string { return handOffPrefix + group }

func isRetryTopic(topic string) bool { return strings.HasPrefix(topic, retryPrefix) }

func joined(names []string) string { return strings.Join(names, ", ") }
