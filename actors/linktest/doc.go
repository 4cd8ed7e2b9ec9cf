// Package linktest is a scripted cluster in memory for specs of the actors: it implements actors.Transport and actors.Link
// without any network. Queues hold messages, groups have committed offsets and members, topics have routes; a script can make
// any call fail, stay silent, take long, panic or answer something else. Every call is recorded with its time.
//
// Everything it does follows the clock of the goroutine it is used from, so it runs in a testing/synctest bubble. It must not
// know the wire, and nothing but specs may import it.
package linktest
