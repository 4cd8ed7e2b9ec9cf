// Package java carries the Java program of the comparison.
package java

import "embed"

// Sources has the *.java files of this folder.
//
//go:embed *.java
var Sources embed.FS
