// Package troupe is what a Go program imports to consume from, and publish to, an Apache RocketMQ cluster.
//
//	rt, err := troupe.New(rocketmq.Cluster{NameServers: []string{"127.0.0.1:9876"}}, troupe.Config{})
//	g := rt.Concurrent("billing", troupe.ConcurrentConfig{Workers: 32})
//	g.Handle("orders", troupe.Tags("paid"), func(ctx context.Context, m *troupe.Message) error { … })
//	err = rt.Run(ctx)
//
// A Runtime is a tree of actors (package actors) over a Transport that it never names: adapters/rocketmq brings the one to a
// RocketMQ cluster. Configuration is data; zero values are the documented defaults of the Java client. The package is silent
// unless a logger is given, keeps no process-wide state except the client ids that were chosen by hand, and several Runtimes
// live side by side.
package troupe
