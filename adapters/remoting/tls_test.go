package remoting_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/remoting"
)

// selfSigned makes a certificate for 127.0.0.1 and the pool that trusts it.
func selfSigned() (tls.Certificate, *x509.CertPool) {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "broker"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	Expect(err).NotTo(HaveOccurred())
	leaf, err := x509.ParseCertificate(der)
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

var _ = Describe("TLS", func() {
	// These run over real sockets: a handshake is what is to be proved.
	var address string
	serve := func(cfg remoting.ServerConfig) {
		GinkgoHelper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		address = l.Addr().String()
		cfg.Handle = echo
		server := remoting.NewServer(cfg)
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		DeferCleanup(func() {
			Expect(server.Close()).To(Succeed())
			Expect(<-served).To(MatchError(remoting.ErrServerClosed))
		})
	}
	call := func(cfg remoting.ClientConfig) error {
		c := remoting.NewClient(cfg)
		defer func() { _ = c.Close() }() // it gives no error
		answer, err := c.Call(context.Background(), address, request("a"))
		if err == nil {
			Expect(answer.Body).To(Equal([]byte("body of a")))
		}
		return err
	}

	It("secures a connection, checked against the host of the address, and leaves plain ones alone", func() {
		certificate, pool := selfSigned()
		serve(remoting.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}})
		Expect(call(remoting.ClientConfig{TLS: &tls.Config{RootCAs: pool}})).To(Succeed())
		Expect(call(remoting.ClientConfig{})).To(Succeed())
	})

	It("is refused by a client that does not trust the certificate, without sending anything", func() {
		certificate, _ := selfSigned()
		serve(remoting.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}})
		ne := networkError(call(remoting.ClientConfig{TLS: &tls.Config{RootCAs: x509.NewCertPool()}}))
		Expect(ne.GetNotSent()).To(BeTrue())
		Expect(ne.GetReason()).To(ContainSubstring("TLS handshake"))
	})

	It("can be demanded by the server", func() {
		certificate, pool := selfSigned()
		serve(remoting.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}, TLSOnly: true})
		Expect(call(remoting.ClientConfig{TLS: &tls.Config{RootCAs: pool}})).To(Succeed())
		Expect(call(remoting.ClientConfig{})).To(MatchError(ContainSubstring("connection lost")))
	})

	It("is refused by a server without it", func() {
		_, pool := selfSigned()
		serve(remoting.ServerConfig{})
		ne := networkError(call(remoting.ClientConfig{TLS: &tls.Config{RootCAs: pool}}))
		Expect(ne.GetNotSent()).To(BeTrue())
	})
})
