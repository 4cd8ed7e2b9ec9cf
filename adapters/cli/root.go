package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// usageError is a wrong call of the command; everything else is a failure.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// Run executes the command line and returns the exit code.
func Run(ctx context.Context, args []string, s Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(s.Err, "troupe: %v\n", err)
	var wrong *usageError
	var fault *troupe.ConfigError
	if errors.As(err, &wrong) || errors.As(err, &fault) {
		_, _ = fmt.Fprintln(s.Err, "See 'troupe --help' or 'troupe VERB --help'.")
		return 2
	}
	return 1
}

// common is what every verb knows.
type common struct {
	streams     Streams
	nameServers string
	json        bool
	verbose     bool
}

const (
	envNameServer     = "TROUPE_NAMESERVER"
	defaultNameServer = "127.0.0.1:9876"
)

func newRoot(s Streams) *cobra.Command {
	c := &common{streams: s}
	root := &cobra.Command{
		Use:           "troupe",
		Short:         "Consume Apache RocketMQ with actors, and see what they do",
		Long:          "Consume Apache RocketMQ with actors, and see what they do.\n\nStart with 'troupe demo': it needs no set-up.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	flags := root.PersistentFlags()
	flags.StringVar(&c.nameServers, "nameserver", "", "name servers, host:port separated by ; (default $"+envNameServer+" or "+defaultNameServer+")")
	flags.BoolVar(&c.json, "json", false, "write one JSON object a line to standard output, and nothing else")
	flags.BoolVar(&c.verbose, "verbose", false, "write debug lines to standard error")
	root.AddCommand(newDemo(c), newBroker(c), newPublish(c), newConsume(c), newTail(c), newTopic(c), newGroup(c), newMessage(c), newTopology(c))
	for _, verb := range root.Commands() {
		verb.Args = wrongArgs(verb.Args)
	}
	root.Args = wrongArgs(func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unknown verb %q", args[0])
		}
		return nil
	})
	return root
}

// wrongArgs makes a fault of the arguments a fault of usage.
func wrongArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{err}
		}
		return nil
	}
}

// cluster is the cluster that the flags or the environment name.
func (c *common) cluster() rocketmq.Cluster {
	list := c.nameServers
	if list == "" {
		list = os.Getenv(envNameServer)
	}
	if list == "" {
		list = defaultNameServer
	}
	return rocketmq.Cluster{NameServers: strings.FieldsFunc(list, func(r rune) bool { return r == ';' || r == ',' })}
}

// logger writes to standard error: warnings, or everything.
func (c *common) logger() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(c.streams.Err)
	l.SetLevel(logrus.WarnLevel)
	if c.verbose {
		l.SetLevel(logrus.DebugLevel)
	}
	l.SetFormatter(&logrus.TextFormatter{FullTimestamp: true, TimestampFormat: time.TimeOnly, DisableColors: !isTerminal(c.streams.Err)})
	return l
}

// say writes progress to standard error.
func (c *common) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.streams.Err, format+"\n", args...)
}

// isTerminal tells whether w is a terminal: a file that is a character device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
}

// startTimeout bounds how long a verb waits for the cluster.
const startTimeout = 30 * time.Second
