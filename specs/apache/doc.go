// Package apache is the room of the specs that need a real Apache RocketMQ. Every spec that starts one has the label "apache", so that the
// fast suite leaves it out; TROUPE_APACHE_VERSIONS narrows the releases.
//
// How to start one stands in package apachebroker, the Java programs in package java, and the pattern for sharing one cluster per release
// in suite_test.go.
package apache
