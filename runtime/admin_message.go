package troupe

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/troupe-mq/troupe/actors"
	"github.com/troupe-mq/troupe/messages"
)

// Message finds a message by its offset id, which names its broker; with a topic also by its unique id, which producers give. Errors:
// ErrNoMessage, *ConfigError for an id that is neither.
func (a *Admin) Message(ctx context.Context, id, topic string) (*Message, error) {
	if topic != "" {
		found, err := a.find(ctx, &messages.MessageQuery{Topic: topic, Key: id, Unique: true, Max: 32, To: time.Now().Add(time.Hour).UnixMilli()})
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if m.MessageID() == id {
				return m, nil
			}
		}
	}
	address, offset, err := offsetID(id)
	if err != nil {
		return nil, &ConfigError{Field: "message id", Value: id, Reason: err.Error()}
	}
	servers, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(servers, func(s server) bool { return s.address == address })
	if i < 0 {
		if topic != "" {
			return nil, fmt.Errorf("message %s of %s: %w", id, topic, ErrNoMessage)
		}
		return nil, &ConfigError{Field: "message id", Value: id,
			Reason: "names no broker of the cluster, so it is no offset id; for a unique id name the topic, too"}
	}
	m, err := a.port.MessageAt(ctx, servers[i].address, servers[i].broker, offset)
	if refused(err, codeSystemError, codeNotFound) || err == nil && m == nil {
		return nil, fmt.Errorf("message %s: %w", id, ErrNoMessage)
	}
	return m, err
}

// offsetID takes an offset id apart: hexadecimal of address, port and place in the commit log (MessageDecoder.decodeMessageId).
func offsetID(id string) (address string, offset int64, err error) {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != 16 && len(raw) != 28 {
		return "", 0, errors.New("must be 32 hexadecimal digits, or 56")
	}
	ip, rest := raw[:len(raw)-12], raw[len(raw)-12:]
	port := int(rest[0])<<24 | int(rest[1])<<16 | int(rest[2])<<8 | int(rest[3])
	for _, b := range rest[4:] {
		offset = offset<<8 | int64(b)
	}
	return net.JoinHostPort(net.IP(ip).String(), strconv.Itoa(port)), offset, nil
}

// MessagesByKey finds messages of a topic that carry a key, youngest first, up to max. The index of brokers is by hash: what it finds
// is compared.
func (a *Admin) MessagesByKey(ctx context.Context, topic, key string, max int) ([]*Message, error) {
	var f faults
	f.number("max", max, 1, 10_000)
	if err := f.err(); err != nil {
		return nil, err
	}
	found, err := a.find(ctx, &messages.MessageQuery{Topic: topic, Key: key, Max: int32(max), To: time.Now().Add(time.Hour).UnixMilli()})
	found = slices.DeleteFunc(found, func(m *Message) bool { return !slices.Contains(m.Keys(), key) && m.MessageID() != key })
	return found[:min(len(found), max)], err
}

func (a *Admin) find(ctx context.Context, query *messages.MessageQuery) ([]*Message, error) {
	servers, _, err := a.serving(ctx, query.GetTopic())
	if err != nil {
		return nil, err
	}
	var out []*Message
	err = each(servers, func(s server) error {
		slab, err := a.port.FindMessages(ctx, s.address, s.broker, query)
		for i := range slab {
			out = append(out, &slab[i])
		}
		return err
	})
	slices.SortStableFunc(out, func(x, y *Message) int { return int(y.GetStoreTimestamp() - x.GetStoreTimestamp()) })
	return out, err
}

// MessagesByTime gives the messages of a topic that were stored from a time on and before another, queue by queue. It ends after an error,
// which it yields.
func (a *Admin) MessagesByTime(ctx context.Context, topic string, from, to time.Time) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		queues, at, err := a.readable(ctx, topic)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, q := range queues {
			addr := at[q.GetBroker()]
			begin, err := a.link.OffsetAt(ctx, addr, q, from)
			if err != nil {
				yield(nil, err)
				return
			}
			for m, err := range a.from(ctx, addr, q, max(0, begin-1), 0) {
				switch {
				case err != nil:
					yield(nil, err)
					return
				case m == nil || !m.StoreTime().Before(to):
				case m.StoreTime().Before(from): // brokers of 4.x give the message that is nearest in time
					continue
				default:
					if !yield(m, nil) {
						return
					}
					continue
				}
				break
			}
		}
	}
}

