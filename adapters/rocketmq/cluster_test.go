package rocketmq_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/adapters/remoting"
	"github.com/troupe-mq/troupe/adapters/rocketmq"
	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("A cluster's configuration", func() {
	DescribeTable("is checked before any traffic, and every fault is named",
		func(c rocketmq.Cluster, fields ...string) {
			got := []string{}
			for _, f := range c.Check() {
				Expect(f.Reason).NotTo(BeEmpty())
				got = append(got, f.Field)
			}
			Expect(got).To(ConsistOf(fields))
			if len(fields) > 0 {
				_, err := c.Open(actors.LinkConfig{})
				for _, f := range fields {
					Expect(err).To(MatchError(ContainSubstring(f)))
				}
			}
		},
		Entry("good", rocketmq.Cluster{NameServers: []string{"10.0.0.1:9876", "ns.example:9876", "[::1]:9876"}}),
		Entry("good with credentials", rocketmq.Cluster{NameServers: []string{nameServer}, Credentials: rocketmq.Credentials{AccessKey: "a", SecretKey: "s"}}),
		Entry("empty", rocketmq.Cluster{}, "Cluster.NameServers"),
		Entry("no port", rocketmq.Cluster{NameServers: []string{"10.0.0.1"}}, "Cluster.NameServers[0]"),
		Entry("no host", rocketmq.Cluster{NameServers: []string{":9876"}}, "Cluster.NameServers[0]"),
		Entry("empty address", rocketmq.Cluster{NameServers: []string{""}}, "Cluster.NameServers[0]"),
		Entry("bad ports", rocketmq.Cluster{NameServers: []string{"a:0", "b:65536", "c:x", "d:9876"}},
			"Cluster.NameServers[0]", "Cluster.NameServers[1]", "Cluster.NameServers[2]"),
		Entry("a list in one address", rocketmq.Cluster{NameServers: []string{"a:9876;b:9876"}}, "Cluster.NameServers[0]"),
		Entry("a URL", rocketmq.Cluster{NameServers: []string{"http://a:9876"}}, "Cluster.NameServers[0]"),
		Entry("half of the credentials, and no name server", rocketmq.Cluster{Credentials: rocketmq.Credentials{SecretKey: "s"}},
			"Cluster.NameServers", "Cluster.Credentials.AccessKey"),
		Entry("the other half", rocketmq.Cluster{NameServers: []string{nameServer}, Credentials: rocketmq.Credentials{AccessKey: "a"}},
			"Cluster.Credentials.SecretKey"),
		Entry("good with everything", rocketmq.Cluster{
			Lookup: rocketmq.AddressServer{URL: "http://a.example/x"}, Namespace: "INST_1-a", NamespaceV2: "I", TLS: &tls.Config{},
			VIPChannel: true, DialTimeout: time.Minute, RequestTimeout: 3 * time.Second,
		}),
		Entry("a namespace with a separator", rocketmq.Cluster{NameServers: []string{nameServer}, Namespace: "a%b"}, "Cluster.Namespace"),
		Entry("a namespace that is too long", rocketmq.Cluster{NameServers: []string{nameServer}, Namespace: strings.Repeat("n", 65)}, "Cluster.Namespace"),
		Entry("keys with white space", rocketmq.Cluster{
			NameServers: []string{nameServer}, Credentials: rocketmq.Credentials{AccessKey: " a", SecretKey: "s\n", SecurityToken: "t "},
		}, "Cluster.Credentials.AccessKey", "Cluster.Credentials.SecretKey", "Cluster.Credentials.SecurityToken"),
		Entry("a lookup beside addresses", rocketmq.Cluster{
			NameServers: []string{nameServer}, Lookup: rocketmq.AddressServer{URL: "http://a/x"},
		}, "Cluster.Lookup"),
		Entry("a nil lookup", rocketmq.Cluster{Lookup: (*rocketmq.AddressServer)(nil)}, "Cluster.Lookup"),
		Entry("an address server without URL", rocketmq.Cluster{Lookup: rocketmq.AddressServer{}}, "Cluster.Lookup"),
		Entry("an address server with another scheme", rocketmq.Cluster{Lookup: rocketmq.AddressServer{URL: "ftp://a/x"}}, "Cluster.Lookup"),
		Entry("an address server without a host", rocketmq.Cluster{Lookup: rocketmq.AddressServer{URL: "http:///x"}}, "Cluster.Lookup"),
		Entry("all at once", rocketmq.Cluster{
			NameServers: []string{"a"}, Lookup: rocketmq.AddressServer{}, Namespace: "ü", NamespaceV2: " ", DialTimeout: -1, RequestTimeout: time.Hour,
			Credentials: rocketmq.Credentials{SecurityToken: "t"}, TLS: &tls.Config{MinVersion: tls.VersionTLS13, MaxVersion: tls.VersionTLS12},
		}, "Cluster.NameServers[0]", "Cluster.Lookup", "Cluster.Lookup", "Cluster.Namespace", "Cluster.NamespaceV2", "Cluster.DialTimeout",
			"Cluster.RequestTimeout", "Cluster.Credentials.AccessKey", "Cluster.Credentials.SecretKey", "Cluster.TLS"),
	)

	It("never shows a secret in a fault", func() {
		c := rocketmq.Cluster{Credentials: rocketmq.Credentials{SecretKey: "hush", SecurityToken: "psst"}}
		_, err := c.Open(actors.LinkConfig{})
		Expect(err).NotTo(MatchError(ContainSubstring("hush")))
		Expect(err).NotTo(MatchError(ContainSubstring("psst")))
		c.Credentials.AccessKey = "who"
		Expect(fmt.Sprintf("%v %+v %#v %s", c, c, c, c.Credentials)).NotTo(Or(ContainSubstring("hush"), ContainSubstring("psst"), ContainSubstring("who")))
	})

	It("opens no connection by itself", func() {
		inVirtualTime(func() {
			s := newStage()
			link := s.open()
			time.Sleep(time.Hour)
			Expect(s.net.Dials(nameServer)).To(BeZero())
			Expect(link.NameServers()).To(Equal([]string{nameServer}))
			Expect(link.Close()).To(Succeed())
		})
	})
})

