import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Sends messages one after the other and prints what the broker said about each.
 *
 * <p>--nameserver A --topic T [--count N] [--size N: fill the body up to N bytes] [--body TEXT] [--tag T] [--key K: becomes K-0, K-1 …]
 * [--queue Q] [--batch N] [--delay LEVEL] [--compress-over N: bytes from which on bodies are compressed] [--property NAME=VALUE]
 * [--timeout MS] [--trace-topic T: tell this topic of each message]
 *
 * <p>The compression is chosen by the system property rocketmq.message.compressType (ZLIB, LZ4, ZSTD; 4.x knows ZLIB only).
 */
public final class Producer {
    public static void main(String[] args) throws Exception {
        Peer peer = new Peer(args);
        String topic = peer.required("topic");
        int count = peer.number("count", 1);
        int batch = peer.number("batch", 1);
        int queue = peer.number("queue", -1);
        DefaultMQProducer producer = new DefaultMQProducer("PEER_PRODUCER", peer.text("trace-topic", null) != null, peer.text("trace-topic", null));
        producer.setNamesrvAddr(peer.required("nameserver"));
        producer.setInstanceName("peer-" + ProcessHandle.current().pid() + "-" + ThreadLocalRandom.current().nextInt(1 << 20));
        producer.setSendMsgTimeout(peer.number("timeout", 10_000));
        producer.setCompressMsgBodyOverHowmuch(peer.number("compress-over", 4096));
        producer.start();
        try {
            for (int sent = 0; sent < count; ) {
                List<Message> messages = new ArrayList<>();
                for (int i = 0; i < batch && sent + i < count; i++) {
                    messages.add(message(peer, topic, sent + i));
                }
                MessageQueue to = queue < 0 ? null : queueOf(producer, topic, queue);
                SendResult r = batch == 1
                    ? (to == null ? producer.send(messages.get(0)) : producer.send(messages.get(0), to))
                    : (to == null ? producer.send(messages) : producer.send(messages, to));
                Peer.event("sent", "msgId", r.getMsgId(), "offsetMsgId", r.getOffsetMsgId(), "status", r.getSendStatus(),
                    "topic", r.getMessageQueue().getTopic(), "queue", r.getMessageQueue().getQueueId(), "offset", r.getQueueOffset(),
                    "count", messages.size());
                sent += messages.size();
            }
        } finally {
            producer.shutdown();
        }
        Peer.event("stopped", "count", count);
        System.exit(0);
    }

    private static Message message(Peer peer, String topic, int number) {
        StringBuilder body = new StringBuilder(peer.text("body", "message-") + number);
        int size = peer.number("size", 0);
        while (body.length() < size) {
            body.append((char) ('a' + body.length() % 26));
        }
        Message m = new Message(topic, body.toString().getBytes(StandardCharsets.UTF_8));
        if (peer.text("tag", null) != null) {
            m.setTags(peer.text("tag", null));
        }
        if (peer.text("key", null) != null) {
            m.setKeys(peer.text("key", null) + "-" + number);
        }
        if (peer.number("delay", 0) > 0) {
            m.setDelayTimeLevel(peer.number("delay", 0));
        }
        String property = peer.text("property", null);
        if (property != null) {
            m.putUserProperty(property.substring(0, property.indexOf('=')), property.substring(property.indexOf('=') + 1));
        }
        return m;
    }

    private static MessageQueue queueOf(DefaultMQProducer producer, String topic, int queue) throws Exception {
        for (MessageQueue q : producer.fetchPublishMessageQueues(topic)) {
            if (q.getQueueId() == queue) {
                return q;
            }
        }
        throw new IllegalArgumentException(topic + " has no queue " + queue);
    }

    private Producer() {
    }
}
