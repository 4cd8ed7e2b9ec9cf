package apachebroker

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"time"
)

// A Request is one remoting command as a tool sends it.
type Request struct {
	Code   int               // request code, e.g. 17 UPDATE_AND_CREATE_TOPIC
	Header map[string]string // the custom header
	Body   []byte
}

// An Answer is what the server said.
type Answer struct {
	Code   int               // response code; 0 is success
	Remark string            // the error's text, usually empty on success
	Header map[string]string // the custom header of the answer
	Body   []byte
}

// frameHeader is the JSON header of a remoting frame (RemotingCommand).
type frameHeader struct {
	Code      int               `json:"code"`
	Language  string            `json:"language"`
	Version   int               `json:"version"`
	Opaque    int               `json:"opaque"`
	Flag      int               `json:"flag"`
	Remark    string            `json:"remark,omitempty"`
	ExtFields map[string]string `json:"extFields,omitempty"`
}

const (
	toolVersion  = 479 // MQVersion V5_3_3: the name server then answers valid JSON
	maxFrame     = 16 << 20
	defaultLimit = 10 * time.Second // of a Call whose context has no deadline
)

// Call sends one request over a connection of its own and waits for the answer. An answer with a code other than 0 is not an error. It is
// meant for administration: low volume, no pooling. Without a deadline in ctx it gives up after 10 s.
func Call(ctx context.Context, addr string, r Request) (Answer, error) {
	return call(ctx, new(net.Dialer), addr, r)
}

// Call is the function of that name over the cluster's TLS and with its credentials.
func (c *Cluster) Call(ctx context.Context, addr string, r Request) (Answer, error) {
	o := c.options
	if o.Credentials != (Credentials{}) {
		r = r.signed(o.Credentials)
	}
	if o.TLS != nil {
		return call(ctx, &tls.Dialer{Config: o.TLS}, addr, r)
	}
	return Call(ctx, addr, r)
}

type dialer interface {
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

func call(ctx context.Context, d dialer, addr string, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, defaultLimit)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return Answer{}, fmt.Errorf("request %d to %s: %w", r.Code, addr, err)
	}
	defer func() { _ = conn.Close() }() // the answer is complete or the call has failed already
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	answer, err := exchange(conn, r)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return Answer{}, fmt.Errorf("request %d to %s: %w", r.Code, addr, err)
	}
	return answer, nil
}

// signed adds an account's key and signature: HMAC-SHA1 over the values in the order of their names, and the body (AclClientRPCHook).
func (r Request) signed(k Credentials) Request {
	header := map[string]string{"AccessKey": k.AccessKey}
	maps.Copy(header, r.Header)
	mac := hmac.New(sha1.New, []byte(k.SecretKey))
	for _, key := range slices.Sorted(maps.Keys(header)) {
		mac.Write([]byte(header[key]))
	}
	mac.Write(r.Body)
	header["Signature"] = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	r.Header = header
	return r
}

func exchange(conn net.Conn, r Request) (Answer, error) {
	frame, err := encodeFrame(r)
	if err != nil {
		return Answer{}, err
	}
	if _, err := conn.Write(frame); err != nil {
		return Answer{}, err
	}
	for { // a server may send requests of its own before it answers
		h, body, err := readFrame(conn)
		if err != nil {
			return Answer{}, err
		}
		if h.Flag&1 != 0 {
			return Answer{Code: h.Code, Remark: h.Remark, Header: h.ExtFields, Body: body}, nil
		}
	}
}

func encodeFrame(r Request) ([]byte, error) {
	header, err := json.Marshal(frameHeader{Code: r.Code, Language: "GO", Version: toolVersion, Opaque: 1, ExtFields: r.Header})
	if err != nil {
		return nil, err
	}
	frame := make([]byte, 0, 8+len(header)+len(r.Body))
	frame = binary.BigEndian.AppendUint32(frame, uint32(4+len(header)+len(r.Body)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header))) // high byte 0: JSON
	frame = append(frame, header...)
	return append(frame, r.Body...), nil
}

func readFrame(conn io.Reader) (h frameHeader, body []byte, err error) {
	var prefix [8]byte
	if _, err := io.ReadFull(conn, prefix[:]); err != nil {
		return h, nil, err
	}
	size, mark := binary.BigEndian.Uint32(prefix[:]), binary.BigEndian.Uint32(prefix[4:])
	headerSize := mark & 0xFFFFFF
	if size < 4 || size > maxFrame || headerSize > size-4 {
		return h, nil, fmt.Errorf("frame of %d bytes with a header of %d", size, headerSize)
	}
	if mark>>24 != 0 {
		return h, nil, errors.New("the server did not answer in JSON")
	}
	frame := make([]byte, size-4)
	if _, err := io.ReadFull(conn, frame); err != nil {
		return h, nil, err
	}
	if err := json.Unmarshal(frame[:headerSize], &h); err != nil {
		return h, nil, fmt.Errorf("frame header: %w", err)
	}
	return h, frame[headerSize:], nil
}
