package troupe

import "context"

// Handler consumes one message. Its error is the only verdict: nil settles the message, any error hands it back to the broker
// for a later try, RetryAfter and DeadLetter say when and where; a panic counts as an error. It runs on one of the group's
// workers; ctx ends with a cause (ErrQueueRevoked, ErrDraining) when the message is no longer ours to handle.
type Handler func(ctx context.Context, m *Message) error

// BatchHandler consumes several messages of one queue. An error fails all of them, FailedAt only those it names. ms is valid
// until it returns; the messages themselves may be kept.
type BatchHandler func(ctx context.Context, ms []*Message) error

// Middleware wraps a Handler. The first one given to Use is the outermost.
type Middleware func(Handler) Handler
