package wire_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// FuzzDecodeCommand: any bytes decode or are refused; what decodes holds no more than the frame and survives encoding.
func FuzzDecodeCommand(f *testing.F) {
	for i, g := range goldenFrames() {
		if i%7 == 0 {
			f.Add(g.bytes[4:])
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var c wire.Command
		if wire.DecodeCommand(frame, &c) != nil {
			return
		}
		size, valid := len(c.Body)+len(c.Remark), utf8.ValidString(c.Remark)
		fields := map[string]string{}
		for k, v := range c.Ext.All() {
			size += len(k) + len(v)
			valid = valid && utf8.ValidString(k) && utf8.ValidString(v)
			fields[k] = v
		}
		if size > len(frame) {
			t.Fatalf("%d bytes out of %d", size, len(frame))
		}
		for k, v := range fields {
			if got, ok := c.Ext.Get(k); !ok || got != v {
				t.Fatalf("field %q is %q, %v; want %q", k, got, ok, v)
			}
		}
		for _, table := range []map[wire.RequestCode]func() header{requestHeaders, responseHeaders} {
			for _, newHeader := range table {
				_ = newHeader().ReadFrom(&c.Ext) // any error will do
			}
		}
		again, err := c.AppendFrame(nil)
		if err != nil || !valid {
			return
		}
		var d wire.Command
		if err := wire.DecodeCommand(again[4:], &d); err != nil {
			t.Fatalf("encoded to %q: %v", again, err)
		}
		got := map[string]string{}
		for k, v := range d.Ext.All() {
			got[k] = v
		}
		if d.Code != c.Code || d.Opaque != c.Opaque || d.Flag != c.Flag || d.Remark != c.Remark || !bytes.Equal(d.Body, c.Body) ||
			!reflect.DeepEqual(got, fields) {
			t.Fatalf("encoded to %q, decoded to %+v, want %+v", again, d, c)
		}
	})
}

// FuzzDecodeMessages: any bytes give messages that hold no more than the bytes, decompressed bodies apart.
func FuzzDecodeMessages(f *testing.F) {
	for _, g := range goldenFrames() {
		if g.BodyKind == "messages" {
			f.Add(g.bytes[len(g.bytes)-g.BodyLen:])
		}
	}
	f.Add(unhex(vectorRecord))
	for _, c := range []wire.Compression{wire.LegacyZlib, wire.LZ4, wire.Zstd, wire.Zlib} {
		packed, err := wire.Compress(c, bytes.Repeat([]byte("troupe"), 2000))
		if err != nil {
			f.Fatal(err)
		}
		m := messages.NewMessage("t", packed)
		m.SysFlag = c.SysFlag()
		b, err := wire.AppendMessage(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	list, _ := wire.AppendBatch(nil, wire.BatchPart{Body: []byte("b"), Properties: []byte("k\x01v\x02")})
	m := messages.NewMessage(strings.Repeat("t", 200), append(list, list...))
	m.SysFlag = wire.FlagInnerBatch
	b, err := wire.AppendMessage(nil, m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	const limit = 1 << 14
	f.Fuzz(func(t *testing.T, records []byte) {
		o := &wire.DecodeOptions{Topic: "%RETRY%g", Broker: "b", MaxBody: limit, VerifyCRC: len(records)%2 == 0}
		slab, corrupt, err := wire.DecodeMessages(nil, records, o)
		if err != nil && len(corrupt) == 0 {
			t.Fatal("an error without a corrupt record")
		}
		if n := len(slab) + len(corrupt); n > len(records)/22*limit/22+1 {
			t.Fatalf("%d messages out of %d bytes", n, len(records))
		}
		for i := range slab {
			m := &slab[i]
			if len(m.Body) > max(limit, len(records)) || len(m.RawProperties) > max(limit, len(records)) || m.QueueOffset < 0 {
				t.Fatalf("message %d holds too much: %+v", i, m)
			}
			m.OffsetID()
			m.Tag()
		}
		for _, c := range corrupt {
			if c.Err == nil || c.Position < 0 || c.Size < 0 || c.Position+c.Size > len(records) {
				t.Fatalf("corrupt record %+v", c)
			}
		}
	})
}

// FuzzRouteJSON: any bytes decode or are refused by every body; a route that decodes is encoded as standard JSON and back.
func FuzzRouteJSON(f *testing.F) {
	for _, g := range goldenFrames() {
		if g.BodyKind == "json" && g.BodyLen < 2000 {
			f.Add(g.bytes[len(g.bytes)-g.BodyLen:])
		}
	}
	f.Add([]byte(routeBody(`{0:"h:1",1:"[::1]:2"}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, table := range []map[wire.RequestCode]bodyKind{requestBodies, responseBodies} {
			for code, k := range table {
				_, encoded, err := k(body)
				if err == nil && !json.Valid(encoded) {
					t.Fatalf("%s: encoded to %q", code, encoded)
				}
			}
		}
		r, err := wire.DecodeTopicRouteData(body)
		if err != nil || !utf8.Valid(body) {
			return
		}
		again, err := wire.DecodeTopicRouteData(r.Encode())
		if err != nil || !sameRoute(again, r) {
			t.Fatalf("%+v became %+v (%v)", r, again, err)
		}
	})
}

// sameRoute compares without minding nil against empty.
func sameRoute(a, b *wire.TopicRouteData) bool { return bytes.Equal(a.Encode(), b.Encode()) }
