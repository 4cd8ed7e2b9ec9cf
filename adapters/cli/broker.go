package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-mq/troupe/adapters/embedded"
)

func newBroker(c *common) *cobra.Command {
	var cfg embedded.Config
	verb := &cobra.Command{
		Use:   "broker",
		Short: "Serve the embedded name server and broker until Ctrl-C (in memory)",
		Long: "Serve the embedded name server and broker on one port until Ctrl-C.\n\n" +
			"Messages are kept in memory and are gone when the command ends. Prints 'ready ADDRESS' when it serves.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Log = c.logger()
			b, err := embedded.Start(cmd.Context(), cfg)
			if err != nil {
				return fmt.Errorf("broker on %s: %w", cfg.Listen, err)
			}
			if c.json {
				err = writeJSON(c.streams.Out, map[string]any{"ready": true, "address": b.Addr()})
			} else {
				_, err = fmt.Fprintf(c.streams.Out, "ready %s\n", b.Addr())
			}
			if err != nil {
				_ = b.Close() // the reader of our output is gone
				return err
			}
			<-cmd.Context().Done()
			return b.Close()
		},
	}
	verb.Flags().StringVar(&cfg.Listen, "listen", defaultNameServer, "address to serve on")
	verb.Flags().Int64Var(&cfg.RetainBytes, "retain", 1<<30, "bytes of messages to keep; the oldest are forgotten beyond it")
	return verb
}
