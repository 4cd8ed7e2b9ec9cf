package wire

import (
	"fmt"
	"slices"
	"strings"
)

// Types of filter expressions.
const (
	ExpressionTag   = "TAG"
	ExpressionSQL92 = "SQL92"
)

// SubscriptionData is a group's subscription of one topic.
type SubscriptionData struct {
	Topic string
	// SubString is the filter expression, "*" for everything.
	SubString string
	// Tags and Codes are the tags of a tag expression and their hash codes; empty for everything and for SQL92.
	Tags  []string
	Codes []int32
	// SubVersion is the wall clock in ms when the subscription was made or bumped; the larger one wins at the broker.
	SubVersion int64
	// ExpressionType is ExpressionTag or ExpressionSQL92; empty counts as ExpressionTag.
	ExpressionType  string
	ClassFilterMode bool
}

// NewSubscription parses a filter expression as Java's FilterAPI does: tags separated by ||, empty or * for everything.
func NewSubscription(topic, expression, kind string, version int64) (SubscriptionData, error) {
	s := SubscriptionData{Topic: topic, SubString: expression, ExpressionType: kind, SubVersion: version}
	switch kind {
	case "", ExpressionTag:
		s.ExpressionType = ExpressionTag
	case ExpressionSQL92:
		if strings.TrimSpace(expression) == "" {
			return s, fmt.Errorf("subscription of %s: an SQL92 expression is empty", topic)
		}
		return s, nil
	default:
		return s, fmt.Errorf("subscription of %s: unknown expression type %q", topic, kind)
	}
	if expression == "" || expression == "*" {
		s.SubString = "*"
		return s, nil
	}
	for _, tag := range strings.Split(expression, "||") {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(s.Tags, tag) {
			s.Tags = append(s.Tags, tag)
			s.Codes = append(s.Codes, HashCode(tag))
		}
	}
	if len(s.Tags) == 0 {
		return s, fmt.Errorf("subscription of %s: the expression %q names no tag", topic, expression)
	}
	return s, nil
}

func (s *SubscriptionData) json(j *jsonCodec) {
	j.bool("classFilterMode", &s.ClassFilterMode)
	j.int32s("codeSet", &s.Codes)
	j.optional("expressionType", &s.ExpressionType)
	j.text("subString", &s.SubString)
	j.int64("subVersion", &s.SubVersion)
	j.texts("tagsSet", &s.Tags)
	j.text("topic", &s.Topic)
}
