package rocketmq_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/troupe-mq/troupe/adapters/rocketmq"
)

var _ = Describe("An address server", func() {
	serving := func(handle http.HandlerFunc) rocketmq.AddressServer {
		server := httptest.NewServer(handle) // on 127.0.0.1
		DeferCleanup(server.Close)
		return rocketmq.AddressServer{URL: server.URL + "/rocketmq/nsaddr"}
	}
	saying := func(status int, text string) rocketmq.AddressServer {
		return serving(func(w http.ResponseWriter, r *http.Request) {
			Expect(r.URL.Path).To(Equal("/rocketmq/nsaddr"))
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text) // the client is there
		})
	}

	DescribeTable("gives the addresses of its first line", func(text string, want ...string) {
		a := saying(http.StatusOK, text)
		Expect(a.Check()).To(BeEmpty())
		list, err := a.NameServers(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(list).To(Equal(want))
	},
		Entry("one", "10.0.0.1:9876", "10.0.0.1:9876"),
		Entry("several, with the line's end that Java cuts off", "10.0.0.1:9876;10.0.0.2:9876\r\nrubbish", "10.0.0.1:9876", "10.0.0.2:9876"),
		Entry("with blanks, a last separator and one twice", "\n a:1; b:2 ;a:1;\n", "a:1", "b:2"),
	)

	DescribeTable("has an error that names it and what is wrong", func(a func() rocketmq.AddressServer, texts ...string) {
		server := a()
		_, err := server.NameServers(ctx)
		Expect(err).To(MatchError(ContainSubstring("look up name servers " + server.URL)))
		for _, t := range texts {
			Expect(err).To(MatchError(ContainSubstring(t)))
		}
	},
		Entry("another status", func() rocketmq.AddressServer { return saying(http.StatusNotFound, "10.0.0.1:9876") }, "status 404"),
		Entry("nothing", func() rocketmq.AddressServer { return saying(http.StatusOK, " ; \n10.0.0.1:9876") }, "names no address"),
		Entry("a page", func() rocketmq.AddressServer { return saying(http.StatusOK, "<html>no</html>") }, `address "<html>no</html>" is not host:port`),
		Entry("half of a list", func() rocketmq.AddressServer { return saying(http.StatusOK, "10.0.0.1:9876;10.0.0.2") }, `address "10.0.0.2"`),
		Entry("nobody there", func() rocketmq.AddressServer { return rocketmq.AddressServer{URL: "http://127.0.0.1:1/x"} }, "refused"),
	)

	It("is given up with the context", func() {
		release := make(chan struct{})
		a := serving(func(http.ResponseWriter, *http.Request) { <-release })
		defer close(release)
		short, cancel := contextWithin(20 * time.Millisecond)
		defer cancel()
		_, err := a.NameServers(short)
		Expect(err).To(MatchError(ContainSubstring("no answer in time")))
	})

	It("is asked with the client that is given", func() {
		a := rocketmq.AddressServer{URL: "http://never.example/x", Client: &http.Client{Transport: answering("10.0.0.7:9876")}}
		Expect(a.NameServers(ctx)).To(Equal([]string{"10.0.0.7:9876"}))
	})
})

// answering is a round trip without a network.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	r := httptest.NewRecorder()
	_, err := io.WriteString(r, string(a))
	return r.Result(), err
}

var _ = Describe("The environment", func() {
	It("names the name servers in Java's variable, or another", func() {
		GinkgoT().Setenv("NAMESRV_ADDR", "10.0.0.1:9876;10.0.0.2:9876")
		GinkgoT().Setenv("OTHER", "10.0.0.3:9876")
		Expect(rocketmq.Environment{}.Check()).To(BeEmpty())
		Expect(rocketmq.Environment{}.NameServers(ctx)).To(Equal([]string{"10.0.0.1:9876", "10.0.0.2:9876"}))
		Expect(rocketmq.Environment{Variable: "OTHER"}.NameServers(ctx)).To(Equal([]string{"10.0.0.3:9876"}))
	})

	It("is only asked if a program says so, and its faults are those of the configuration", func() {
		GinkgoT().Setenv("NAMESRV_ADDR", "")
		fields := func(c rocketmq.Cluster) (out []string) {
			for _, f := range c.Check() {
				out = append(out, f.Field+": "+f.Reason)
			}
			return out
		}
		Expect(fields(rocketmq.Cluster{Lookup: rocketmq.Environment{}})).To(HaveExactElements("Cluster.Lookup: names no address (environment variable NAMESRV_ADDR)"))
		GinkgoT().Setenv("NAMESRV_ADDR", "10.0.0.1")
		Expect(fields(rocketmq.Cluster{Lookup: rocketmq.Environment{}})).To(HaveExactElements(ContainSubstring("is not host:port")))
		GinkgoT().Setenv("NAMESRV_ADDR", "10.0.0.1:9876")
		Expect(fields(rocketmq.Cluster{})).To(HaveExactElements(ContainSubstring("Cluster.NameServers")))
	})
})
