package troupe_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/offsetfile"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Every member of a broadcasting group gets every message, and keeps its own offsets: here in files.
func ExampleRuntime_Broadcast() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	broker, err := embedded.Start(ctx, embedded.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	if err := broker.CreateTopic("prices", 1); err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "offsets")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	for _, price := range []string{"100", "101"} {
		rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{broker.Addr()}}, troupe.Config{})
		if err != nil {
			log.Fatal(err)
		}
		handled := make(chan string, 8)
		g := rt.Broadcast("caches", troupe.BroadcastConfig{Offsets: offsetfile.At(dir), LocalRetries: 2})
		g.Handle("prices", troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
			handled <- string(m.Body)
			return nil
		})
		if err := rt.Start(ctx); err != nil {
			log.Fatal(err)
		}
		if err := broker.Publish(troupe.NewMessage("prices", []byte(price))); err != nil {
			log.Fatal(err)
		}
		fmt.Println(<-handled)
		if err := rt.Shutdown(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 100
	// 101
}
