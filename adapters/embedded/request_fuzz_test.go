package embedded_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// FuzzRequest sends requests that make no sense. Each must be answered, or be held as a pull may be, and none by a crash:
// remoting answers a panic with its text.
func FuzzRequest(f *testing.F) {
	for _, c := range []wire.RequestCode{
		wire.PullMessage, wire.SendMessageV2, wire.SendBatchMessage, wire.HeartBeat, wire.ConsumerSendMsgBack, wire.UpdateConsumerOffset,
		wire.SearchOffsetByTimestamp, wire.LockBatchMQ, wire.GetRouteInfoByTopic, wire.InvokeBrokerToResetOffset, wire.GetConsumeStats,
		wire.UpdateAndCreateTopic, wire.ViewMessageByID, wire.GetTopicStatsInfo, wire.CheckClientConfig,
	} {
		f.Add(int32(c), "Orders", "billing", int64(1), "*", []byte(`{"clientID":"a","consumerDataSet":[{"groupName":"billing"}]}`))
		f.Add(int32(c), "%RETRY%billing", "", int64(-1), "TAGS\x01a\x02DELAY\x0199\x02", []byte("\x00\x00\x00\x16"))
	}
	network := memnet.New()
	l, err := network.Listen(brokerAddr)
	if err != nil {
		f.Fatal(err)
	}
	broker, err := embedded.Start(context.Background(), embedded.Config{Listener: l, RetainBytes: 8 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = broker.Close() })
	client := remoting.NewClient(remoting.ClientConfig{Dial: network.Dial})
	f.Cleanup(func() { _ = client.Close() })
	f.Fuzz(func(t *testing.T, kind int32, topic, group string, n int64, text string, body []byte) {
		cmd := wire.NewRequest(wire.RequestCode(kind))
		number := strconv.FormatInt(n, 10)
		for _, name := range []string{"topic", "b"} {
			cmd.Ext.Set(name, topic)
		}
		for _, name := range []string{"consumerGroup", "group", "groupName", "producerGroup", "a"} {
			cmd.Ext.Set(name, group)
		}
		for _, name := range []string{"c", "i", "subscription", "boundaryType", "clientID", "namespace", "key", "value", "topicFilterType", "defaultTopic"} {
			cmd.Ext.Set(name, text)
		}
		for _, name := range []string{
			"queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset", "subVersion", "d", "e", "f", "g", "h", "j", "l", "offset", "delayLevel",
			"maxReconsumeTimes", "timestamp", "readQueueNums", "writeQueueNums", "perm",
		} {
			cmd.Ext.Set(name, number)
		}
		cmd.Ext.Set("suspendTimeoutMillis", "0")
		cmd.Body = body
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		answer, err := client.Call(ctx, broker.Addr(), cmd)
		if err != nil {
			if kind == int32(wire.PullMessage) || kind == int32(wire.LitePullMessage) || errors.Is(err, wire.ErrFrameTooLarge) {
				return
			}
			t.Fatal(err)
		}
		if strings.Contains(answer.Remark, "runtime error") {
			t.Fatalf("%d: %s", kind, answer.Remark)
		}
	})
}
