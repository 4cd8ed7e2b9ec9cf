package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// delivery is one message that a member of a group was given.
type delivery struct {
	queue      int
	number, at int64 // what the message is, and when it came, in nanoseconds since 1970
}

// parseDelivery reads the line that a client prints for it: delivery QUEUE NUMBER NANOSECONDS.
func parseDelivery(line string) (d delivery, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 4 || fields[0] != "delivery" {
		return d, false
	}
	var failed [3]error
	d.queue, failed[0] = strconv.Atoi(fields[1])
	d.number, failed[1] = strconv.ParseInt(fields[2], 10, 64)
	d.at, failed[2] = strconv.ParseInt(fields[3], 10, 64)
	return d, failed == [3]error{}
}

// moved is what a change of a group's members cost, as the users of its messages see it.
type moved struct {
	// GapMS is the longest time that a queue delivered nothing; as each queue gets a message every 64 ms, it cannot be much shorter.
	GapMS float64 `json:"longest_gap_ms"`
	// WaitMS is the longest time from a message's sending to its first delivery.
	WaitMS     float64 `json:"longest_wait_ms"`
	Duplicates float64 `json:"duplicates"`
	Lost       float64 `json:"lost"`
}

// judge looks at the deliveries of all members from one time to another. sent has the time that each message was sent at, by its number.
func judge(all []delivery, sent []int64, from, to int64) (m moved) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b delivery) int { return cmp.Compare(a.at, b.at) })
	seen := make([]bool, len(sent))
	last := map[int]int64{}
	inside := func(at int64) bool { return at > from && at <= to }
	var gap, wait int64
	for _, d := range all {
		if seen[d.number] {
			if inside(d.at) {
				m.Duplicates++
			}
			continue
		}
		seen[d.number] = true
		if before, ok := last[d.queue]; ok && d.at > from && before <= to {
			gap = max(gap, d.at-before)
		}
		last[d.queue] = d.at
		if inside(d.at) || inside(sent[d.number]) {
			wait = max(wait, d.at-sent[d.number])
		}
	}
	for _, came := range seen {
		if !came {
			m.Lost++
		}
	}
	m.GapMS, m.WaitMS = float64(gap)/1e6, float64(wait)/1e6
	return m
}
