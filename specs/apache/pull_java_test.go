package apache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// pullStage is a topic of one queue with 40 messages, of which every fourth has the tag paid, and a group of its own.
type pullStage struct {
	cluster      *apachebroker.Cluster
	version      apachebroker.Version
	topic, group string
}

func newPullStage(ctx context.Context, v apachebroker.Version, c *apachebroker.Cluster) *pullStage {
	GinkgoHelper()
	s := &pullStage{cluster: c, version: v, topic: unique("Pulled"), group: unique("PulledGroup")}
	Expect(c.CreateTopic(ctx, s.topic, 1)).To(Succeed())
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{c.NameServer()}}, troupe.Config{})
	Expect(err).NotTo(HaveOccurred())
	Expect(rt.Start(ctx)).To(Succeed())
	p := rt.Publisher(troupe.PublisherConfig{})
	for i := range 40 {
		m := troupe.NewMessage(s.topic, fmt.Append(nil, i))
		if i%4 == 0 {
			m.WithTag("paid")
		}
		_, err := p.Send(ctx, m)
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(rt.Shutdown(ctx)).To(Succeed())
	return s
}

// java runs a script in Java and gives its answers, and what the broker has for the group when the program has stopped.
func (s *pullStage) java(ctx context.Context, script string, args ...string) (answers []string, stored int64) {
	GinkgoHelper()
	args = append([]string{"--nameserver", s.cluster.NameServer(), "--group", s.group, "--topic", s.topic, "--script", script}, args...)
	p := javaPeer(ctx, s.version, "Puller", args...)
	events, err := p.Await(ctx, "answer", len(strings.Split(script, ";")))
	Expect(err).NotTo(HaveOccurred(), p.Output())
	for _, e := range events {
		answers = append(answers, strings.ReplaceAll(e.Body, s.topic, "TOPIC"))
	}
	Expect(p.Stop(ctx)).To(Succeed())
	return answers, s.stored(ctx)
}

// stored is what the broker has for the group in the queue; -1 for nothing.
func (s *pullStage) stored(ctx context.Context) int64 {
	GinkgoHelper()
	answer, err := apachebroker.Call(ctx, s.cluster.BrokerAddr(), apachebroker.Request{Code: 14, Header: map[string]string{
		"consumerGroup": s.group, "topic": s.topic, "queueId": "0", "setZeroIfNotFound": "false",
	}})
	Expect(err).NotTo(HaveOccurred())
	if answer.Code != 0 {
		return -1
	}
	var offset int64
	_, err = fmt.Sscan(answer.Header["offset"], &offset)
	Expect(err).NotTo(HaveOccurred())
	return offset
}

// ours runs a script with a pull group.
func (s *pullStage) ours(ctx context.Context, script string, args ...string) (answers []string, stored int64) {
	GinkgoHelper()
	with := func(name, value string) bool {
		i := slices.Index(args, "--"+name)
		return i >= 0 && args[i+1] == value
	}
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{s.cluster.NameServer()}}, troupe.Config{OffsetPersistInterval: 500 * time.Millisecond})
	Expect(err).NotTo(HaveOccurred())
	cfg := troupe.PullConfig{ConsumeFrom: troupe.FirstOffset, ManualCommit: with("autocommit", "false"), PullBatch: 10, RevokeGrace: 100 * time.Millisecond}
	if with("from", "last") {
		cfg.ConsumeFrom = troupe.LastOffset
	}
	g := rt.Pull(s.group, cfg)
	if !with("kind", "classic") && !strings.HasPrefix(script, "assign") {
		Expect(g.Subscribe(s.topic, troupe.AllTags())).To(Succeed())
	}
	Expect(rt.Start(ctx)).To(Succeed())
	queues, err := g.Queues(ctx, s.topic)
	Expect(err).NotTo(HaveOccurred())
	p := &scriptedGroup{PullGroup: g, q: queues[0]}
	for step := range strings.SplitSeq(script, ";") {
		step = strings.TrimSpace(step)
		answer, err := p.step(ctx, strings.Fields(step))
		if err != nil {
			answer = "failed: " + err.Error()
		}
		answers = append(answers, step+" -> "+answer)
	}
	Expect(rt.Shutdown(ctx)).To(Succeed())
	return answers, s.stored(ctx)
}

// scriptedGroup answers steps in the words of the Java program.
type scriptedGroup struct {
	*troupe.PullGroup
	q    *troupe.Queue
	last *troupe.Message
}

