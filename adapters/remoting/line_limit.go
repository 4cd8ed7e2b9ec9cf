package remoting

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// linesPerWindow is how many log lines one address may cause within lineWindow.
	linesPerWindow = 2
	lineWindow     = time.Minute
)

// lineLimit lets few log lines through and counts the rest.
type lineLimit struct {
	mu         sync.Mutex
	opened     time.Time
	written    int
	suppressed int
}

// allow gives the logger for the next line, or nil if the line is one too many. The first line after a silence tells how
// many were suppressed.
func (l *lineLimit) allow(log logrus.FieldLogger) logrus.FieldLogger {
	if log == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.opened.IsZero() || now.Sub(l.opened) >= lineWindow {
		l.opened, l.written = now, 0
	}
	if l.written >= linesPerWindow {
		l.suppressed++
		return nil
	}
	l.written++
	if l.suppressed > 0 {
		log = log.WithField("suppressed", l.suppressed)
		l.suppressed = 0
	}
	return log
}
