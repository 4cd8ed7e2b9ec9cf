package actors

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-mq/troupe/messages"
)

// memberCheck is one comparison of what the members of a group subscribe to with what this one does.
type memberCheck struct {
	link    Link
	me      string
	group   string
	ours    []*messages.Subscription
	brokers [][]string
	// known are the members that have answered before, with what differed then.
	known map[string]string
	// doubted asks all members, not just new ones and those that differed.
	doubted bool
}

// run asks the first broker that answers, and through it the members. A member that does not answer is left out: it is asked again
// in the next check.
func (m *memberCheck) run(ctx context.Context, done *membersCompared) error {
	view, address, err := m.view(ctx)
	if err != nil {
		return err
	}
	all := m.doubted || difference(m.ours, view.GetSubscriptions()) != ""
	limit := askedWhenNew
	if all {
		limit = askedWhenDoubted
	}
	done.answers = make(map[string]string)
	for _, member := range view.GetMembers() {
		id := member.GetClientId()
		if id == m.me {
			continue
		}
		done.present = append(done.present, id)
		if what, known := m.known[id]; known && what == "" && !all || limit == 0 || ctx.Err() != nil {
			continue
		}
		limit--
		one, cancel := context.WithTimeout(ctx, memberAskTimeout)
		theirs, err := m.link.SubscriptionsOf(one, address, m.group, id)
		cancel()
		if err != nil {
			continue
		}
		what := difference(m.ours, theirs)
		if what != "" {
			what = "(" + cmp.Or(member.GetLanguage(), "unknown language") + ") " + what
		}
		done.answers[id] = what
	}
	return nil
}

func (m *memberCheck) view(ctx context.Context) (view *messages.GroupConnections, address string, err error) {
	err = &messages.NoRouteError{Topic: m.ours[0].GetTopic()}
	for _, set := range m.brokers {
		for _, address = range set {
			one, cancel := context.WithTimeout(ctx, memberTimeout)
			view, err = m.link.Connections(one, address, m.group)
			cancel()
			if err == nil {
				return view, address, nil
			}
		}
	}
	return nil, "", err
}

// difference says what another member subscribes to otherwise than we; empty if nothing. Retry topics are everybody's own affair:
// not all clients list them.
func difference(ours, theirs []*messages.Subscription) string {
	var parts []string
	for _, o := range sortedSubscriptions(ours) {
		i := slices.IndexFunc(theirs, func(t *messages.Subscription) bool { return t.GetTopic() == o.GetTopic() })
		switch {
		case i < 0:
			parts = append(parts, "does not subscribe to "+o.GetTopic())
		case filterText(theirs[i]) != filterText(o):
			parts = append(parts, "subscribes to "+o.GetTopic()+" with "+filterText(theirs[i])+" instead of "+filterText(o))
		}
	}
	for _, t := range sortedSubscriptions(theirs) {
		if !slices.ContainsFunc(ours, func(o *messages.Subscription) bool { return o.GetTopic() == t.GetTopic() }) {
			parts = append(parts, "subscribes to "+t.GetTopic()+", too")
		}
	}
	return strings.Join(parts, ", ")
}

func sortedSubscriptions(of []*messages.Subscription) []*messages.Subscription {
	of = slices.DeleteFunc(slices.Clone(of), func(s *messages.Subscription) bool {
		return strings.HasPrefix(s.GetTopic(), retryPrefix)
	})
	slices.SortFunc(of, func(a, b *messages.Subscription) int { return cmp.Compare(a.GetTopic(), b.GetTopic()) })
	return of
}

// filterText gives a filter in one form: the same set of tags is the same filter in any order.
func filterText(s *messages.Subscription) string {
	if s.GetKind() == messages.FilterKind_FILTER_KIND_SQL92 {
		return "SQL92 " + strconv.Quote(s.GetExpression())
	}
	if len(s.GetTags()) == 0 {
		return strconv.Quote("*")
	}
	return strconv.Quote(strings.Join(slices.Compact(slices.Sorted(slices.Values(s.GetTags()))), " || "))
}
