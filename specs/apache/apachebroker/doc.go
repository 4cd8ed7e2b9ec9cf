// Package apachebroker runs real Apache RocketMQ for specs and benchmarks: a name server and brokers of a chosen version, and small Java
// programs (consumers, producers, mqadmin) as peers.
//
// Everything comes from Maven artifacts, downloaded once into a cache; every cluster has its own ports on 127.0.0.1 and its own temporary
// store, so that clusters of several versions can run side by side. It needs a JDK 11 or newer, and Maven for the first use of a version;
// what is missing is said in the error together with the remedy.
//
// The package knows processes, files and a handful of administrative requests. It must not know Troupe's own packages: it is what they are
// judged against. The few frames it sends are written by hand for the same reason.
package apachebroker
