package topology_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"

	"github.com/troupe-mq/troupe/adapters/topology"
	"github.com/troupe-mq/troupe/messages"
)

var _ = Describe("The topology endpoint", func() {
	serve := func(h http.Handler) (addr string) {
		mux := http.NewServeMux()
		mux.Handle(topology.Path, h)
		server := httptest.NewServer(mux)
		DeferCleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}

	get := func(method, addr, path string) (*http.Response, string) {
		GinkgoHelper()
		req, err := http.NewRequest(method, "http://"+addr+path, nil)
		Expect(err).NotTo(HaveOccurred())
		res, err := http.DefaultClient.Do(req)
		Expect(err).NotTo(HaveOccurred())
		defer func() { Expect(res.Body.Close()).To(Succeed()) }()
		body, err := io.ReadAll(res.Body)
		Expect(err).NotTo(HaveOccurred())
		return res, string(body)
	}

	DescribeTable("serves each format below its path",
		func(path, format, contentType string) {
			addr := serve(topology.Handler(snapshot))
			res, body := get(http.MethodGet, addr, topology.Path+path)
			Expect(res.StatusCode).To(Equal(http.StatusOK))
			Expect(res.Header.Get("Content-Type")).To(Equal(contentType))
			Expect(res.Header.Get("Cache-Control")).To(Equal("no-store"))
			Expect(body).To(Equal(render(format, snapshot()) + "\n"))
		},
		Entry("the tree without a name", "", "tree", "text/plain; charset=utf-8"),
		Entry("the tree", "tree", "tree", "text/plain; charset=utf-8"),
		Entry("JSON", "json", "json", "application/json"),
		Entry("Mermaid", "mermaid", "mermaid", "text/plain; charset=utf-8"),
		Entry("DOT", "dot", "dot", "text/vnd.graphviz; charset=utf-8"),
	)

	It("refuses other formats and other methods", func() {
		addr := serve(topology.Handler(snapshot))
		res, body := get(http.MethodGet, addr, topology.Path+"svg")
		Expect(res.StatusCode).To(Equal(http.StatusNotFound))
		Expect(body).To(ContainSubstring("must be one of tree, json, mermaid, dot"))
		res, _ = get(http.MethodPost, addr, topology.Path+"json")
		Expect(res.StatusCode).To(Equal(http.StatusMethodNotAllowed))
		Expect(res.Header.Get("Allow")).To(Equal("GET, HEAD"))
		res, body = get(http.MethodHead, addr, topology.Path+"json")
		Expect(res.StatusCode).To(Equal(http.StatusOK))
		Expect(body).To(BeEmpty())
	})

	When("we fetch a snapshot", func() {
		fetch := func(addr string) (*messages.Topology, error) { return topology.Fetch(context.Background(), addr) }

		It("comes back whole", func() {
			t, err := fetch(serve(topology.Handler(snapshot)))
			Expect(err).NotTo(HaveOccurred())
			Expect(proto.Equal(t, snapshot())).To(BeTrue())
		})

		It("ignores what a newer program tells", func() {
			t, err := fetch(serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"client_id":"c","a_later_field":[1]}`) // the reader has gone
			})))
			Expect(err).NotTo(HaveOccurred())
			Expect(t.GetClientId()).To(Equal("c"))
		})

		It("says what is wrong with an answer", func() {
			_, err := fetch(serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "not here", http.StatusTeapot)
			})))
			Expect(err).To(MatchError("answered 418 I'm a teapot: not here"))
			_, err = fetch(serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "<html>") // the reader has gone
			})))
			Expect(err).To(MatchError(ContainSubstring("not a topology")))
		})

		It("ends with the context, and says so when nobody listens", func() {
			release := make(chan struct{})
			addr := serve(topology.Handler(func() *messages.Topology { <-release; return snapshot() }))
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err := topology.Fetch(ctx, addr)
			Expect(err).To(MatchError(context.Canceled))
			close(release)
			server := httptest.NewServer(http.NotFoundHandler())
			server.Close()
			_, err = fetch(strings.TrimPrefix(server.URL, "http://"))
			Expect(err).To(MatchError(ContainSubstring("refused")))
		})
	})
})
