package troupe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-mq/troupe/messages"
	"github.com/troupe-mq/troupe/messages/sql92"
)

// Filter says which messages of a topic a group wants. All members of a group must use the same ones: the broker knows one
// subscription a group.
type Filter struct {
	tags  []string
	sql   string
	isSQL bool
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

// SQL92 wants messages whose properties fulfil a condition, e.g. "price > 5 AND region = 'eu'". Brokers evaluate it: they need
// enablePropertyFilter=true, which is not their default. What is wrong with the expression itself is told before any traffic,
// with its position; brokers are asked whether they take it before anything is pulled, and a refusal ends Start with a
// *SubscriptionError.
//
// Comparisons are those of Apache's brokers: numbers with =, <>, <, <=, >, >=, BETWEEN; strings and booleans with = and <>; IN
// for strings; IS NULL; AND, OR, NOT. A missing property makes a comparison unknown, which selects nothing. CONTAINS,
// STARTSWITH and ENDSWITH need brokers of 5.x: older ones ignore them and all that follows.
func SQL92(expression string) Filter {
	f := Filter{sql: expression, isSQL: true}
	if err := sql92.Check(expression); err != nil {
		f.fault = err.Error()
	}
	return f
}

// value is the filter as errors show it.
func (f Filter) value() any {
	if f.isSQL {
		return f.sql
	}
	return f.tags
}

// expression gives the filter as it is sent.
func (f Filter) expression() string {
	switch {
	case f.isSQL:
		return f.sql
	case len(f.tags) > 0:
		return strings.Join(f.tags, " || ")
	default:
		return "*"
	}
}

func (f Filter) subscription(topic string, version int64) *messages.Subscription {
	s := &messages.Subscription{
		Topic: topic, Kind: messages.FilterKind_FILTER_KIND_TAG, Expression: f.expression(), Tags: f.tags, Version: version,
	}
	if f.isSQL {
		s.Kind = messages.FilterKind_FILTER_KIND_SQL92
	}
	return s
}
