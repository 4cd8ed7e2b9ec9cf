package remoting_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/remoting/memnet"
	"github.com/troupe-mq/troupe/adapters/wire"
)

// FuzzSession sends a server anything: it must answer or close, and never panic or hang.
func FuzzSession(f *testing.F) {
	good, err := request("a").AppendFrame(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(append(append([]byte(nil), good...), good[:len(good)-3]...))
	f.Add([]byte{0, 0, 0, 4, 0, 0, 0, 0})
	f.Add([]byte{0, 255, 255, 0, 0, 0, 0, 9, 1})
	f.Add([]byte("\x16\x03\x01\x02\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		network := memnet.New()
		l, err := network.Listen(brokerAddress)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		server := remoting.NewServer(remoting.ServerConfig{
			Handle: func(x *remoting.Session, cmd *wire.Command) *wire.Command { return echo(x, cmd) },
			Closed: func(*remoting.Session) { close(ended) },
		})
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(l) // that it was closed
		}()
		conn, err := network.Dial(context.Background(), "tcp", brokerAddress)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = conn.Write(b) // the server may close in between
			time.Sleep(time.Millisecond)
			_ = conn.Close() // nothing to learn from it
		}()
		_, _ = io.Copy(io.Discard, conn) // until either side closes
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("the session goes on although its connection ended")
		}
		_ = server.Close() // it gives no error
		<-served
	})
}