func (p *scriptedGroup) step(ctx context.Context, w []string) (string, error) {
	number := func(i int) int64 {
		n, err := strconv.ParseInt(w[i], 10, 64)
		Expect(err).NotTo(HaveOccurred())
		return n
	}
	offset := func(at int64, err error) (string, error) { return fmt.Sprint(at), err }
	switch w[0] {
	case "sleep":
		timer := time.NewTimer(time.Duration(number(1)) * time.Millisecond)
		<-timer.C
		return "slept", nil
	case "assign":
		return "assigned", p.Assign(troupe.AllTags(), p.q)
	case "poll":
		return p.poll(ctx, 1, 10*time.Second)
	case "idle":
		return p.poll(ctx, 1<<30, time.Duration(number(1))*time.Millisecond)
	case "commit":
		return "committed", p.CommitAll(ctx)
	case "committed":
		return offset(p.FetchCommitted(ctx, p.q, troupe.MemoryThenStore))
	case "seek":
		return "sought", p.Seek(ctx, p.q, number(2))
	case "begin":
		return "sought", p.SeekToBegin(ctx)
	case "end":
		return "sought", p.SeekToEnd(ctx)
	case "pause":
		p.Pause(p.q)
		return "paused", nil
	case "resume":
		p.Resume(p.q)
		return "resumed", nil
	case "pull":
		filter := troupe.AllTags()
		if len(w) > 4 {
			filter = troupe.Tags(w[4])
		}
		r, err := p.Pull(ctx, p.q, filter, number(2), int(number(3)))
		if len(r.Messages) > 0 {
			p.last = r.Messages[len(r.Messages)-1]
		}
		status := map[troupe.PullStatus]string{
			troupe.Found: "FOUND", troupe.NoNewMessage: "NO_NEW_MSG", troupe.NoMatchedMessage: "NO_MATCHED_MSG", troupe.OffsetIllegal: "OFFSET_ILLEGAL",
		}[r.Status]
		return fmt.Sprintf("%s %d next %d min %d max %d", status, len(r.Messages), r.NextOffset, r.MinOffset, r.MaxOffset), err
	case "min":
		return offset(p.MinOffset(ctx, p.q))
	case "max":
		return offset(p.MaxOffset(ctx, p.q))
	case "update":
		return "updated", p.UpdateCommitted(ctx, p.q, number(2))
	case "fetch":
		from := troupe.MemoryThenStore
		if w[2] == "store" {
			from = troupe.FromStore
		}
		return offset(p.FetchCommitted(ctx, p.q, from))
	case "persist":
		return "persisted", p.StoreCommitted(ctx, p.q)
	case "back":
		return "sent", p.SendBack(ctx, p.last, map[int64]time.Duration{3: 10 * time.Second, -1: -1}[number(1)])
	}
	return "", fmt.Errorf("unknown step %s", w[0])
}

func (p *scriptedGroup) poll(ctx context.Context, want int, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var offsets []int64
	for len(offsets) < want {
		batch, err := p.Poll(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return "", err
		}
		for _, m := range batch.Messages {
			offsets = append(offsets, m.GetQueueOffset())
		}
	}
	if len(offsets) == 0 {
		return "nothing", nil
	}
	return fmt.Sprintf("%d from %d to %d", len(offsets), offsets[0], offsets[len(offsets)-1]), nil
}

