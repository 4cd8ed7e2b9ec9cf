// Package topology shows a Runtime's living tree: as text, JSON, Mermaid and DOT, and over HTTP. It reads snapshots
// (messages.Topology) and knows neither actors nor how a snapshot is taken.
package topology
