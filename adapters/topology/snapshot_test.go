package topology_test

import "github.com/troupe-mq/troupe/messages"

// snapshot is a client with one group on one queue, whose puller was restarted, with names that need escaping.
func snapshot() *messages.Topology {
	return &messages.Topology{
		ClientId: "10.0.0.7@1#ab", TakenAt: 1_700_000_000_123, MaxAgeMillis: 1000,
		Actors: []*messages.ActorSnapshot{
			{Id: "client", Role: "ClientInstance", State: messages.ActorState_ACTOR_STATE_IDLE, Processed: 4},
			{Id: "client/routes", Parent: "client", Role: "RouteKeeper", State: messages.ActorState_ACTOR_STATE_BUSY, Processed: 7,
				MailboxDepth: 2, InTurnMillis: 1500, Facts: []*messages.Fact{{Name: "topics", Value: "2"}}},
			{Id: "client/group-g", Parent: "client", Role: "ConsumerGroup", State: messages.ActorState_ACTOR_STATE_IDLE, Phase: "running"},
			{Id: `client/group-g/%RETRY%g@"b\a<1>":0`, Parent: "client/group-g", Role: "AssignedQueue", Restarts: 2,
				State:       messages.ActorState_ACTOR_STATE_RESTARTING,
				LastFailure: &messages.ActorFailure{Reason: "boom", Message: "Pulled"}},
			{Id: "elsewhere", Parent: "not in the snapshot", Role: "Orphan", State: messages.ActorState_ACTOR_STATE_STOPPING},
		},
		Groups: []*messages.GroupFacts{
			{Group: "g", Phase: "running", Members: []string{"a", "b"}, Workers: 20, WorkersBusy: 3, RetriesInFlight: 1,
				Queues: []*messages.QueueFacts{{
					Queue: &messages.Queue{Topic: "orders", Broker: "broker-a", Id: 3}, Phase: "consuming", Waiting: "no credit",
					NextOffset: 2011, CommittedOffset: 11, BrokerMaxOffset: 5000, Lag: 4989, CachedMessages: 1, InFlight: 1, Failed: 6,
					OldestAgeMillis: 61_000,
				}}},
			{Group: "empty", Phase: "starting", Workers: 1},
			{Group: "index", Phase: "running", Members: []string{"a"},
				Polls: &messages.PollFacts{Waiting: 1, Messages: 640, Queues: 2, Unfinished: 3, LastPollAt: 1_700_000_000_023},
				Queues: []*messages.QueueFacts{{
					Queue: &messages.Queue{Topic: "orders", Broker: "broker-a", Id: 4}, Phase: "running", NextOffset: 700, CommittedOffset: 64,
					Position: 96, BrokerMaxOffset: 5000, Lag: 4936, CachedMessages: 604, Unfinished: 1,
				}}},
		},
		Connections: []*messages.ConnectionFacts{
			{Address: "127.0.0.1:9876", Role: "name server", Up: true},
			{Address: "127.0.0.1:10911", Role: "broker", Pending: 4, LastError: "connection reset"},
		},
		Directives: map[string]int64{"offset corrected": 2, "actor restarted": 1},
	}
}
