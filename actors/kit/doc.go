// Package kit is the actor kernel: actors, their supervision, their timers and their asynchronous work.
//
// It stands on protoactor-go and is the only package that knows it; nothing of the library shows in its API. Of the
// library it uses the life cycle (start, restart, stop, the order between parents and children) and the supervision
// protocol. Mailbox, dispatcher, strategy, timers and the root supervisor are its own, because the library's lose messages at
// stop, spin, race or end the process.
//
// The rules of the house:
//
//   - An actor is only ever called from one goroutine at a time, its turn, and never blocks in it.
//   - A message is processed, or counted as a dead letter, or counted as lost in a panic. There is no fourth way but to
//     tell nobody (the zero Ref) from outside.
//   - A panic restarts the actor after a back-off; it never ends the process. An instance that panicked is not called again,
//     not even with Stopping: what it held on to must hang on its context (timers, Go), which the kernel ends.
//   - The children of an actor that restarts are stopped before the fresh instance starts. It hears nothing of them.
//   - Between Stopping and its end an actor gets no message but ChildStopped; the rest become dead letters. An actor
//     that has to wait for something before it ends does so by its own protocol and calls StopSelf afterwards.
//
// The package must not know RocketMQ, the network, the file system or JSON.
package kit
