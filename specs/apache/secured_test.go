package apache_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
	troupe "github.com/troupe-mq/troupe/runtime"
	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
)

// authority signs certificates for one spec.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority() *authority {
	GinkgoHelper()
	a := &authority{dir: GinkgoT().TempDir(), pool: x509.NewCertPool()}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	a.key = key
	a.cert = a.sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, key)
	a.pool.AddCert(a.cert)
	return a
}

// sign writes NAME.crt, signed by the authority or, for its own, by itself.
func (a *authority) sign(name string, template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	GinkgoHelper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent := a.cert
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	Expect(err).NotTo(HaveOccurred())
	a.write(name+".crt", "CERTIFICATE", der)
	cert, err := x509.ParseCertificate(der)
	Expect(err).NotTo(HaveOccurred())
	return cert
}

func (a *authority) write(name, kind string, der []byte) {
	GinkgoHelper()
	Expect(os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)).To(Succeed())
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue makes a certificate for 127.0.0.1 that serves both sides, with NAME.crt and NAME.key (PKCS 8) for Java.
func (a *authority) issue(name string) tls.Certificate {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	cert := a.sign(name, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	Expect(err).NotTo(HaveOccurred())
	a.write(name+".key", "PRIVATE KEY", der)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// properties make Apache's programs speak TLS only, to clients and among each other.
func (a *authority) properties(mutual bool) map[string]string {
	p := map[string]string{
		"tls.test.mode.enable": "false", "tls.server.mode": "enforcing",
		"tls.server.certPath": a.path("server.crt"), "tls.server.keyPath": a.path("server.key"),
		"tls.enable": "true", "tls.client.authServer": "true", "tls.client.trustCertPath": a.path("ca.crt"),
	}
	if mutual {
		p["tls.server.need.client.auth"], p["tls.server.authClient"], p["tls.server.trustCertPath"] = "require", "true", a.path("ca.crt")
		p["tls.client.certPath"], p["tls.client.keyPath"] = a.path("client.crt"), a.path("client.key")
	}
	return p
}

// works publishes one message through a cluster's configuration and consumes it.
func works(ctx context.Context, c rocketmq.Cluster, topic, group string) {
	GinkgoHelper()
	rt, err := troupe.New(c, troupe.Config{})
	Expect(err).NotTo(HaveOccurred())
	got := make(chan string, 1)
	rt.Concurrent(group, troupe.ConcurrentConfig{ConsumeFrom: troupe.FirstOffset}).
		Handle(topic, troupe.AllTags(), func(_ context.Context, m *troupe.Message) error {
			got <- string(m.GetBody())
			return nil
		})
	Expect(rt.Start(ctx)).To(Succeed())
	_, err = rt.Publisher(troupe.PublisherConfig{}).Send(ctx, troupe.NewMessage(topic, []byte("secret")))
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, got).Should(Receive(Equal("secret")))
	Expect(rt.Shutdown(ctx)).To(Succeed())
}

// fails starts a group that cannot begin, and gives what the program was told meanwhile and the error of its start.
func fails(ctx context.Context, c rocketmq.Cluster, topic, group string, wait time.Duration) (told map[string]int, failed error) {
	GinkgoHelper()
	counts := &eventCounts{of: map[string]int{}}
	rt, err := troupe.New(c, troupe.Config{}, troupe.WithObserver(counts))
	Expect(err).NotTo(HaveOccurred())
	rt.Concurrent(group, troupe.ConcurrentConfig{}).
		Handle(topic, troupe.AllTags(), func(context.Context, *troupe.Message) error { return nil })
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	failed = rt.Start(short)
	Expect(rt.Shutdown(ctx)).To(Or(Succeed(), HaveOccurred())) // what it could not store does not matter here
	counts.mu.Lock()
	defer counts.mu.Unlock()
	return counts.of, failed
}

// eventCounts counts events by kind.
type eventCounts struct {
	mu sync.Mutex
	of map[string]int
}

// Observe counts one.
func (c *eventCounts) Observe(e *troupe.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[e.GetKind().String()]++
}

var _ = onEveryVersion("A cluster that speaks TLS only", func(v apachebroker.Version, _ func(context.Context) *apachebroker.Cluster) {
	It("is used with its private authority, and told apart from one that is not trusted", Label("A45"), func(ctx SpecContext) {
		a := newAuthority()
		a.issue("server")
		c, err := apachebroker.Start(ctx, apachebroker.Options{Version: v, Properties: a.properties(false), TLS: &tls.Config{RootCAs: a.pool}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(c.Close()).To(Succeed()) })
		topic, group := unique("Tls"), unique("TlsGroup")
		Expect(c.CreateTopic(ctx, topic, 2)).To(Succeed())
		with := func(cfg *tls.Config) rocketmq.Cluster {
			return rocketmq.Cluster{NameServers: []string{c.NameServer()}, TLS: cfg}
		}
		works(ctx, with(&tls.Config{RootCAs: a.pool}), topic, group)

		for _, bad := range []struct {
			cfg    *tls.Config
			reason string
		}{
			{&tls.Config{RootCAs: x509.NewCertPool()}, "certificate signed by unknown authority"},
			{&tls.Config{RootCAs: a.pool, ServerName: "other.example"}, "wanted to match other.example"},
			{nil, "connection lost"},
		} {
			told, err := fails(ctx, with(bad.cfg), topic, group, 4*time.Second)
			var start *troupe.StartError
			Expect(err).To(BeAssignableToTypeOf(start))
			Expect(err).To(MatchError(ContainSubstring(bad.reason)))
			Expect(told["EVENT_KIND_ROUTE_FAILED"]).To(BeNumerically("<=", 8), "%v", told)
		}
	}, SpecTimeout(4*time.Minute))

	It("may ask for the client's certificate, too", Label("A45"), func(ctx SpecContext) {
		a := newAuthority()
		a.issue("server")
		client := a.issue("client")
		mutual := &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{client}}
		c, err := apachebroker.Start(ctx, apachebroker.Options{Version: v, Properties: a.properties(true), TLS: mutual})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(c.Close()).To(Succeed()) })
		topic, group := unique("Mutual"), unique("MutualGroup")
		Expect(c.CreateTopic(ctx, topic, 2)).To(Succeed())
		works(ctx, rocketmq.Cluster{NameServers: []string{c.NameServer()}, TLS: mutual}, topic, group)

		told, err := fails(ctx, rocketmq.Cluster{NameServers: []string{c.NameServer()}, TLS: &tls.Config{RootCAs: a.pool}}, topic, group, 4*time.Second)
		Expect(err).To(MatchError(ContainSubstring("certificate")))
		Expect(told["EVENT_KIND_ROUTE_FAILED"]).To(BeNumerically("<=", 8), "%v", told)
	}, SpecTimeout(4*time.Minute))
})
