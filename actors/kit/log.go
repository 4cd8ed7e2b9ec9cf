package kit

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// libraryHandler writes the library's warnings and errors to logrus. What the library says below that is said better by events.
// It never writes a message's content.
type libraryHandler struct {
	log    logrus.FieldLogger
	fields logrus.Fields
}

func libraryLogger(log logrus.FieldLogger) func(*actor.ActorSystem) *slog.Logger {
	return func(*actor.ActorSystem) *slog.Logger { return slog.New(libraryHandler{log: log}) }
}

// Enabled lets warnings and errors pass.
func (h libraryHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle writes one record.
func (h libraryHandler) Handle(_ context.Context, r slog.Record) error {
	fields := make(logrus.Fields, len(h.fields)+r.NumAttrs())
	for k, v := range h.fields {
		fields[k] = v
	}
	r.Attrs(func(a slog.Attr) bool {
		fields[a.Key] = plain(a)
		return true
	})
	log := h.log.WithFields(fields)
	if r.Level >= slog.LevelError {
		log.Error(r.Message)
	} else {
		log.Warn(r.Message)
	}
	return nil
}

// WithAttrs adds fields.
func (h libraryHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := make(logrus.Fields, len(h.fields)+len(attrs))
	for k, v := range h.fields {
		fields[k] = v
	}
	for _, a := range attrs {
		fields[a.Key] = plain(a)
	}
	return libraryHandler{h.log, fields}
}

// WithGroup keeps the names flat.
func (h libraryHandler) WithGroup(string) slog.Handler { return h }

func plain(a slog.Attr) any {
	v := a.Value.Resolve().Any()
	switch v := v.(type) {
	case *actor.PID:
		return v.GetId()
	case string, bool, int, int64, uint64, float64, error:
		return v
	}
	return fmt.Sprintf("%T", v)
}
