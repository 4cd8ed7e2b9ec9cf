// Command troupe demonstrates Troupe, serves the embedded broker, publishes, consumes and shows the living tree.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/troupe-mq/troupe/adapters/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
