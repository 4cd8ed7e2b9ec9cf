package topology

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/troupe-mq/troupe/messages"
)

// Formats are the names that Render knows.
var Formats = []string{"tree", "json", "mermaid", "dot"}

// Render writes a snapshot in one of the Formats. JSON is the protobuf JSON form with the proto field names.
func Render(format string, t *messages.Topology) (string, error) {
	switch format {
	case "tree":
		return t.Text(), nil
	case "json":
		return asJSON(t)
	case "mermaid":
		return mermaid(t), nil
	case "dot":
		return dot(t), nil
	}
	return "", fmt.Errorf("format %q: must be one of %s", format, strings.Join(Formats, ", "))
}

// asJSON is compact and stable: protojson varies its blanks on purpose.
func asJSON(t *messages.Topology) (string, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(t)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return "", err
	}
	return out.String(), nil
}
