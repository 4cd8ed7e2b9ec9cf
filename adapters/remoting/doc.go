// Package remoting carries wire commands over connections: a Client that connects on demand, one connection an address, and
// a Server; both match answers to requests, and both sides may ask.
//
// It knows frames and the flags of a command, and one response code, GO_AWAY. It knows nothing of topics, queues or what a
// request means: that is the business of rocketmq and embedded.
//
// Time-outs of all requests and the watch over idle or half-open connections run on one timer wheel per Client or Server, so
// that a thousand long polls cost no timer each. Frames written to one connection at about the same time leave in one system
// call. All goroutines belong to a Client or Server, whose Close waits for them.
package remoting
