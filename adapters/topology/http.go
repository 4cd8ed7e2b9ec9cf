package topology

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/troupe-mq/troupe/messages"
)

// Path under which Handler expects to be mounted and Fetch looks.
const Path = "/topology/"

var contentTypes = map[string]string{
	"tree": "text/plain; charset=utf-8", "json": "application/json", "mermaid": "text/plain; charset=utf-8",
	"dot": "text/vnd.graphviz; charset=utf-8",
}

// Handler serves snapshots below Path: the last part of the path is the format, /topology/json for example; without one it is
// the tree. source is called once a request, from the server's goroutines.
func Handler(source func() *messages.Topology) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		format := strings.TrimPrefix(r.URL.Path, Path)
		if format == "" {
			format = "tree"
		}
		text, err := Render(format, source())
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", contentTypes[format])
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, text+"\n") // the reader has gone
	})
}

// The largest answer that Fetch takes.
const maxAnswer = 64 << 20

// Fetch gets a snapshot from a program that serves Handler at host:port.
func Fetch(ctx context.Context, addr string) (*messages.Topology, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+Path+"json", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answered %s: %s", res.Status, strings.TrimSpace(string(body)))
	}
	t := &messages.Topology{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, t); err != nil {
		return nil, fmt.Errorf("not a topology: %w", err)
	}
	return t, nil
}
