// Command gopeer consumes with rocketmq-client-go.
package main

import (
	"context"
	"log"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/troupe-mq/troupe/specs/peers/report"
)

func main() {
	t := report.Flags()
	if t.Idle == 0 {
		rlog.SetLogLevel("fatal")
	}
	r := report.Start(t)
	if t.Pull != "" {
		poll(t, r)
		return
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer([]string{t.NameServer}), consumer.WithGroupName(t.Group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithConsumerOrder(t.Orderly),
	)
	if err != nil {
		log.Fatal(err)
	}
	err = c.Subscribe(t.Topic, consumer.MessageSelector{}, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			r.Message(m.Queue.QueueId, m.Body)
		}
		return consumer.ConsumeSuccess, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Start(); err != nil {
		log.Fatal(err)
	}
	r.Ready()
	r.Wait()
	if !t.Member { // this client may take long to stop, and only a group of several needs to know
		return
	}
	if err := c.Shutdown(); err != nil {
		log.Fatal(err)
	}
	r.Stopped()
}

// poll is the loop of this client's pull consumer: it ends with the process.
func poll(t *report.Task, r *report.Run) {
	c, err := rocketmq.NewPullConsumer(
		consumer.WithNameServer([]string{t.NameServer}), consumer.WithGroupName(t.Group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Subscribe(t.Topic, consumer.MessageSelector{}); err != nil {
		log.Fatal(err)
	}
	if err := c.Start(); err != nil {
		log.Fatal(err)
	}
	r.Ready()
	go func() {
		ctx := context.Background()
		for {
			request, err := c.Poll(ctx, time.Second)
			if consumer.IsNoNewMsgError(err) {
				continue
			}
			if err != nil {
				log.Fatal(err)
			}
			for _, m := range request.GetMsgList() {
				r.Message(m.Queue.QueueId, m.Body)
			}
			c.ACK(ctx, request, consumer.ConsumeSuccess)
		}
	}()
	r.Wait()
}
