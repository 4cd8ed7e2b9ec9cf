// Command troupe consumes with Troupe.
package main

import (
	"context"
	"log"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/peers/report"
)

func main() {
	t := report.Flags()
	r := report.Start(t)
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{t.NameServer}}, troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	g := rt.Concurrent(t.Group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
	g.Handle(t.Topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
		r.Message(m.Body)
		return nil
	})
	if err := rt.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	r.Ready()
	r.Wait()
	if err := rt.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
}
