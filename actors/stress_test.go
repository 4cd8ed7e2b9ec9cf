package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors/linktest"
	"github.com/troupe-mq/troupe/messages"
)

// ledger knows of every message whether it was settled, and checks every commit against that.
type ledger struct {
	mu     sync.Mutex
	done   map[messages.QueueKey]map[int64]bool
	tooFar []string
	// succeeded are the bodies of messages whose handler succeeded.
	succeeded map[string]bool
}

// settle notes a success, or a failure whose hand-back settles the message.
func (l *ledger) settle(m *messages.Message, success bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if success {
		l.succeeded[string(m.GetBody())] = true
	}
	key := linktest.Key(m.GetTopic(), m.GetBroker(), m.GetQueueId())
	if l.done[key] == nil {
		l.done[key] = make(map[int64]bool)
	}
	l.done[key][m.GetQueueOffset()] = true
}

// committed notes a commit beyond a message that nobody settled.
func (l *ledger) committed(key messages.QueueKey, offset int64) {
	if key.Topic != "orders" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for o := range offset {
		if !l.done[key][o] {
			l.tooFar = append(l.tooFar, fmt.Sprintf("%s committed to %d, but %d is not settled", key, offset, o))
			return
		}
	}
}

var _ = Describe("Two clients under random faults", func() {
	for seed := range uint64(30) {
		It(fmt.Sprintf("handle everything at least once and commit nothing unsettled, seed %d", seed), func() {
			bubble(func() { stress(seed) })
		})
	}
})

func stress(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	var mu sync.Mutex
	chance := func(percent int) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(100) < percent
	}
	below := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	cluster, book := linktest.New(), &ledger{done: make(map[messages.QueueKey]map[int64]bool), succeeded: make(map[string]bool)}
	cluster.Topic("orders", 4, "a", "b")
	var keys []messages.QueueKey
	for _, broker := range []string{"a", "b"} {
		for id := range int32(4) {
			keys = append(keys, linktest.Key("orders", broker, id))
		}
	}
	var evil atomic.Bool
	evil.Store(true)
	fault := func(linktest.Call) *linktest.Answer {
		switch {
		case !evil.Load() || !chance(12):
			return nil
		case chance(25):
			return &linktest.Answer{Silent: true}
		case chance(25):
			return &linktest.Answer{Panic: "scripted"}
		case chance(40):
			return &linktest.Answer{Delay: time.Duration(below(3000)) * time.Millisecond}
		}
		return &linktest.Answer{Err: linktest.Refusal(int32([]int{1, 2, 24, 26, 215}[below(5)]))}
	}
	for _, op := range []linktest.Op{
		linktest.Route, linktest.Heartbeat, linktest.Members, linktest.Committed, linktest.Pull, linktest.SendBack,
		linktest.Send, linktest.MinOffset, linktest.Commit,
	} {
		cluster.On(op, fault)
	}
	cluster.On(linktest.Decode, func(linktest.Call) *linktest.Answer {
		if evil.Load() && chance(2) {
			return &linktest.Answer{Panic: "scripted"}
		}
		return nil
	})
	cluster.On(linktest.Commit, func(c linktest.Call) *linktest.Answer { book.committed(c.Queue, c.Offset); return nil })
	cluster.On(linktest.Pull, func(c linktest.Call) *linktest.Answer {
		if r := c.Request.(*messages.PullRequest); r.GetCommit() {
			book.committed(c.Queue, r.GetCommitOffset())
		}
		if evil.Load() && c.Offset > 5 && chance(3) { // sent back to where nothing unsettled is left out
			return &linktest.Answer{Value: &messages.PullReply{
				Status: messages.PullStatus_PULL_STATUS_OFFSET_ILLEGAL, NextOffset: max(0, min(c.Offset, cluster.Offset(group, c.Queue))),
			}}
		}
		return nil
	})
	join := func(id string) *stage {
		s := newStageOn(cluster, id, "orders")
		g := s.spec.Groups[0]
		g.Limits.Messages, g.Workers, g.MaxReconsumes, g.RevokeGrace = 64, 6, 1000, 2*time.Second
		s.handle(func(ctx context.Context, m *messages.Message) error {
			if d := below(40); d > 20 {
				select {
				case <-time.After(time.Duration(d) * 10 * time.Millisecond):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			if evil.Load() && m.GetReconsumeTimes() == 0 {
				if chance(2) {
					book.settle(m, false)
					panic("scripted")
				}
			}
			book.settle(m, true)
			return nil
		})
		return s.start()
	}
	one := join("one")
	var two *stage
	for range 40 {
		cluster.Fill(keys[below(len(keys))], below(60))
		one.pass(time.Duration(below(4000)) * time.Millisecond)
		switch below(5) {
		case 0:
			if two == nil {
				two = join("two")
			} else {
				_, took := two.stop(time.Duration(below(3000)) * time.Millisecond)
				Expect(took).To(BeNumerically("<=", 15*time.Second))
				two = nil
			}
			cluster.Notify(group)
		case 1:
			cluster.Reconnected(linktest.Address("a"))
		case 2:
			cluster.Notify(group)
		}
	}
	evil.Store(false)
	one.pass(5 * time.Minute)
	for _, key := range keys {
		if cluster.Max(key) > 0 {
			Expect(cluster.Offset(group, key)).To(Equal(cluster.Max(key)), key.String())
		}
	}
	for _, key := range keys {
		for o := range cluster.Max(key) {
			body := fmt.Sprintf("%s/%d", key, o)
			Expect(book.succeeded[body]).To(BeTrue(), body)
		}
	}
	one.stop(time.Second)
	if two != nil {
		two.stop(time.Second)
	}
	Expect(book.tooFar).To(BeEmpty())
}
