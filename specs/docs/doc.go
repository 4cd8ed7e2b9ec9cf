// Package docs reads the code and writes the parts of the README files that must not rot: the cast with its conversations from
// the actors' cards, and the configuration table from the structs' comments. Its specs hold the cards against the code.
package docs
