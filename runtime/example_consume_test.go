package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// A group consumes a topic; the handler's error is the verdict.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	broker, err := embedded.Start(ctx, embedded.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = broker.Close() }()

	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{broker.Addr()}}, troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	handled := make(chan string, 1)
	g := rt.Concurrent("billing", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
	g.Handle("orders", troupe.Tags("paid"), func(_ context.Context, m *troupe.Message) error {
		handled <- m.Tag() + ": " + string(m.Body)
		return nil
	})
	if err := rt.Start(ctx); err != nil {
		log.Fatal(err)
	}
	p := rt.Publisher(troupe.PublisherConfig{})
	if _, err := p.Send(ctx, troupe.NewMessage("orders", []byte("order 1")).WithTag("paid")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-handled)
	fmt.Println("shutdown:", rt.Shutdown(ctx))
	// Output:
	// paid: order 1
	// shutdown: <nil>
}

// A failed message comes back by the broker's schedule, with the number of the attempts before.
func ExampleRetryAfter() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	// A broker with short delay levels, so that the example does not take its time.
	broker, err := embedded.Start(ctx, embedded.Config{DelayLevels: make([]time.Duration, 18)})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	if err := broker.CreateTopic("orders", 1); err != nil {
		log.Fatal(err)
	}
	if err := broker.Publish(troupe.NewMessage("orders", []byte("order 1"))); err != nil {
		log.Fatal(err)
	}

	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{broker.Addr()}}, troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	attempts := make(chan int32, 3)
	g := rt.Concurrent("billing", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
	g.Handle("orders", troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
		attempts <- m.GetReconsumeTimes()
		if m.GetReconsumeTimes() < 2 {
			return troupe.RetryAfter(10*time.Second, errors.New("the bank is closed"))
		}
		return nil
	})
	if err := rt.Start(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-attempts, <-attempts, <-attempts)
	_ = rt.Shutdown(ctx)
	// Output: 0 1 2
}

// Middleware sees every call of the group's handlers.
func ExampleConcurrentGroup_Use() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	broker, err := embedded.Start(ctx, embedded.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = broker.Close() }()
	if err := broker.Publish(troupe.NewMessage("orders", []byte("order 1"))); err != nil {
		log.Fatal(err)
	}
	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{broker.Addr()}}, troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	var done sync.WaitGroup
	done.Add(1)
	g := rt.Concurrent("billing", troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset})
	g.Use(func(next troupe.Handler) troupe.Handler {
		return func(ctx context.Context, m *troupe.Message) error {
			fmt.Println("before", string(m.Body))
			defer done.Done()
			defer fmt.Println("after")
			return next(ctx, m)
		}
	})
	g.Handle("orders", troupe.AllTags(), func(context.Context, *troupe.Message) error {
		fmt.Println("handled")
		return nil
	})
	if err := rt.Start(ctx); err != nil {
		log.Fatal(err)
	}
	done.Wait()
	_ = rt.Shutdown(ctx)
	// Output:
	// before order 1
	// handled
	// after
}
