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
	handle := func(_ context.Context, m *troupe.Message) error {
		r.Message(int(m.GetQueueId()), m.Body)
		return nil
	}
	if t.Orderly {
		rt.Orderly(t.Group, troupe.OrderlyConfig{ConsumeFrom: troupe.FirstOffset}).Handle(t.Topic, troupe.AllTags(), handle)
	} else {
		rt.Concurrent(t.Group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).Handle(t.Topic, troupe.AllTags(), handle)
	}
	if err := rt.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	r.Ready()
	r.Wait()
	if err := rt.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	r.Stopped()
}
