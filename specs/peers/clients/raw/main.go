// Command raw is no client: one connection, one outstanding pull for each queue, nothing decoded. It shows what the broker gives.
package main

import (
	"context"
	"log"
	"time"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/specs/peers/report"
)

func main() {
	t := report.Flags()
	client := remoting.NewClient(remoting.ClientConfig{})
	ctx := context.Background()
	ask := wire.NewRequest(wire.GetRouteInfoByTopic)
	ask.Ext.Set("topic", t.Topic)
	answer, err := client.Call(ctx, t.NameServer, ask)
	if err != nil {
		log.Fatal(err)
	}
	data, err := wire.DecodeTopicRouteData(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	route := data.Route(t.Topic)
	addr := route.GetBrokers()[0].GetAddresses()[0]
	r := report.Start(t)
	r.Ready()
	for q := range route.GetQueues()[0].GetReadQueues() {
		pull(client, addr, t, q, 0, r)
	}
	r.Wait()
}

func pull(client *remoting.Client, addr string, t *report.Task, queue int32, offset int64, r *report.Run) {
	cmd := wire.NewRequest(wire.PullMessage)
	h := wire.PullRequestHeader{
		Group: t.Group, Topic: t.Topic, QueueID: queue, QueueOffset: offset, MaxMessages: 32, SysFlag: wire.PullSuspend | wire.PullSubscription,
		SuspendMillis: 15000, Subscription: "*", ExpressionType: "TAG",
	}
	h.AppendTo(&cmd.Ext)
	client.Start(addr, cmd, 30*time.Second, func(answer *wire.Command, err error) {
		if err != nil {
			log.Fatal(err)
		}
		var got wire.PullResponseHeader
		if err := got.ReadFrom(&answer.Ext); err != nil {
			log.Fatal(err)
		}
		if answer.Code == int32(wire.Success) {
			for range got.NextBeginOffset - offset {
				r.Message(nil)
			}
		}
		pull(client, addr, t, queue, got.NextBeginOffset, r)
	})
}
