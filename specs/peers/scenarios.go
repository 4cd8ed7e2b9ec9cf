package main

import "strings"

// scenario is a situation that clients are measured in.
type scenario struct {
	stored func(settings) int // messages that are there before the clients; nil: none
	raw    bool               // the loop that handles nothing takes part
	// only are the clients that can be compared; nil: all.
	only []string
}

var scenarios = map[string]scenario{
	"backlog": {stored: func(s settings) int { return s.messages / batchSize * batchSize }, raw: true},
	"orderly": {stored: func(s settings) int { return s.messages / 5 / batchSize * batchSize }},
	"pull":    {stored: func(s settings) int { return s.messages / batchSize * batchSize }, raw: true},
	"hand":    {stored: func(s settings) int { return s.messages / batchSize * batchSize }, raw: true, only: []string{"raw", "troupe"}},
	"latency": {}, // 2,000 messages a second for 20 s
	"slow":    {}, // the same, and each hundredth handler sleeps
	"join":    {}, // a second member comes while 64 queues get 1,000 messages a second
	"leave":   {}, // … and goes, as one that shuts down
	"crash":   {}, // … and goes, as one that is killed
	"idle":    {}, // 1,024 queues on which nothing happens
}

// scenarioNames are all of them in the order in which they run.
var scenarioNames = strings.Join([]string{"backlog", "pull", "hand", "latency", "slow", "orderly", "join", "leave", "crash", "idle"}, ",")
