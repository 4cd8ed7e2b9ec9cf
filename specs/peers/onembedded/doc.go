// Package onembedded proves that rocketmq-client-go can use Troupe's embedded broker. It lives in the nested module, so that the client's
// dependencies stay there; the same for Apache's Java client stands in specs/apache.
package onembedded
