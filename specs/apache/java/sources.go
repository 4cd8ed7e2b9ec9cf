// Package java carries the sources of the Java peers, so that the specs can compile them against any release of Apache's client.
// It must know nothing: the programs are run by package apachebroker.
package java

import "embed"

// Sources has the *.java files of this folder.
//
//go:embed *.java
var Sources embed.FS
