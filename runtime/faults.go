package troupe

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// faults collects what is wrong with a configuration, so that everything is reported at once.
type faults struct{ list []error }

func (f *faults) add(field string, value any, reason string) {
	f.list = append(f.list, &ConfigError{Field: field, Value: value, Reason: reason})
}

func (f *faults) number(field string, v, least, most int) {
	if v < least || v > most {
		f.add(field, v, fmt.Sprintf("must be from %d to %d", least, most))
	}
}

func (f *faults) duration(field string, v, least, most time.Duration) {
	if v < least || v > most {
		f.add(field, v, fmt.Sprintf("must be from %v to %v", least, most))
	}
}

func (f *faults) offset(field string, v int64) {
	if v < 0 {
		f.add(field, v, "must not be negative")
	}
}

func (f *faults) handlerTimeout(field string, v time.Duration) {
	if v != NoTimeout {
		f.duration(field, v, time.Millisecond, 24*time.Hour)
	}
}

// err joins all faults, one a line; nil if there is none.
func (f *faults) err() error { return errors.Join(f.list...) }

// Names of topics and groups (protocol.md 5.2, 7.7).
var namePattern = regexp.MustCompile(`^[%|a-zA-Z0-9_-]+$`)

const (
	maxGroupName   = 120
	maxTopicName   = 127
	reservedGroup  = "DEFAULT_CONSUMER"
	nameCharacters = "may hold letters, digits, % | _ and - only"
)

func (f *faults) group(name string) {
	switch {
	case strings.TrimSpace(name) == "":
		f.add("group", name, "must not be empty")
	case len(name) > maxGroupName:
		f.add("group", name, fmt.Sprintf("must not be longer than %d characters", maxGroupName))
	case !namePattern.MatchString(name):
		f.add("group", name, nameCharacters)
	case name == reservedGroup:
		f.add("group", name, "is reserved: choose another name")
	}
}

func (f *faults) topic(field, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		f.add(field, name, "must not be empty")
	case len(name) > maxTopicName:
		f.add(field, name, fmt.Sprintf("must not be longer than %d characters", maxTopicName))
	case !namePattern.MatchString(name):
		f.add(field, name, nameCharacters)
	}
}
