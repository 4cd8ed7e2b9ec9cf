package topology_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/topology"
	"github.com/troupe-mq/troupe/messages"
)

func render(format string, t *messages.Topology) string {
	GinkgoHelper()
	text, err := topology.Render(format, t)
	Expect(err).NotTo(HaveOccurred())
	return text
}

func lines(ls ...string) string { return strings.Join(ls, "\n") }

var _ = Describe("A snapshot of the living tree", func() {
	It("is drawn as text: actors with guide lines, queues, connections, events", func() {
		Expect(render("tree", snapshot())).To(Equal(lines(
			`10.0.0.7@1#ab at 22:13:20.123`,
			`client [ClientInstance] idle, 4 done`,
			`├─ routes [RouteKeeper] busy, 7 done, 2 waiting, topics 2, STUCK in a turn for 1500 ms`,
			`└─ group-g [ConsumerGroup] running, 0 done`,
			`   └─ %RETRY%g@"b\a<1>":0 [AssignedQueue] restarting, 0 done, 2 restarts, last: boom on Pulled`,
			`elsewhere [Orphan] stopping, 0 done`,
			``,
			`group g: running, 2 members, 3 of 20 workers busy, 1 hand-backs under way`,
			`  queue              committed       next broker max      lag  cached running  failed  state`,
			`  orders@broker-a/3         11       2011       5000     4989       1       1       6  consuming, no credit, oldest in flight for 1m1s`,
			``,
			`group empty: starting, 0 members, 0 of 1 workers busy`,
			``,
			`group index: running, 1 members, 640 messages of 2 queues wait to be polled, 1 in Poll, 3 batches unfinished, polled 100ms ago`,
			`  queue              committed   position       next broker max      lag  cached unfinished  state`,
			`  orders@broker-a/4         64         96        700       5000     4936     604          1  running`,
			``,
			`connections`,
			`  127.0.0.1:9876        name server up   pending 0`,
			`  127.0.0.1:10911       broker      down pending 4  connection reset`,
			``,
			`events`,
			`  actor restarted        1`,
			`  offset corrected       2`,
		)))
	})

	It("is drawn as a Mermaid flowchart in which no name breaks the syntax", func() {
		Expect(render("mermaid", snapshot())).To(Equal(lines(
			`flowchart TD`,
			`  n0["ClientInstance<br/>client<br/>idle, 4 done"]`,
			`  n1["RouteKeeper<br/>routes<br/>busy, 7 done"]:::busy`,
			`  n2["ConsumerGroup<br/>group-g<br/>running, 0 done"]`,
			`  n3["AssignedQueue<br/>#37;RETRY#37;g@#quot;b\a#lt;1#gt;#quot;:0<br/>restarting, 0 done<br/>2 restarts"]:::failed`,
			`  n4["Orphan<br/>elsewhere<br/>stopping, 0 done"]`,
			`  n0 --> n1`,
			`  n0 --> n2`,
			`  n2 --> n3`,
			`  classDef busy fill:#dff0d8`,
			`  classDef failed fill:#f2dede`,
		)))
	})

	It("is drawn for Graphviz in which no name breaks the syntax", func() {
		Expect(render("dot", snapshot())).To(Equal(lines(
			`digraph troupe {`,
			`  rankdir=LR;`,
			`  node [shape=box, style=filled, fillcolor=white, fontname="Helvetica"];`,
			`  n0 [label="ClientInstance\nclient\nidle, 4 done"];`,
			`  n1 [label="RouteKeeper\nroutes\nbusy, 7 done", fillcolor="#dff0d8"];`,
			`  n2 [label="ConsumerGroup\ngroup-g\nrunning, 0 done"];`,
			`  n3 [label="AssignedQueue\n%RETRY%g@\"b\\a<1>\":0\nrestarting, 0 done\n2 restarts", fillcolor="#f2dede"];`,
			`  n4 [label="Orphan\nelsewhere\nstopping, 0 done"];`,
			`  n0 -> n1;`,
			`  n0 -> n2;`,
			`  n2 -> n3;`,
			`}`,
		)))
	})

	It("is written as compact JSON with the names of the protobuf schema, the same each time", func() {
		small := &messages.Topology{ClientId: "c", TakenAt: 5, Directives: map[string]int64{"b": 2, "a": 1},
			Actors: []*messages.ActorSnapshot{{Id: "client", State: messages.ActorState_ACTOR_STATE_IDLE, MailboxDepth: 3}}}
		for range 20 {
			Expect(render("json", small)).To(Equal(
				`{"client_id":"c","taken_at":"5","actors":[{"id":"client","state":"ACTOR_STATE_IDLE","mailbox_depth":"3"}],"directives":{"a":"1","b":"2"}}`))
		}
	})

	It("may be empty", func() {
		Expect(render("tree", &messages.Topology{})).To(Equal(" at 00:00:00.000"))
		Expect(render("json", &messages.Topology{})).To(Equal("{}"))
		Expect(render("dot", &messages.Topology{})).To(HaveSuffix("}"))
		Expect(render("mermaid", &messages.Topology{})).To(HavePrefix("flowchart TD\n"))
	})

	It("names the formats when asked for another one", func() {
		_, err := topology.Render("svg", snapshot())
		Expect(err).To(MatchError(`format "svg": must be one of tree, json, mermaid, dot`))
	})
})
