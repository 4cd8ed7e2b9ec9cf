package wire

import (
	"bytes"
	"maps"
	"slices"
)

// DecodeProperties reads the body of the answer to GET_BROKER_CONFIG (26): name=value, a line each, without quoting
// (MixAll.properties2String). What is no such line is passed over.
func DecodeProperties(body []byte) map[string]string {
	out := map[string]string{}
	for line := range bytes.Lines(body) {
		if name, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte("=")); ok && len(name) > 0 {
			out[string(name)] = string(value)
		}
	}
	return out
}

// EncodeProperties writes the body of the answer to 26, sorted by name.
func EncodeProperties(values map[string]string) []byte {
	var out []byte
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(append(append(append(out, name...), '='), values[name]...), '\n')
	}
	return out
}
