// Package allocation decides which queues of a topic belong to which member of a consumer group.
//
// Every member computes the same division on its own from the same two lists, so the functions are pure and agree to the
// letter with Apache's Java client: a Go and a Java member in one group must neither overlap nor leave a queue unread.
// The room knows queues and client ids; it must not know routes, brokers, connections or actors.
package allocation
