package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// peer is a client that speaks the protocol and nothing more.
type peer struct {
	client *remoting.Client
	addr   string
	id     string
	pushed chan *wire.Command // what the broker asked of its own accord
	lost   chan error
	reply  atomic.Pointer[func(*wire.Command) *wire.Command] // what the client says to what was pushed; nil: nothing
}

// answers sets what the client says to what the broker asks.
func (p *peer) answers(reply func(*wire.Command) *wire.Command) { p.reply.Store(&reply) }

// newPeer makes a client of a server; network nil is TCP.
func newPeer(addr, id string, network *memnet.Network) *peer {
	p := &peer{addr: addr, id: id, pushed: make(chan *wire.Command, 64), lost: make(chan error, 64)}
	cfg := remoting.ClientConfig{
		Requests: func(_ context.Context, _ string, cmd *wire.Command) *wire.Command {
			p.pushed <- cmd
			if reply := p.reply.Load(); reply != nil {
				return (*reply)(cmd)
			}
			return nil
		},
		Changed: func(_ string, up bool, cause error) {
			if !up {
				p.lost <- cause
			}
		},
	}
	if network != nil {
		cfg.Dial = network.Dial
	}
	p.client = remoting.NewClient(cfg)
	return p
}

func (p *peer) close() { Expect(p.client.Close()).To(Succeed()) }

// request builds a request from header fields.
func request(code wire.RequestCode, ext map[string]string, body string) *wire.Command {
	cmd := wire.NewRequest(code)
	for k, v := range ext {
		cmd.Ext.Set(k, v)
	}
	if body != "" {
		cmd.Body = []byte(body)
	}
	return cmd
}

// ask sends a request and gives the answer, which must come.
func (p *peer) ask(cmd *wire.Command) *wire.Command {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := p.client.Call(ctx, p.addr, cmd)
	Expect(err).NotTo(HaveOccurred())
	return answer
}

// try sends a request and gives the error.
func (p *peer) try(cmd *wire.Command, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_, err := p.client.Call(ctx, p.addr, cmd)
	return err
}

// oneWay sends a request that nobody answers.
func (p *peer) oneWay(cmd *wire.Command) {
	GinkgoHelper()
	Expect(p.client.OneWay(context.Background(), p.addr, cmd)).To(Succeed())
}

// later sends a request and gives a channel for the answer.
func (p *peer) later(cmd *wire.Command) <-chan *wire.Command {
	out := make(chan *wire.Command, 1)
	p.client.Start(p.addr, cmd, time.Minute, func(answer *wire.Command, err error) {
		if err != nil {
			close(out)
			return
		}
		out <- answer
	})
	return out
}

// sub is one subscription of a heartbeat.
type sub struct {
	topic   string
	tags    []string
	version int64
}

// heartbeat is the body of a HEART_BEAT of one group, as a Java client writes it.
func heartbeat(client, group, model string, subs ...sub) string {
	list := []map[string]any{}
	for _, s := range subs {
		expression, codes := "*", []int32{}
		for k, tag := range s.tags {
			if k == 0 {
				expression = tag
			} else {
				expression += " || " + tag
			}
			codes = append(codes, wire.HashCode(tag))
		}
		list = append(list, map[string]any{
			"classFilterMode": false, "codeSet": codes, "expressionType": "TAG", "subString": expression,
			"subVersion": s.version, "tagsSet": append([]string{}, s.tags...), "topic": s.topic,
		})
	}
	body, err := json.Marshal(map[string]any{
		"clientID": client, "heartbeatFingerprint": 0, "withoutSub": false,
		"consumerDataSet": []map[string]any{{
			"consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "consumeType": "CONSUME_PASSIVELY", "groupName": group,
			"messageModel": model, "subscriptionDataSet": list, "unitMode": false,
		}},
		"producerDataSet": []map[string]any{{"groupName": "CLIENT_INNER_PRODUCER"}},
	})
	Expect(err).NotTo(HaveOccurred())
	return string(body)
}

// join sends a heartbeat of a clustering group and takes the notification of the joining.
func (p *peer) join(group string, subs ...sub) *wire.Command {
	GinkgoHelper()
	return p.ask(request(wire.HeartBeat, nil, heartbeat(p.id, group, "CLUSTERING", subs...)))
}

// pullFields are the header of a pull as the Java push consumer sends it.
func pullFields(group, topic string, queue int, offset int64, changes ...string) map[string]string {
	ext := map[string]string{
		"bname": "broker-a", "consumerGroup": group, "topic": topic, "queueId": fmt.Sprint(queue), "queueOffset": fmt.Sprint(offset),
		"maxMsgNums": "32", "sysFlag": "0", "commitOffset": "0", "suspendTimeoutMillis": "15000", "subVersion": "0",
		"expressionType": "TAG", "maxMsgBytes": "262144",
	}
	change(ext, changes)
	return ext
}

// change sets fields given as name, value, name, value; an empty value removes one.
func change(ext map[string]string, changes []string) {
	for k := 0; k+1 < len(changes); k += 2 {
		if changes[k+1] == "" {
			delete(ext, changes[k])
			continue
		}
		ext[changes[k]] = changes[k+1]
	}
}

// pull asks for messages of a queue.
func pull(group, topic string, queue int, offset int64, changes ...string) *wire.Command {
	return request(wire.PullMessage, pullFields(group, topic, queue, offset, changes...), "")
}

// send asks to store a message.
func send(topic string, queue int, body, properties string, changes ...string) *wire.Command {
	ext := map[string]string{
		"a": "GoldPG", "b": topic, "c": "TBW102", "d": "4", "e": fmt.Sprint(queue), "f": "0", "g": "1796076213122", "h": "0",
		"i": properties, "j": "0", "k": "false", "m": "false", "n": "broker-a",
	}
	change(ext, changes)
	return request(wire.SendMessageV2, ext, body)
}

// fields gives the ext fields of a command as a map.
func fields(cmd *wire.Command) map[string]string { return maps.Collect(cmd.Ext.All()) }

// code gives an answer's code.
func code(cmd *wire.Command) wire.ResponseCode { return wire.ResponseCode(cmd.Code) }

// received decodes the messages of a pull's answer.
func received(cmd *wire.Command) []*messages.Message {
	GinkgoHelper()
	list, corrupt, err := wire.DecodeMessages(nil, cmd.Body, &wire.DecodeOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(corrupt).To(BeEmpty())
	out := make([]*messages.Message, len(list))
	for k := range list {
		out[k] = &list[k]
	}
	return out
}

// bodies gives the texts of messages.
func bodies(list []*messages.Message) []string {
	out := make([]string, len(list))
	for k, m := range list {
		out[k] = string(m.GetBody())
	}
	return out
}

// texts builds messages of a topic for one queue of broker-a.
func texts(topic string, queue int32, list ...string) []*messages.Message {
	out := make([]*messages.Message, len(list))
	for k, s := range list {
		out[k] = messages.NewMessage(topic, []byte(s))
		out[k].Broker, out[k].QueueId = "broker-a", queue
	}
	return out
}

// startBroker starts a broker on TCP and ends it with the spec.
func startBroker(cfg embedded.Config) *embedded.Broker {
	GinkgoHelper()
	b, err := embedded.Start(context.Background(), cfg)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(b.Close)
	return b
}

// connect makes a client of a broker and ends it with the spec.
func connect(b *embedded.Broker, id string) *peer {
	p := newPeer(b.Addr(), id, nil)
	DeferCleanup(p.close)
	return p
}
