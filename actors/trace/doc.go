// Package trace is what message tracing is made of apart from its actor: the text of a trace as Apache's Java client writes it,
// and the bounded queue between the workers, which must not wait, and the sender. It must not know actors or the network.
package trace
