// Package meter sums what happened in the recent past: how many and how much within a sliding stretch of time, in constant
// memory and without a timer. It is a pure data structure: it knows no clock and no lock, its owner has both.
package meter
