package actors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-mq/troupe/messages"
)

// division is this member's share of a topic, as the group's strategy sees it.
type division struct {
	share []messages.QueueKey
	// complaint says what of the strategy's answer was left out; "" if nothing.
	complaint string
}

// divide asks the group's strategy, which may be a function of the user's: it may fail, panic, or give what is not to be had. It
// may take its time, too, so this is called outside of an actor's turn.
func (s *GroupSpec) divide(me string, members []string, queues []messages.QueueKey) (d division, err error) {
	var given []messages.QueueKey
	err = contained(func() (err error) {
		given, err = s.Allocate.Allocate(me, members, queues)
		return err
	})
	if err != nil {
		return division{}, fmt.Errorf("allocate by %s: %w", s.Allocate.Name(), err)
	}
	var strays, twice []string
	known, had := make(map[messages.QueueKey]bool, len(queues)), make(map[messages.QueueKey]bool, len(given))
	for _, q := range queues {
		known[q] = true
	}
	for _, q := range given {
		switch {
		case !known[q]:
			strays = append(strays, q.String())
		case had[q]:
			twice = append(twice, q.String())
		default:
			had[q] = true
			d.share = append(d.share, q)
		}
	}
	d.complaint = complaint(s.Allocate.Name(), strays, twice)
	return d, nil
}

func complaint(strategy string, strays, twice []string) string {
	var parts []string
	if len(strays) > 0 {
		parts = append(parts, "not of the topic: "+named(strays))
	}
	if len(twice) > 0 {
		parts = append(parts, "given twice: "+named(twice))
	}
	if len(parts) == 0 {
		return ""
	}
	return "allocate by " + strategy + ": " + strings.Join(parts, "; ")
}

// namedMost is how many queues a text names one by one.
const namedMost = 64

// named lists queues for a text, in order.
func named(queues []string) string {
	slices.Sort(queues)
	if more := len(queues) - namedMost; more > 0 {
		return strings.Join(queues[:namedMost], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(queues, ", ")
}
