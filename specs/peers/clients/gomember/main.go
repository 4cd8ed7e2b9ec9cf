// Command gomember is a member of a group with rocketmq-client-go: it prints "ready", and the body of each message it gets as "message
// BODY", until standard input ends; then it leaves the group.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func main() {
	nameServer := flag.String("nameserver", "", "host:port")
	group := flag.String("group", "", "")
	topic := flag.String("topic", "", "")
	instance := flag.String("instance", "", "")
	strategy := flag.String("strategy", "averagely", "averagely, circle, config")
	queues := flag.String("queues", "", "of config: TOPIC:BROKER:ID,...")
	flag.Parse()
	rlog.SetLogLevel("fatal")
	allocate := map[string]consumer.AllocateStrategy{
		"averagely": consumer.AllocateByAveragely, "circle": consumer.AllocateByAveragelyCircle, "config": consumer.AllocateByConfig(parse(*queues)),
	}[*strategy]
	if allocate == nil {
		log.Fatalf("unknown strategy %q", *strategy)
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer([]string{*nameServer}), consumer.WithGroupName(*group), consumer.WithInstance(*instance),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithStrategy(allocate),
	)
	if err != nil {
		log.Fatal(err)
	}
	var mu sync.Mutex
	say := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Println(line) // without a reader nobody wants it
	}
	err = c.Subscribe(*topic, consumer.MessageSelector{}, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			say("message " + string(m.Body))
		}
		return consumer.ConsumeSuccess, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Start(); err != nil {
		log.Fatal(err)
	}
	say("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		log.Fatal(err)
	}
	if err := c.Shutdown(); err != nil {
		log.Fatal(err)
	}
}

func parse(list string) (queues []*primitive.MessageQueue) {
	for q := range strings.SplitSeq(list, ",") {
		part := strings.Split(q, ":")
		if len(part) != 3 {
			continue
		}
		id, err := strconv.Atoi(part[2])
		if err != nil {
			log.Fatal(err)
		}
		queues = append(queues, &primitive.MessageQueue{Topic: part[0], BrokerName: part[1], QueueId: id})
	}
	return queues
}
