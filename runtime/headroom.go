package troupe

import "runtime/metrics"

// reserveHeadroom gives a block of memory that nobody ever touches, so that the collector of a program whose heap is small has
// something to compare garbage with: a consumer keeps two or three megabytes alive and makes hundreds of megabytes of garbage a
// second under a backlog, which would be collected several hundred times for each million messages. The block costs address space,
// and up to its own size of garbage that waits longer. It gives nil if the program's heap goal leaves that room already.
func reserveHeadroom(bytes int64) []byte {
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(goal)
	if bytes <= 0 || goal[0].Value.Kind() != metrics.KindUint64 || goal[0].Value.Uint64() >= uint64(2*bytes) {
		return nil
	}
	return make([]byte, bytes)
}
