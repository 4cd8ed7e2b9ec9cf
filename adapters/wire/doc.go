// Package wire knows RocketMQ's formats: the remoting frame and its two header encodings, request and response codes, the
// headers and JSON bodies of the requests a consumer and an embedded broker exchange, and the stored message.
//
// It is pure: bytes in, values out. It knows no connection, no clock of its own, no actor and no configuration. Every decoder
// takes bytes from the network, so none panics and none allocates noticeably more than its input, except for bodies that are
// decompressed, whose size is bounded by DecodeOptions.MaxBody.
package wire
