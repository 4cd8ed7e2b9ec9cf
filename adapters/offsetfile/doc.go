// Package offsetfile keeps the offsets of broadcasting groups in local files, in the place and the format of Apache's Java client:
// <directory>/<group>/offsets.json with the version before it in offsets.json.bak (protocol.md 5.8). Either client goes on where
// the other has left off.
//
// A directory belongs to one member: while a Runtime runs it holds a lock on its group's folder, so that no second process
// overwrites the offsets of the first. The Java client locks nothing; do not let it run on the same directory at the same time.
//
// The package must know neither brokers nor the wire.
package offsetfile