// What Java's pull consumers were seen to answer, by 4.9.7, 5.3.3 and 5.5.0 alike, and what was stored in the end. Java itself is run on one release.
var _ = onEveryVersion("A pull consumer that does what a script says", func(v apachebroker.Version, cluster func(context.Context) *apachebroker.Cluster) {
	DescribeTable("answers as Java does", Label("A49", "A50"), func(ctx SpecContext, script string, answers []string, stored int64, args ...string) {
		var want []string
		for i, step := range strings.Split(script, ";") {
			want = append(want, strings.TrimSpace(step)+" -> "+answers[i])
		}
		if v == apachebroker.V5_3_3 {
			s := newPullStage(ctx, v, cluster(ctx))
			got, left := s.java(ctx, script, args...)
			Expect(got).To(Equal(want), "Java")
			Expect(left).To(Equal(stored), "Java")
		}
		s := newPullStage(ctx, v, cluster(ctx))
		got, left := s.ours(ctx, script, args...)
		Expect(got).To(Equal(want))
		Expect(left).To(Equal(stored))
	},
		Entry("commits what a poll gave when the program polls again", SpecTimeout(2*time.Minute), "poll; sleep 2500; poll; committed 0",
			[]string{"10 from 0 to 9", "slept", "10 from 10 to 19", "10"}, int64(10)),
		Entry("commits nothing by itself if it is not to", SpecTimeout(2*time.Minute), "poll; sleep 2500; poll; committed 0",
			[]string{"10 from 0 to 9", "slept", "10 from 10 to 19", "0"}, int64(0), "--autocommit", "false"),
		Entry("commits when it is told to", SpecTimeout(2*time.Minute), "poll; commit; committed 0",
			[]string{"10 from 0 to 9", "committed", "10"}, int64(10), "--autocommit", "false"),
		Entry("moves with a seek what it reads, not what is committed", SpecTimeout(2*time.Minute),
			"poll; commit; seek 0 20; sleep 2000; committed 0; poll; committed 0; commit; committed 0",
			[]string{"10 from 0 to 9", "committed", "sought", "slept", "10", "10 from 20 to 29", "10", "committed", "30"}, int64(30), "--autocommit", "false"),
		Entry("commits a seek to the end when it is told to", SpecTimeout(2*time.Minute), "poll; begin 0; poll; end 0; idle 1500; commit; committed 0",
			[]string{"10 from 0 to 9", "sought", "10 from 0 to 9", "sought", "nothing", "committed", "40"}, int64(40), "--autocommit", "false"),
		Entry("commits a seek by itself", SpecTimeout(2*time.Minute), "poll; seek 0 30; sleep 2500; poll; sleep 2500; committed 0",
			[]string{"10 from 0 to 9", "sought", "slept", "10 from 30 to 39", "slept", "30"}, int64(30)),
		Entry("consumes what it was assigned", SpecTimeout(2*time.Minute), "assign 0; poll; commit; committed 0",
			[]string{"assigned", "10 from 0 to 9", "committed", "10"}, int64(10), "--autocommit", "false"),
		Entry("begins a young topic at its beginning, as the broker says", Label("A02"), SpecTimeout(2*time.Minute), "poll; idle 1000",
			[]string{"10 from 0 to 9", "30 from 10 to 39"}, int64(0), "--from", "last", "--autocommit", "false"),
		Entry("gives the four statuses", SpecTimeout(2*time.Minute),
			"pull 0 5 10; pull 0 40 10; pull 0 0 10 none; pull 0 0 10 paid; pull 0 1000 10; pull 0 0 32; min 0; max 0", []string{
				"FOUND 10 next 15 min 0 max 40", "NO_NEW_MSG 0 next 40 min 0 max 40", "NO_MATCHED_MSG 0 next 40 min 0 max 40",
				"FOUND 10 next 37 min 0 max 40", "OFFSET_ILLEGAL 0 next 40 min 0 max 40", "FOUND 32 next 32 min 0 max 40", "0", "40",
			}, nothingStored(v), "--kind", "classic"),
	)

	It("keeps what waits of a paused queue to itself, which Java hands out; and stores what is committed by hand, which Java does not", func(ctx SpecContext) {
		s := newPullStage(ctx, v, cluster(ctx))
		script, committing := "poll; sleep 1000; pause 0; idle 1500; resume 0; idle 2500", "update 0 7; fetch 0 memory; fetch 0 store; sleep 2500; fetch 0 store"
		got, _ := s.ours(ctx, script)
		Expect(got[3:]).To(Equal([]string{"idle 1500 -> nothing", "resume 0 -> resumed", "idle 2500 -> 30 from 10 to 39"}))
		got, left := newPullStage(ctx, v, cluster(ctx)).ours(ctx, committing, "--kind", "classic")
		Expect(got[1:]).To(Equal([]string{"fetch 0 memory -> 7", "fetch 0 store -> 0", "sleep 2500 -> slept", "fetch 0 store -> 7"}))
		Expect(left).To(Equal(int64(7)))
		if v == apachebroker.V5_3_3 {
			got, _ = newPullStage(ctx, v, cluster(ctx)).java(ctx, script)
			Expect(got[3:]).To(Equal([]string{"idle 1500 -> 30 from 10 to 39", "resume 0 -> resumed", "idle 2500 -> nothing"}))
			got, _ = newPullStage(ctx, v, cluster(ctx)).java(ctx, committing, "--kind", "classic")
			Expect(got[1:]).To(Equal([]string{"fetch 0 memory -> 7", "fetch 0 store -> 0", "sleep 2500 -> slept", "fetch 0 store -> 0"}))
		}
	}, SpecTimeout(3*time.Minute))
})

// nothingStored is what a broker says of a group that it does not know in a young queue, if it is not to say 0.
func nothingStored(v apachebroker.Version) int64 {
	if v.Modern() {
		return -1
	}
	return 0
}
