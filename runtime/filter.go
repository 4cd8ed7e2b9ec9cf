package troupe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-mq/troupe/messages"
)

// Filter says which messages of a topic a group wants. All members of a group must use the same ones: the broker knows one
// subscription a group.
type Filter struct {
	tags  []string
	fault string
}

// AllTags wants every message.
func AllTags() Filter { return Filter{} }

// Tags wants messages with one of the tags.
func Tags(tags ...string) Filter {
	f := Filter{tags: slices.Clone(tags)}
	if len(tags) == 0 {
		f.fault = "no tag given: name at least one, or use AllTags()"
	}
	for _, tag := range tags {
		switch {
		case strings.TrimSpace(tag) != tag || tag == "":
			f.fault = fmt.Sprintf("tag %q: must not be empty nor have blanks around it", tag)
		case tag == "*" || strings.Contains(tag, "||"):
			f.fault = fmt.Sprintf("tag %q: * and || have a meaning of their own; use AllTags() or several tags", tag)
		}
	}
	return f
}

func (f Filter) subscription(topic string, version int64) *messages.Subscription {
	s := &messages.Subscription{
		Topic: topic, Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: "*", Tags: f.tags, Version: version,
	}
	if len(f.tags) > 0 {
		s.Expression = strings.Join(f.tags, " || ")
	}
	return s
}
