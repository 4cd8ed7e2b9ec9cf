package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-mq/troupe/adapters/topology"
	troupe "github.com/troupe-mq/troupe/runtime"
)

const defaultTopologyAddr = "127.0.0.1:9878"

func newTopology(c *common) *cobra.Command {
	var format string
	var watch bool
	verb := &cobra.Command{
		Use:   "topology [ADDR]",
		Short: "Show the living tree of a running program that serves its topology",
		Long: "Show the living tree of a running program that serves its topology (default " + defaultTopologyAddr + ").\n\n" +
			"'troupe consume --topology ADDR' and 'troupe demo --topology ADDR' serve it; a program of your own does with\n" +
			"http.Handle(\"/topology/\", topology.Handler(rt.Topology)).",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			addr := defaultTopologyAddr
			if len(args) > 0 {
				addr = args[0]
			}
			if c.json {
				format = "json"
			}
			for {
				if err := c.showTopology(cmd.Context(), addr, format); err != nil {
					return err
				}
				if !watch {
					return nil
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(time.Second):
				}
				if isTerminal(c.streams.Out) {
					_, _ = fmt.Fprint(c.streams.Out, "\x1b[H\x1b[2J")
				}
			}
		},
	}
	verb.Flags().StringVar(&format, "format", "tree", "tree, json, mermaid or dot")
	verb.Flags().BoolVar(&watch, "watch", false, "show it again each second until Ctrl-C")
	return verb
}

func (c *common) showTopology(ctx context.Context, addr, format string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	t, err := topology.Fetch(ctx, addr)
	if err != nil {
		return fmt.Errorf("topology of %s: %w (does the program serve it? see 'troupe topology --help')", addr, err)
	}
	text, err := topology.Render(format, t)
	if err != nil {
		return &usageError{err}
	}
	_, err = fmt.Fprintln(c.streams.Out, text)
	return err
}

// serveTopology serves a Runtime's topology until the returned function is called; an empty address serves nothing.
func (c *common) serveTopology(ctx context.Context, addr string, source func() *troupe.Topology) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("topology on %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/topology/", topology.Handler(source))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.say("topology: %v", err)
		}
	}()
	c.say("topology on http://%s/topology/", l.Addr())
	return func() {
		_ = server.Close() // whoever still reads is cut off with the program
		<-ended
	}, nil
}
