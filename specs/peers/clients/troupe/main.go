// Command troupe consumes with Troupe.
package main

import (
	"context"
	"log"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/peers/report"
)

func main() {
	t := report.Flags()
	r := report.Start(t)
	var options []troupe.Option
	if t.Idle > 0 { // the others log without being asked
		options = append(options, troupe.WithLogger(logrus.New()))
	}
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{t.NameServer}}, troupe.Config{}, options...)
	if err != nil {
		log.Fatal(err)
	}
	started := make(chan struct{})
	handle := func(_ context.Context, m *troupe.Message) error {
		r.Message(int(m.GetQueueId()), m.Body)
		return nil
	}
	switch {
	case t.Pull != "":
		g := rt.Pull(t.Group, troupe.PullConfig{ConsumeFrom: troupe.FirstOffset})
		loop := poll
		if t.Pull == "hand" {
			loop = byHand
		} else if err := g.Subscribe(t.Topic, troupe.AllTags()); err != nil {
			log.Fatal(err)
		}
		go func() { <-started; loop(t, g, r) }()
	case t.Orderly:
		rt.Orderly(t.Group, troupe.OrderlyConfig{ConsumeFrom: troupe.FirstOffset}).Handle(t.Topic, troupe.AllTags(), handle)
	default:
		rt.Concurrent(t.Group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(t.Topic, troupe.AllTags(), handle)
	}
	if err := rt.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	close(started)
	r.Ready()
	r.Wait()
	if err := rt.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	r.Stopped()
}

// poll is the loop of a managed pull group.
func poll(_ *report.Task, g *troupe.PullGroup, r *report.Run) {
	for batch, err := range g.Batches(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range batch.Messages {
			r.Message(int(m.GetQueueId()), m.Body)
		}
	}
}

// byHand is a loop for each queue, as with the classic pull consumer.
func byHand(t *report.Task, g *troupe.PullGroup, r *report.Run) {
	ctx := context.Background()
	queues, err := g.Queues(ctx, t.Topic)
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range queues {
		go func() {
			for offset := int64(0); ; {
				got, err := g.PullBlock(ctx, q, troupe.AllTags(), offset, 32)
				if err != nil {
					return // shut down
				}
				for _, m := range got.Messages {
					r.Message(int(m.GetQueueId()), m.Body)
				}
				offset = got.NextOffset
			}
		}()
	}
}
