// Package processqueue keeps the messages of one queue that were pulled and are not settled yet, and knows the offset below
// which everything is settled: the only offset that may be committed.
//
// It is a pure data structure. One goroutine at a time, the owner (the queue's Consumer), puts messages in and looks what
// has been settled; any number of workers settle concurrently, without a lock and without a message per message. The room
// must not know actors, handlers, brokers or what a settled message was settled with.
//
// # Shape
//
// Cached messages get dense numbers in the order they were put. Their settled bits live in segments of 256 numbers, a
// chain that grows at one end and is let go at the other, so there is no capacity to outgrow and no lap to mistake for the
// one before. Offsets that carry no message (filtered by the broker, transaction markers, batches) need no bit: the window
// passes them together with the message before them. A Batch, one pull, points at its segment; a window that was reset has
// other segments, so a late result of the time before cannot reach it.
//
// Put, settle and advance are O(1) per message; an advance also looks at one word per 64 messages that are still cached
// behind an unsettled one.
package processqueue
