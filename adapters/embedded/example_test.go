package embedded_test

import (
	"context"
	"fmt"

	"github.com/troupe-mq/troupe/adapters/embedded"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// A broker for a test: clients connect to its address as to any name server; the test looks at it directly.
func Example() {
	ctx := context.Background()
	broker, err := embedded.Start(ctx, embedded.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = broker.Close() }()
	if err := broker.CreateTopic("orders", 4); err != nil {
		fmt.Println(err)
	}
	if err := broker.Publish(messages.NewMessage("orders", []byte("first")).WithTag("paid")); err != nil {
		fmt.Println(err)
	}
	// The next two pulls will fail, whoever sends them.
	broker.Faults().Answer(2, wire.PullMessage, wire.SystemBusy, "too many requests")

	for _, m := range broker.MessagesIn("orders") {
		fmt.Println(m.Tag(), string(m.GetBody()))
	}
	fmt.Println("lag of billing:", broker.Lag("billing", "orders"))
	// Output:
	// paid first
	// lag of billing: 1
}
