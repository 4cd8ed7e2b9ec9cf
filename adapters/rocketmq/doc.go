// Package rocketmq reaches an Apache RocketMQ cluster over its remoting protocol: a Cluster is the configuration, and what
// it opens carries every question of the actors to name servers and brokers, and what brokers ask back.
//
// It knows which request asks what, the time-outs of each, and what a response code means. It decides nothing: when to ask,
// whom, how often again and what to do about a refusal is the actors' business. It knows no embedded broker.
package rocketmq