// from reads a queue from an offset on. At its end it yields nil, and goes on if there is patience.
func (a *Admin) from(ctx context.Context, addr string, q *Queue, offset int64, patience time.Duration) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		for {
			reply, ms, err := a.read(ctx, addr, q, offset, patience)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range ms {
				if !yield(m, nil) {
					return
				}
			}
			offset = reply.GetNextOffset()
			atEnd := reply.GetStatus() == NoNewMessage || reply.GetStatus() == OffsetIllegal || offset >= reply.GetMaxOffset()
			if atEnd && (!yield(nil, nil) || patience == 0) {
				return
			}
		}
	}
}

// read pulls once, in the name of the cluster's own group for tools, which leaves nothing behind.
func (a *Admin) read(ctx context.Context, addr string, q *Queue, offset int64, patience time.Duration) (*messages.PullReply, []*Message, error) {
	type outcome struct {
		reply *messages.PullReply
		err   error
	}
	done := make(chan outcome, 1)
	underway := a.link.Pull(&messages.PullRequest{
		Address: addr, Group: toolsGroup, Queue: q, Offset: offset, MaxMessages: 32, MaxBytes: pullBatchBytes,
		SuspendMillis: patience.Milliseconds(), TimeoutMillis: (patience + pullMargin).Milliseconds(),
		Kind: messages.FilterKind_FILTER_KIND_TAG, Subscription: AllTags().subscription(q.GetTopic(), 0),
	}, actors.PullFunc(func(reply *messages.PullReply, err error) { done <- outcome{reply, err} }))
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		underway.Cancel()
		<-done
		return nil, nil, ctx.Err()
	}
	if o.err != nil {
		return nil, nil, o.err
	}
	var out []*Message
	if len(o.reply.GetRecords()) > 0 {
		slab, _ := a.link.Decode(o.reply, q, toolsGroup)
		for i := range slab {
			if slab[i].GetQueueOffset() >= offset {
				out = append(out, &slab[i])
			}
		}
	}
	return o.reply, out, nil
}

// Tail follows a topic: it gives what is stored from now on, of every queue that there is now, until ctx ends. It belongs to no group
// and commits nothing. What fails is tried again after a second; the error is yielded, and the loop may go on.
func (a *Admin) Tail(ctx context.Context, topic string) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		queues, at, err := a.readable(ctx, topic)
		if err != nil {
			yield(nil, err)
			return
		}
		starts := make([]int64, len(queues))
		for i, q := range queues {
			if starts[i], err = a.link.MaxOffset(ctx, at[q.GetBroker()], q); err != nil {
				yield(nil, err)
				return
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		type item struct {
			m   *Message
			err error
		}
		items := make(chan item)
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		for i, q := range queues {
			all.Go(func() {
				a.follow(ctx, at[q.GetBroker()], q, starts[i], func(m *Message, err error) {
					select {
					case items <- item{m, err}:
					case <-ctx.Done():
					}
				})
			})
		}
		for {
			select {
			case it := <-items:
				if !yield(it.m, it.err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

const tailPause = time.Second

// follow reads a queue until ctx ends.
func (a *Admin) follow(ctx context.Context, addr string, q *Queue, offset int64, tell func(*Message, error)) {
	for ctx.Err() == nil {
		for m, err := range a.from(ctx, addr, q, offset, DefaultLongPoll) {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				tell(nil, fmt.Errorf("%s: %w", q.Text(), err))
				break
			}
			if m != nil {
				offset = m.GetQueueOffset() + 1
				tell(m, nil)
			}
		}
		timer := time.NewTimer(tailPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if _, at, err := a.readable(ctx, q.GetTopic()); err == nil && at[q.GetBroker()] != "" {
			addr = at[q.GetBroker()] // the broker may have moved
		}
	}
}
