// Package embedded is a RocketMQ name server and broker inside one Go process: what demos run on, what specs run against
// and what users start in their own tests. It speaks the remoting protocol over real TCP, or over any injected
// net.Listener, so Apache's own clients can use it as they use a broker of their own.
//
// Start gives one name server and one broker behind one port. StartNameServer and Config.NameServer build larger
// clusters. Faults scripts what can go wrong on the way; the Await methods wait on events, never on polling.
//
// The room knows the wire format (adapters/wire) and the server side of connections (adapters/remoting). It must not know
// adapters/rocketmq, the actors or the runtime: a client that is tested against its own mirror image proves nothing.
//
// Everything runs inside a testing/synctest bubble when the listener is an in-memory one: all waiting is on the time
// package and on channels.
package embedded