// signatureOf computes what a broker with the secret expects, from protocol.md 1.8 alone.
func signatureOf(cmd *wire.Command, secret string) string {
	fields := maps.Collect(cmd.Ext.All())
	delete(fields, "Signature")
	mac := hmac.New(sha1.New, []byte(secret))
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		mac.Write([]byte(fields[k]))
	}
	mac.Write(cmd.Body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

var _ = Describe("Credentials", func() {
	It("sign every request, with and without an answer, to name servers and brokers", func() {
		inVirtualTime(func() {
			s := newStage()
			got := make(chan *wire.Command, 8)
			note := func(next script) script {
				return func(x *remoting.Session, cmd *wire.Command) *wire.Command {
					got <- cmd
					return next(x, cmd)
				}
			}
			s.serve(nameServer, note(knows("broker-a")))
			s.serve(brokerAddress, note(code(wire.Success, "")))
			link := s.open(func(c *rocketmq.Cluster, _ *actors.LinkConfig) {
				c.Credentials = rocketmq.Credentials{AccessKey: "ak", SecretKey: "sk", SecurityToken: "token"}
			})
			_, err := link.Route(ctx, "orders")
			Expect(err).NotTo(HaveOccurred())
			Expect(link.Heartbeat(ctx, brokerAddress, &messages.Heartbeat{})).To(Succeed())
			Expect(link.CommitOneWay(ctx, brokerAddress, "g", queue, 7)).To(Succeed())
			_, _ = pullNow(link, &messages.PullRequest{Address: brokerAddress, Group: "g", Queue: queue}) // the answer is of no interest
			for range 4 {
				cmd := <-got
				Expect(cmd.Ext.Text("AccessKey")).To(Equal("ak"))
				Expect(cmd.Ext.Text("SecurityToken")).To(Equal("token"))
				Expect(cmd.Ext.Text("Signature")).To(Equal(signatureOf(cmd, "sk")), wire.RequestCode(cmd.Code).String())
			}
			Expect(link.Close()).To(Succeed())
			s.stop()
		})
	})
})

var _ = Describe("TLS of a cluster", func() {
	It("secures the connections to name servers and brokers", func() {
		// Over real sockets: the handshake is what is to be proved.
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		Expect(err).NotTo(HaveOccurred())
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		Expect(err).NotTo(HaveOccurred())
		leaf, err := x509.ParseCertificate(der)
		Expect(err).NotTo(HaveOccurred())
		pool := x509.NewCertPool()
		pool.AddCert(leaf)

		l, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		address := l.Addr().String()
		server := remoting.NewServer(remoting.ServerConfig{
			TLS:     &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
			TLSOnly: true,
			Handle: func(x *remoting.Session, cmd *wire.Command) *wire.Command {
				answer := wire.NewResponse(wire.Success, "")
				if cmd.Code == int32(wire.GetRouteInfoByTopic) {
					answer.Body = routeBody("broker-a", address)
				}
				return answer
			},
		})
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(l) // that it was closed
		}()
		s := newStage()
		link := s.open(func(c *rocketmq.Cluster, _ *actors.LinkConfig) {
			c.NameServers, c.Dialer, c.TLS = []string{address}, nil, &tls.Config{RootCAs: pool}
		})
		route, err := link.Route(ctx, "orders")
		Expect(err).NotTo(HaveOccurred())
		Expect(link.Heartbeat(ctx, route.GetBrokers()[0].GetAddresses()[0], &messages.Heartbeat{})).To(Succeed())
		Expect(link.Close()).To(Succeed())
		Expect(server.Close()).To(Succeed())
		<-served
	})
})
