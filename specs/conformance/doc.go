// Package conformance is one suite of behaviour specs for a whole Runtime: what a program may rely on, whichever broker serves
// it. specs/push runs it on the embedded broker, specs/apache on real Apache brokers, so that the fast specs mean something.
package conformance
