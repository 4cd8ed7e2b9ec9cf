// Package memnet is a network in memory: listeners and connections with addresses, buffers, deadlines and faults, for
// programs and specs that must not open sockets or that run in virtual time (testing/synctest).
//
// It behaves as TCP does where a user of net.Conn can tell: writes are buffered and return before the other side reads, a
// closed side still delivers what it wrote, a refused dial says so at once, a black hole says nothing at all. Faults are
// named by address: "10.0.0.7" means every end on that host, "10.0.0.7:10911" that one end.
//
// It knows nothing of what is carried. Nothing in it starts a goroutine; a Network that is used in a synctest bubble must be
// made in that bubble.
package memnet
