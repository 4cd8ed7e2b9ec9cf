// Package messages is the language the actors speak: the generated Go of proto/troupe/v1 and small methods on those types.
//
// It is a leaf: it knows nothing of actors, adapters or the network. A message is immutable once sent; pointers are shared
// between goroutines and nothing is marshalled inside a process.
package messages
