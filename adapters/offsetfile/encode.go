package offsetfile

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	troupe "github.com/troupe-mq/troupe/runtime"
)

// encode writes offsets as the Java client does: indented by tabs, with objects for keys (golden/observed.md 9). That is no JSON.
func encode(offsets map[troupe.QueueKey]int64) []byte {
	out := []byte("{\n\t\"offsetTable\":{")
	for i, key := range slices.SortedFunc(maps.Keys(offsets), troupe.QueueKey.Compare) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, "{\n\t\t\t\"brokerName\":"...)
		out = appendText(out, key.Broker)
		out = append(out, ",\n\t\t\t\"queueId\":"...)
		out = strconv.AppendInt(out, int64(key.ID), 10)
		out = append(out, ",\n\t\t\t\"topic\":"...)
		out = appendText(out, key.Topic)
		out = append(out, "\n\t\t}:"...)
		out = strconv.AppendInt(out, offsets[key], 10)
	}
	if len(offsets) > 0 {
		out = append(out, "\n\t"...)
	}
	return append(out, "}\n}"...)
}

func appendText(out []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // there is a JSON text for every string
	}
	return append(out, text...)
}
