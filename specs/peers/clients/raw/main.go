// Command raw is no client: one connection, one outstanding pull for each queue, nothing decoded. It shows what the broker gives, so it
// shares no code with any client and looks only for the numbers it cannot do without.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"

	"github.com/troupe-mq/troupe/specs/apache/apachebroker"
	"github.com/troupe-mq/troupe/specs/peers/report"
)

const readBuffer = 256 << 10

func main() {
	t := report.Flags()
	ctx := context.Background()
	addr, queues, err := route(ctx, t)
	if err != nil {
		log.Fatal(err)
	}
	r := report.Start(t)
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	l := &loop{task: t, conn: conn, in: bufio.NewReaderSize(conn, readBuffer), offsets: make([]int64, queues), run: r}
	r.Ready()
	go func() { log.Fatal(l.pullAll()) }() // it ends with the process
	r.Wait()
}

// route asks the name server where the topic is; it has one broker.
func route(ctx context.Context, t *report.Task) (addr string, queues int, err error) {
	a, err := apachebroker.Call(ctx, t.NameServer, apachebroker.Request{Code: 105, Header: map[string]string{"topic": t.Topic}})
	if err != nil {
		return "", 0, err
	}
	var data struct {
		BrokerDatas []struct {
			BrokerAddrs map[string]string `json:"brokerAddrs"`
		} `json:"brokerDatas"`
		QueueDatas []struct {
			ReadQueueNums int `json:"readQueueNums"`
		} `json:"queueDatas"`
	}
	if err := json.Unmarshal(a.Body, &data); err != nil {
		return "", 0, fmt.Errorf("route of %s, code %d %s: %w", t.Topic, a.Code, a.Remark, err)
	}
	if len(data.BrokerDatas) != 1 || len(data.QueueDatas) != 1 {
		return "", 0, fmt.Errorf("%s is on %d brokers", t.Topic, len(data.BrokerDatas))
	}
	return data.BrokerDatas[0].BrokerAddrs["0"], data.QueueDatas[0].ReadQueueNums, nil
}

// loop pulls every queue from its beginning. A request carries the queue as its opaque number.
type loop struct {
	task    *report.Task
	conn    net.Conn
	in      *bufio.Reader
	out     []byte
	header  []byte
	offsets []int64
	run     *report.Run
}

func (l *loop) pullAll() error {
	for q := range l.offsets {
		l.ask(q)
	}
	for {
		if len(l.out) > 0 && l.in.Buffered() == 0 { // every answer that has come is asked on in one write
			if _, err := l.conn.Write(l.out); err != nil {
				return err
			}
			l.out = l.out[:0]
		}
		if err := l.answer(); err != nil {
			return err
		}
	}
}

// ask adds the next pull of a queue to what is written next.
func (l *loop) ask(queue int) {
	at := len(l.out)
	l.out = append(l.out, 0, 0, 0, 0, 0, 0, 0, 0)
	l.out = fmt.Appendf(l.out, `{"code":11,"language":"GO","version":479,"opaque":%d,"flag":0,"extFields":{"consumerGroup":%q,"topic":%q,"queueId":"%d",`+
		`"queueOffset":"%d","maxMsgNums":"32","sysFlag":"6","commitOffset":"0","suspendTimeoutMillis":"15000","subscription":"*","subVersion":"0",`+
		`"expressionType":"TAG"}}`, queue, l.task.Group, l.task.Topic, queue, l.offsets[queue])
	size := uint32(len(l.out) - at - 8)
	binary.BigEndian.PutUint32(l.out[at:], size+4)
	binary.BigEndian.PutUint32(l.out[at+4:], size)
}

// answer takes one answer, counts its messages by the offsets, skips the body and asks on.
func (l *loop) answer() error {
	var prefix [8]byte
	if _, err := io.ReadFull(l.in, prefix[:]); err != nil {
		return err
	}
	headerSize := binary.BigEndian.Uint32(prefix[4:]) & 0xFFFFFF
	l.header = append(l.header[:0], make([]byte, headerSize)...)
	if _, err := io.ReadFull(l.in, l.header); err != nil {
		return err
	}
	if _, err := l.in.Discard(int(binary.BigEndian.Uint32(prefix[:])) - 4 - int(headerSize)); err != nil {
		return err
	}
	if flag, err := number(l.header, `"flag":`); err != nil || flag&1 == 0 {
		return err // a request of the broker's own is not for us
	}
	queue, err := number(l.header, `"opaque":`)
	if err != nil {
		return err
	}
	next, err := number(l.header, `"nextBeginOffset":"`)
	if err != nil {
		return err
	}
	code, err := number(l.header, `"code":`)
	if err != nil {
		return err
	}
	if code == 0 {
		for range next - l.offsets[queue] {
			l.run.Message(0, nil)
		}
	}
	l.offsets[queue] = next
	l.ask(int(queue))
	return nil
}

var errNoNumber = errors.New("the answer's header lacks a number")

// number is the decimal that follows a key.
func number(header []byte, key string) (int64, error) {
	_, rest, found := bytes.Cut(header, []byte(key))
	if !found {
		return 0, fmt.Errorf("%w: %s in %s", errNoNumber, key, header)
	}
	end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	return strconv.ParseInt(string(rest[:max(end, 0)]), 10, 64)
}
