package remoting_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// loopback serves an answer of 10 KiB, the size of a pull of 32 messages, on a real socket.
func loopback(b *testing.B) (*remoting.Client, string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 10<<10)
	server := remoting.NewServer(remoting.ServerConfig{Handle: func(*remoting.Session, *wire.Command) *wire.Command {
		answer := wire.NewResponse(wire.Success, "FOUND")
		answer.Body = body
		return answer
	}})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // that it was closed
	}()
	client := remoting.NewClient(remoting.ClientConfig{})
	b.Cleanup(func() {
		_ = client.Close() // it gives no error
		_ = server.Close() // neither does it
		<-served
	})
	return client, l.Addr().String()
}

// BenchmarkCall is one call after another: the latency of a round trip.
func BenchmarkCall(b *testing.B) {
	client, address := loopback(b)
	cmd := wire.NewRequest(wire.PullMessage)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Call(context.Background(), address, cmd); err != nil {
			b.Fatal(err)
		}
	}
}

type benchExchange struct {
	remoting.Exchange
	slots chan struct{}
}

// Settled frees the slot.
func (e *benchExchange) Settled(*remoting.Exchange, error) { <-e.slots }

// BenchmarkBegin keeps 32 exchanges in flight on one connection. The allocations include the server's.
func BenchmarkBegin(b *testing.B) {
	client, address := loopback(b)
	slots := make(chan struct{}, 32)
	b.ReportAllocs()
	for b.Loop() {
		slots <- struct{}{}
		e := &benchExchange{Exchange: remoting.Exchange{Request: *wire.NewRequest(wire.PullMessage)}, slots: slots}
		client.Begin(address, &e.Exchange, 30*time.Second, e)
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
}

// BenchmarkPending1024 makes calls while 1,024 long polls are pending.
func BenchmarkPending1024(b *testing.B) {
	client, address := loopback(b)
	quiet, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := remoting.NewServer(remoting.ServerConfig{Handle: silent})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(quiet) // that it was closed
	}()
	var held sync.WaitGroup
	for range 1024 {
		held.Add(1)
		client.Start(quiet.Addr().String(), wire.NewRequest(wire.PullMessage), time.Minute, func(*wire.Command, error) { held.Done() })
	}
	cmd := wire.NewRequest(wire.PullMessage)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Call(context.Background(), address, cmd); err != nil {
			b.Fatal(err)
		}
	}
	_ = server.Close() // it gives no error
	<-served
	held.Wait()
}
