package rocketmq_test

import (
	"context"
	"net"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// answerer is a broker without anything to allocate: it reads requests as bytes and answers each with the same frame, the
// opaque patched in. So the allocations measured are the client's alone.
func answerer(b *testing.B, body []byte) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() }) // it only ends the goroutine
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }() // the benchmark is over
		in := make([]byte, 1<<20)
		have := 0
		var cmd wire.Command
		var out []byte
		for {
			n, err := conn.Read(in[have:])
			if err != nil {
				return
			}
			have += n
			out = out[:0]
			at := 0
			for have-at >= 4 {
				size := 4 + (int(in[at])<<24 | int(in[at+1])<<16 | int(in[at+2])<<8 | int(in[at+3]))
				if have-at < size {
					break
				}
				if wire.DecodeCommand(in[at+4:at+size], &cmd) != nil {
					return
				}
				at += size
				answer := wire.Command{Language: wire.Java, Version: wire.V5_3_3, Flag: 1, Opaque: cmd.Opaque, Remark: "FOUND", Body: body}
				h := wire.PullResponseHeader{NextBeginOffset: 32, MaxOffset: 1 << 20}
				h.AppendTo(&answer.Ext)
				if out, err = answer.AppendFrame(out); err != nil {
					return
				}
			}
			have = copy(in, in[at:have])
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}

// BenchmarkPull keeps 8 pulls in flight, each answered with 32 messages of 256 bytes. Of the allocations, one is the frame and
// one or two are the answering side's.
func BenchmarkPull(b *testing.B) {
	address := answerer(b, make([]byte, 32*339))
	link, err := rocketmq.Cluster{NameServers: []string{address}}.Open(actors.LinkConfig{
		ClientID: "127.0.0.1@1#1", Log: logrus.New(), Jitter: func() float64 { return 0 },
	})
	if err != nil {
		b.Fatal(err)
	}
	req := &messages.PullRequest{
		Address: address, Group: "g", Queue: &messages.Queue{Topic: "orders", Broker: "broker-a"}, MaxMessages: 32, SuspendMillis: 15_000,
		MaxBytes: 262_144, Kind: messages.FilterKind_FILTER_KIND_TAG,
	}
	if err := link.Heartbeat(context.Background(), address, &messages.Heartbeat{}); err != nil {
		b.Fatal(err)
	}
	slots := make(chan struct{}, 8)
	done := actors.PullFunc(func(_ *messages.PullReply, err error) {
		if err != nil {
			b.Error(err)
		}
		<-slots
	})
	b.ReportAllocs()
	for b.Loop() {
		slots <- struct{}{}
		link.Pull(req, done)
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	_ = link.Close() // it gives no error
}
