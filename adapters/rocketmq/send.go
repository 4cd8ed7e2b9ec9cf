package rocketmq

import (
	"cmp"
	"context"
	"fmt"

	"github.com/troupe-mq/troupe/adapters/wire"
	"github.com/troupe-mq/troupe/messages"
)

// defaultTopic is the topic after whose model a broker makes a topic that it does not know (TopicValidator).
const defaultTopic = "TBW102"

// defaultQueues is how many queues such a topic gets at most.
const defaultQueues = 4

// SendBack hands a message back for a later try (CONSUMER_SEND_MSG_BACK, 36).
func (l *link) SendBack(ctx context.Context, back *messages.SendBack) error {
	cmd := newRequest(wire.ConsumerSendMsgBack, &wire.SendBackHeader{
		Offset:            back.GetCommitLogOffset(),
		Group:             back.GetGroup(),
		DelayLevel:        back.GetDelayLevel(),
		OriginMessageID:   back.GetOriginMessageId(),
		OriginTopic:       back.GetOriginTopic(),
		MaxReconsumeTimes: back.GetMaxReconsumeTimes(),
		Broker:            back.GetBroker(),
	}, nil)
	_, err := l.ask(ctx, l.timeouts.sendBack, target{address: back.GetAddress(), broker: back.GetBroker()}, cmd)
	return err
}

// Send stores one message, or an encoded batch (SEND_MESSAGE_V2, 310; SEND_BATCH_MESSAGE, 320).
func (l *link) Send(ctx context.Context, req *messages.SendRequest) (*messages.SendReceipt, error) {
	q := req.GetQueue()
	code := wire.SendMessageV2
	if req.GetBatch() {
		code = wire.SendBatchMessage
	}
	cmd := newRequest(code, &wire.SendHeader{
		Group:             req.GetProducerGroup(),
		Topic:             q.GetTopic(),
		DefaultTopic:      defaultTopic,
		DefaultQueues:     cmp.Or(req.GetDefaultQueues(), defaultQueues),
		QueueID:           q.GetId(),
		SysFlag:           req.GetSysFlag(),
		BornTimestamp:     req.GetBornTimestamp(),
		Flag:              req.GetFlag(),
		Properties:        string(req.GetProperties()),
		ReconsumeTimes:    req.GetReconsumeTimes(),
		MaxReconsumeTimes: req.GetMaxReconsumeTimes(),
		Batch:             req.GetBatch(),
		Broker:            q.GetBroker(),
	}, req.GetBody())
	t := atQueue(req.GetAddress(), q)
	answer, err := l.call(ctx, l.timeouts.send, req.GetAddress(), cmd)
	if err != nil {
		return nil, err
	}
	if !wire.ResponseCode(answer.Code).Stored() {
		return nil, refusal(cmd, answer, t)
	}
	var h wire.SendResponseHeader
	if err := h.ReadFrom(&answer.Ext); err != nil {
		return nil, malformed(cmd, t, err)
	}
	receipt := &messages.SendReceipt{
		MessageId:   h.MessageID,
		Queue:       &messages.Queue{Topic: q.GetTopic(), Broker: q.GetBroker(), Id: h.QueueID},
		QueueOffset: h.QueueOffset,
		UniqueIds:   uniqueIDs(req),
	}
	if code := wire.ResponseCode(answer.Code); code != wire.Success {
		receipt.Caveat = code.String()
	}
	return receipt, nil
}

// uniqueIDs gives the client's own ids under which the messages will be delivered, one a message, as far as they carry any.
// A broker appends a batch's own properties to those of each message, so an id of the batch takes the place of theirs.
func uniqueIDs(req *messages.SendRequest) []string {
	own := uniqueID(req.GetProperties())
	var ids []string
	note := func(id string) {
		if id != "" {
			ids = append(ids, id)
		}
	}
	if !req.GetBatch() {
		note(own)
		return ids
	}
	for part := range wire.Batch(req.GetBody()) {
		note(cmp.Or(own, uniqueID(part.Properties)))
	}
	return ids
}

func uniqueID(properties []byte) string {
	m := messages.Message{RawProperties: properties}
	return m.Property(messages.PropertyUniqueKey)
}

// EncodeBatch encodes several messages as the body of one batch send: flag, body and properties of each.
func (l *link) EncodeBatch(ms []*messages.Message) ([]byte, error) {
	var body []byte
	for i, m := range ms {
		var err error
		body, err = wire.AppendBatch(body, wire.BatchPart{Flag: m.GetFlag(), Body: m.GetBody(), Properties: m.GetRawProperties()})
		if err != nil {
			return nil, fmt.Errorf("message %d of the batch: %w", i, err)
		}
	}
	return body, nil
}

// UniqueID makes a client-side message id (UNIQ_KEY).
func (l *link) UniqueID() string { return l.ids.Next() }
